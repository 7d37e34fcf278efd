//! Reports of stalls: staged programs, whose reports are compared word for word with ids and times replaced.
#![cfg(all(feature = "diagnostics", not(miri)))]

mod common;

use std::future::{Future, pending};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::task::{Context, Wake};
use std::thread;
use std::time::Duration;

use common::must_end;
use common::text::{without_places, without_times};
use pointsman::runtime::{Builder, LocalOptions, Runtime, StallKind};
use pointsman::task::{self, LocalSet, yield_now};
use pointsman::time::sleep;

const THRESHOLD: Duration = Duration::from_millis(30);
/// Longer than any stall of a healthy program takes to be reported.
const QUIET: Duration = Duration::from_millis(150);

/// Builds a runtime whose reports of this kind, with times and ids replaced, can be received. On a busy machine a
/// thread that waits for a core causes reports of other kinds.
fn watched(kind: StallKind, builder: &mut Builder) -> (Runtime, Receiver<String>) {
    watched_for(move |each| each == kind, THRESHOLD, builder)
}

fn watched_for(
    is_expected: impl Fn(StallKind) -> bool + Send + Sync + 'static,
    threshold: Duration,
    builder: &mut Builder,
) -> (Runtime, Receiver<String>) {
    let (report, reported) = channel();
    let runtime = builder
        .enable_all()
        .stall_threshold(threshold)
        .on_stall(move |stall| {
            assert!(stall.duration() >= threshold);
            if !is_expected(stall.kind()) {
                return;
            }
            // The other lines are the stack, with its feature.
            let text = stall.to_string();
            let line = without_times(text.lines().next().unwrap());
            let mut line = without_places(&line, file!());
            if let Some(task) = stall.task() {
                line = line.replacen(&format!(" {} ", task.id()), " # ", 1);
            }
            let _ = report.send(line);
        })
        .build()
        .unwrap();
    (runtime, reported)
}

/// Blocks the thread until the sender is dropped.
fn wait(released: Receiver<()>) {
    assert!(released.recv().is_err());
}

fn workers(count: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count);
    builder
}

#[test]
fn a_task_that_does_not_return_is_reported_once_while_it_lasts() {
    must_end(|| {
        let (runtime, reported) = watched(StallKind::Task, workers(1).name("web"));
        let (release, released) = channel::<()>();
        let stuck = runtime.spawn(async move { wait(released) });
        let text = reported.recv().unwrap();
        assert_eq!(
            text,
            "stall: task # (here) has not returned from a poll for T ms, worker 0, runtime \"web\""
        );
        assert_eq!(reported.recv_timeout(QUIET), Err(RecvTimeoutError::Timeout));
        // The dump shows how long the poll has lasted.
        let dump = runtime.handle().dump();
        assert!(dump.tasks().iter().next().unwrap().longest_poll() >= THRESHOLD / 2);
        drop(release);
        runtime.block_on(stuck).unwrap();
        assert_eq!(reported.recv_timeout(QUIET), Err(RecvTimeoutError::Timeout));
        // Another one is.
        let (release, released) = channel::<()>();
        runtime.spawn(async move { wait(released) });
        reported.recv().unwrap();
        drop(release);
    });
}

#[test]
fn tasks_that_wait_behind_it_are_counted() {
    must_end(|| {
        let (runtime, reported) = watched(StallKind::Task, &mut Builder::new_current_thread());
        let (release, released) = channel::<()>();
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                task::spawn(async move { wait(released) });
                task::spawn(async {});
                task::spawn(async {});
                yield_now().await;
            });
        });
        assert_eq!(
            reported.recv().unwrap(),
            "stall: task # (here) has not returned from a poll for T ms, worker 0, 2 tasks wait"
        );
        drop(release);
        thread.join().unwrap();
    });
}

#[test]
fn a_block_on_future_that_does_not_return_is_reported() {
    must_end(|| {
        let (runtime, reported) = watched(StallKind::BlockOn, &mut Builder::new_current_thread());
        let text = runtime.block_on(async { reported.recv().unwrap() });
        assert_eq!(
            text,
            "stall: the future of block_on has not returned from a poll for T ms, worker 0"
        );
    });
}

#[test]
fn a_task_of_a_local_set_that_does_not_return_is_reported() {
    must_end(|| {
        let (runtime, reported) = watched(StallKind::Task, &mut Builder::new_current_thread());
        let local = LocalSet::new();
        let texts = local.block_on(&runtime, async move {
            let (first, reported) = task::spawn_local(async move {
                let text = reported.recv().unwrap();
                (text, reported)
            })
            .await
            .unwrap();
            // The next poll is reported too, although the worker is in the same poll of its own.
            let second = task::spawn_local(async move { reported.recv().unwrap() });
            [first, second.await.unwrap()]
        });
        let expected = "stall: task # (here) has not returned from a poll for T ms, worker 0";
        assert_eq!(texts, [expected; 2]);
    });
}

#[test]
fn a_task_of_a_local_runtime_that_does_not_return_is_reported() {
    must_end(|| {
        let (report, reported) = channel();
        let runtime = Builder::new_current_thread()
            .stall_threshold(THRESHOLD)
            .on_stall(move |stall| {
                report
                    .send((stall.kind(), stall.task().unwrap().id()))
                    .unwrap()
            })
            .build_local(LocalOptions::default())
            .unwrap();
        let task = runtime.spawn_local(async move { reported.recv().unwrap() });
        let id = task.id();
        assert_eq!(runtime.block_on(task).unwrap(), (StallKind::Task, id));
    });
}

/// A waker that blocks the thread that calls it.
struct Blocks(std::sync::Mutex<Option<Receiver<()>>>);

impl Wake for Blocks {
    fn wake(self: Arc<Self>) {
        let released = self.0.lock().unwrap().take();
        if let Some(released) = released {
            wait(released);
        }
    }
}

#[test]
fn a_waker_that_does_not_return_is_reported() {
    must_end(|| {
        let (runtime, reported) = watched(StallKind::Worker, &mut Builder::new_current_thread());
        let (release, released) = channel::<()>();
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let waker = Arc::new(Blocks(std::sync::Mutex::new(Some(released)))).into();
                let mut timer = Box::pin(sleep(Duration::from_millis(1)));
                assert!(
                    timer
                        .as_mut()
                        .poll(&mut Context::from_waker(&waker))
                        .is_pending()
                );
                sleep(2 * THRESHOLD).await;
            });
        });
        assert_eq!(
            reported.recv().unwrap(),
            "stall: a worker has not returned from a hook, a waker or the system for T ms, worker 0"
        );
        drop(release);
        thread.join().unwrap();
    });
}

#[test]
fn a_late_timer_is_reported() {
    must_end(|| {
        // A runtime whose polls were short so far runs many until it looks for timers. None of these is a stall; on a
        // busy machine one may be, and hide the timer.
        let text = loop {
            let (runtime, reported) = watched(StallKind::Timer, &mut Builder::new_current_thread());
            runtime.block_on(async {
                for _ in 0..1_000 {
                    task::spawn(async {}).await.unwrap();
                }
                let timer = task::spawn(sleep(Duration::from_millis(1)));
                for _ in 0..50 {
                    task::spawn(async { thread::sleep(THRESHOLD / 6) });
                }
                timer.await.unwrap();
            });
            drop(runtime);
            if let Some(report) = reported.iter().next() {
                break report;
            }
        };
        assert_eq!(
            text,
            "stall: a timer is due and no thread has fired it for T ms"
        );
    });
}

/// All workers are blocked, so the watchdog polls, and gets stuck in a waker. Then the workers continue, without I/O.
#[cfg(all(unix, feature = "net"))]
#[test]
fn io_that_no_thread_polls_is_reported() {
    use pointsman::net::UnixStream;
    use std::io::Write;

    must_end(|| {
        let (runtime, reported) = watched(StallKind::Io, &mut workers(1));
        let (hold_waker, released) = channel::<()>();
        let (hold_worker, worker_released) = channel::<()>();
        let ((first, mut to_first), (second, mut to_second)) = runtime.block_on(async {
            [(), ()]
                .map(|()| {
                    let (ours, theirs) = UnixStream::pair().unwrap();
                    (ours, theirs.into_std().unwrap())
                })
                .into()
        });
        let waker = Arc::new(Blocks(std::sync::Mutex::new(Some(released))));
        let is_called = waker.clone();
        let stuck = runtime.spawn(async move {
            let waker = waker.into();
            let mut cx = Context::from_waker(&waker);
            assert!(first.poll_read_ready(&mut cx).is_pending());
            to_first.write_all(&[1]).unwrap();
            wait(worker_released);
            first
        });
        // The watchdog calls the waker, as the worker is blocked.
        while is_called.0.lock().unwrap().is_some() {
            thread::yield_now();
        }
        drop(hold_worker);
        let _first = runtime.block_on(stuck).unwrap();
        let read = runtime.spawn(async move { second.readable().await.is_ok() });
        to_second.write_all(&[1]).unwrap();
        assert_eq!(
            reported.recv().unwrap(),
            "stall: I/O events wait and no thread has polled for them for T ms"
        );
        drop(hold_waker);
        assert!(runtime.block_on(read).unwrap());
    });
}

#[test]
fn a_hook_that_does_not_return_is_reported() {
    must_end(|| {
        let (release, released) = channel::<()>();
        let released = std::sync::Mutex::new(Some(released));
        let mut builder = workers(1);
        builder.on_thread_unpark(move || {
            let released = released.lock().unwrap().take();
            if let Some(released) = released {
                wait(released);
            }
        });
        let (runtime, reported) = watched(StallKind::Worker, &mut builder);
        let text = loop {
            // Wakes the worker, unless it has not slept yet.
            runtime.spawn(async {});
            if let Ok(text) = reported.recv_timeout(Duration::from_millis(1)) {
                break text;
            }
        };
        // How many of those tasks wait depends on when the worker slept.
        assert_eq!(
            text.split(", worker").next().unwrap(),
            "stall: a worker has not returned from a hook, a waker or the system for T ms"
        );
        drop(release);
    });
}

#[test]
fn a_full_blocking_pool_is_reported() {
    must_end(|| {
        let (runtime, reported) = watched(
            StallKind::BlockingPool,
            Builder::new_current_thread().max_blocking_threads(1),
        );
        let (release, released) = channel::<()>();
        runtime.spawn_blocking(move || wait(released));
        runtime.spawn_blocking(|| {});
        runtime.spawn_blocking(|| {});
        assert_eq!(
            reported.recv().unwrap(),
            "stall: no thread of the blocking pool has become free for T ms, 2 functions wait"
        );
        drop(release);
    });
}

#[test]
fn a_current_thread_runtime_that_no_thread_runs_is_reported() {
    must_end(|| {
        let (runtime, reported) =
            watched(StallKind::Unattended, &mut Builder::new_current_thread());
        runtime.spawn(async {});
        let text = "stall: a current-thread runtime has a new task and no thread has been in its block_on for T ms, 1 task waits";
        assert_eq!(reported.recv().unwrap(), text);
        // A thread runs the task, and leaves a task and a timer. Then there is another new task.
        runtime.block_on(async {
            task::spawn(sleep(THRESHOLD));
            yield_now().await;
            task::spawn(async {});
        });
        assert_eq!(
            reported.recv_timeout(20 * THRESHOLD),
            Err(RecvTimeoutError::Timeout)
        );
        runtime.spawn(async {});
        let text = text.replace("1 task waits", "2 tasks wait");
        assert_eq!(reported.recv().unwrap(), text);
    });
}

#[test]
fn healthy_runtimes_report_nothing() {
    // On a busy machine a thread may wait longer for a core than a poll may last: then the threshold is doubled.
    let is_quiet =
        |times| must_end(move || runs_without_report(Duration::from_millis(500) * times));
    assert!([1, 2, 4, 8].into_iter().any(is_quiet));
}

fn runs_without_report(threshold: Duration) -> bool {
    let wait = threshold + threshold / 2;
    let (runtime, reported) = watched_for(|_| true, threshold, &mut workers(2));
    let (local, of_local) = watched_for(|_| true, threshold, &mut Builder::new_current_thread());
    // Tasks that wait, and blocking work where it belongs.
    runtime.spawn(pending::<()>());
    runtime.spawn(async { sleep(Duration::from_secs(3600)).await });
    let blocking = runtime.spawn_blocking(move || thread::sleep(wait));
    let in_place = runtime.spawn(async move { task::block_in_place(|| thread::sleep(wait)) });
    local.block_on(async {
        let end = std::time::Instant::now() + wait;
        // A `block_on` future that yields makes progress.
        while std::time::Instant::now() < end {
            yield_now().await;
        }
        sleep(wait).await;
    });
    runtime.block_on(blocking).unwrap();
    runtime.block_on(in_place).unwrap();
    thread::sleep(wait);
    reported.try_recv().is_err() && of_local.try_recv().is_err()
}

#[test]
fn a_threshold_of_zero_turns_the_reports_off() {
    must_end(|| {
        let (report, reported) = channel();
        let mut builder = workers(1);
        builder.stall_threshold(Duration::ZERO);
        builder.on_stall(move |_| report.send(()).unwrap());
        let runtime = builder.build().unwrap();
        let stuck = runtime.spawn(async { thread::sleep(QUIET) });
        runtime.block_on(stuck).unwrap();
        assert!(reported.try_recv().is_err());
    });
}

#[test]
fn a_panic_of_the_hook_ends_no_reports() {
    must_end(|| {
        let (report, reported) = channel();
        let mut builder = workers(1);
        builder.stall_threshold(THRESHOLD).on_stall(move |_| {
            report.send(()).unwrap();
            std::panic::resume_unwind(Box::new(()));
        });
        let runtime = builder.build().unwrap();
        for _ in 0..2 {
            let (release, released) = channel::<()>();
            let stuck = runtime.spawn(async move { wait(released) });
            reported.recv().unwrap();
            drop(release);
            runtime.block_on(stuck).unwrap();
        }
    });
}

/// Runs this test's process again with `POINTSMAN_STALL`, in which a task stalls until a line on standard error has
/// this text, or for a while. Returns whether there was such a line.
fn child_prints(text: &str, value: &str) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    command.env("POINTSMAN_STALL", value).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let release = child.stdin.take().filter(|_| value != "off");
    let is_printed = lines.any(|line| line.unwrap().contains(text));
    drop(release);
    child.kill().unwrap();
    child.wait().unwrap();
    is_printed
}

#[test]
fn the_environment_sets_and_silences_the_line_on_standard_error() {
    must_end(|| {
        assert!(child_prints("pointsman: stall: task", "20ms"));
        assert!(!child_prints("stall: task", "off"));
        // As if it were not set: the default is one second.
        assert!(child_prints("pointsman: stall: task", ""));
        let refused =
            "\"POINTSMAN_STALL\" must be `off` or a time such as `500ms` or `2s`, not \"soon\"";
        assert!(child_prints(refused, "soon"));
    });
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn child() {
    let runtime = workers(1).build().unwrap();
    let stuck = runtime.spawn(async {
        thread::sleep(QUIET);
        // Until the other end is closed.
        let _ = std::io::stdin().lines().count();
    });
    runtime.block_on(stuck).unwrap();
}

#[cfg(all(
    feature = "stall-backtrace",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod stacks {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use pointsman::runtime::StackFrame;

    use super::*;

    /// The tests change what the process does at a signal.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone(test: impl FnOnce() + Send + 'static) {
        must_end(|| {
            let _alone = ALONE.lock().unwrap_or_else(|poison| poison.into_inner());
            test();
        });
    }

    /// The stack of the first stall that is reported of a runtime with one worker, which runs `block`. Its parameter
    /// becomes ready when the stall was reported.
    fn stack_of(block: impl FnOnce(Receiver<()>) + Send + 'static) -> Vec<StackFrame> {
        let (report, reported) = channel();
        let runtime = workers(1)
            .stall_threshold(THRESHOLD)
            .on_stall(move |stall| drop(report.send(stall.stack().to_vec())))
            .build()
            .unwrap();
        let (release, released) = channel();
        let stuck = runtime.spawn(async move { block(released) });
        let stack = reported.recv().unwrap();
        drop(release);
        runtime.block_on(stuck).unwrap();
        stack
    }

    /// As [`stack_of`], for a thread that answers. On a busy machine it may not get a core in time.
    fn answer_of(block: impl Fn(Receiver<()>) + Copy + Send + 'static) -> Vec<StackFrame> {
        let mut stacks = std::iter::repeat_with(|| stack_of(block));
        stacks.find(|stack| !stack.is_empty()).unwrap()
    }

    #[inline(never)]
    fn outer(released: Receiver<()>) {
        inner(released);
        std::hint::black_box(());
    }

    #[inline(never)]
    fn inner(released: Receiver<()>) {
        wait(released);
        std::hint::black_box(());
    }

    #[track_caller]
    fn assert_order(stack: &[StackFrame], names: &[&str]) {
        let mut rest = stack.iter();
        for name in names {
            let is_here = |frame: &StackFrame| {
                frame
                    .function()
                    .is_some_and(|function| function.ends_with(name))
            };
            assert!(rest.any(is_here), "no {name} in its place in {stack:#?}");
        }
    }

    #[test]
    fn a_stall_has_the_stack_of_a_thread_in_a_system_call() {
        alone(|| {
            let stack = answer_of(outer);
            assert_order(&stack, &["wait", "inner", "outer"]);
            let is_here = |frame: &&StackFrame| frame.function().unwrap().ends_with("inner");
            let file = stack.iter().find(is_here).unwrap().file().unwrap();
            assert!(file.ends_with("tests/runtime_stall.rs"));
            // What runs each task is left out.
            assert!(
                !format!("{stack:?}").contains("pointsman::task"),
                "{stack:#?}"
            );
        });
    }

    #[inline(never)]
    fn spin(released: &Receiver<()>) {
        while released.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_stall_has_the_stack_of_a_thread_that_computes() {
        alone(|| assert_order(&answer_of(|released| spin(&released)), &["spin"]));
    }

    #[test]
    fn a_stall_of_a_current_thread_runtime_has_a_stack() {
        alone(|| {
            let (report, reported) = channel();
            let runtime = Builder::new_current_thread()
                .stall_threshold(THRESHOLD)
                .on_stall(move |stall| drop(report.send(stall.stack().to_vec())))
                .build()
                .unwrap();
            let (hold, released) = channel();
            let thread = thread::spawn(move || runtime.block_on(async { inner(released) }));
            assert_order(&reported.recv().unwrap(), &["wait", "inner"]);
            drop(hold);
            thread.join().unwrap();
        });
    }

    #[test]
    fn a_system_call_goes_on() {
        alone(|| {
            let (mut reader, writer) = std::io::pipe().unwrap();
            let writer = Mutex::new(Some(writer));
            let (report, reported) = channel();
            let runtime = workers(1)
                .stall_threshold(THRESHOLD)
                .on_stall(move |stall| {
                    report.send(stall.stack().len()).unwrap();
                    drop(writer.lock().unwrap().take());
                })
                .build()
                .unwrap();
            // Not `read_exact`, which tries again.
            let read = runtime.spawn(async move { std::io::Read::read(&mut reader, &mut [0]) });
            assert!(reported.recv().unwrap() > 0);
            assert_eq!(runtime.block_on(read).unwrap().unwrap(), 0);
        });
    }

    #[test]
    fn a_thread_that_has_blocked_the_signal_has_no_stack() {
        alone(|| {
            let stack = stack_of(|released| {
                // SAFETY: the set is initialised by `sigemptyset`.
                unsafe {
                    let mut set = std::mem::zeroed();
                    libc::sigemptyset(&mut set);
                    libc::sigaddset(&mut set, libc::SIGURG);
                    libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
                    wait(released);
                    // The signal arrives late.
                    libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
                }
            });
            assert_eq!(stack, []);
            assert!(!answer_of(outer).is_empty());
        });
    }

    /// Runs in a process of its own, which is forked.
    #[test]
    fn a_forked_process_reports_the_stalls_of_its_new_runtimes() {
        alone(|| run_child("stacks::child_that_forks"));
    }

    #[test]
    #[ignore = "run by another test in a process of its own"]
    fn child_that_forks() {
        assert!(!answer_of(outer).is_empty());
        // SAFETY: the other threads of the test hold no lock that the forked process uses.
        match unsafe { libc::fork() } {
            0 => {
                // Ends a process whose stall is not reported.
                // SAFETY: the call has no conditions.
                unsafe { libc::alarm(10) };
                let has_stack = !answer_of(outer).is_empty();
                // The handler does not call itself.
                let is_ended = raise() == 0;
                // SAFETY: the call has no conditions.
                unsafe { libc::_exit(i32::from(!has_stack || !is_ended)) };
            }
            process => {
                let mut status = -1;
                // SAFETY: `status` has room for the result.
                assert_eq!(unsafe { libc::waitpid(process, &mut status, 0) }, process);
                assert_eq!(status, 0);
            }
        }
    }

    static SEEN: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn count(_: libc::c_int) {
        SEEN.fetch_add(1, SeqCst);
    }

    /// Runs in a process of its own, as the handler is installed with the first stack.
    #[test]
    fn handlers_of_the_program_are_kept() {
        alone(|| run_child("stacks::child_with_handlers"));
    }

    fn install() {
        // SAFETY: the handler adds to an atomic.
        unsafe { libc::signal(libc::SIGURG, count as extern "C" fn(_) as usize) };
    }

    fn raise() -> usize {
        let before = SEEN.load(SeqCst);
        // SAFETY: the signal has a handler.
        unsafe { libc::raise(libc::SIGURG) };
        SEEN.load(SeqCst) - before
    }

    #[test]
    #[ignore = "run by another test in a process of its own"]
    fn child_with_handlers() {
        install();
        assert!(!answer_of(outer).is_empty());
        // It was not called for the stack, and is for other signals.
        assert_eq!(SEEN.load(SeqCst), 0);
        assert_eq!(raise(), 1);
        // One that is installed later gets no signals that it does not expect.
        install();
        assert_eq!(stack_of(outer), []);
        assert_eq!(SEEN.load(SeqCst), 1);
        assert_eq!(raise(), 1);
    }

    fn run_child(name: &str) {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--ignored", "--nocapture"]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{output:#?}"
        );
    }
}
