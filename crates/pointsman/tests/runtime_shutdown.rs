//! Tasks and blocking work when a runtime shuts down.

mod common;

use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, Weak, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use common::{current_thread, must_end, threads};
use futures::executor;
use pointsman::runtime::{Builder, Handle, Runtime};
use pointsman::sync::oneshot;
use pointsman::task::{self, JoinHandle};
use pointsman::time;

fn each(test: impl Fn(fn() -> Runtime) + Send + 'static) {
    must_end(move || {
        test(current_thread);
        test(|| threads(1));
        test(|| threads(3));
    });
}

fn text_of(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().unwrap().to_string(),
    }
}

/// Counts how many of its copies were dropped.
struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn all_tasks_are_dropped_with_the_runtime() {
    each(|runtime| {
        for is_driven in [false, true] {
            let runtime = runtime();
            let dropped = Arc::new(AtomicUsize::new(0));
            let mut handles = Vec::new();
            for _ in 0..50 {
                let value = OnDrop(Arc::clone(&dropped));
                handles.push(runtime.spawn(async move {
                    let _value = value;
                    pending::<()>().await;
                }));
                let value = OnDrop(Arc::clone(&dropped));
                handles.push(runtime.spawn(async move {
                    let _value = value;
                    loop {
                        task::yield_now().await;
                    }
                }));
                let value = OnDrop(Arc::clone(&dropped));
                handles.push(runtime.spawn(async move {
                    let _value = value;
                    loop {
                        time::sleep(Duration::from_millis(1)).await;
                    }
                }));
                let value = OnDrop(Arc::clone(&dropped));
                // Large enough to be stored separately.
                let large = [0u8; 5_000];
                handles.push(runtime.spawn(async move {
                    let _value = value;
                    pending::<()>().await;
                    std::hint::black_box(&large);
                }));
            }
            if is_driven {
                runtime.block_on(async { time::sleep(Duration::from_millis(3)).await });
            }
            drop(runtime);
            assert_eq!(dropped.load(SeqCst), 200);
            for handle in handles {
                assert!(executor::block_on(handle).unwrap_err().is_cancelled());
            }
        }
    });
}

#[test]
fn a_task_that_was_spawned_by_one_that_runs_is_dropped_too() {
    each(|runtime| {
        let runtime = runtime();
        let dropped = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&dropped);
        let (tx, rx) = oneshot::channel();
        runtime.spawn(async move {
            for _ in 0..100 {
                let value = OnDrop(Arc::clone(&counts));
                task::spawn(async move {
                    let _value = value;
                    pending::<()>().await;
                });
            }
            let _ = tx.send(());
            pending::<()>().await;
        });
        runtime.block_on(rx).unwrap();
        drop(runtime);
        assert_eq!(dropped.load(SeqCst), 100);
    });
}

#[test]
fn a_task_that_runs_is_dropped_at_its_next_await() {
    must_end(|| {
        let runtime = threads(1);
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let dropped = Arc::new(AtomicUsize::new(0));
        let value = OnDrop(Arc::clone(&dropped));
        let went_on = Arc::new(AtomicBool::new(false));
        let goes_on = Arc::clone(&went_on);
        let task = runtime.spawn(async move {
            let _value = value;
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
            task::yield_now().await;
            goes_on.store(true, SeqCst);
        });
        has_begun.recv().unwrap();
        let ends = thread::spawn(move || drop(runtime));
        assert_eq!(dropped.load(SeqCst), 0);
        go_on.send(()).unwrap();
        ends.join().unwrap();
        assert_eq!(dropped.load(SeqCst), 1);
        // The task may have run once more if the runtime shut down later.
        let _ = executor::block_on(task);
        let _ = went_on.load(SeqCst);
    });
}

#[test]
fn values_dropped_by_a_task_may_use_the_runtime() {
    struct Spawns(Handle, mpsc::Sender<JoinHandle<()>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            // The current runtime, and the one that shuts down.
            let _ = self.1.send(task::spawn(async {}));
            let _ = self.1.send(self.0.spawn(async {}));
        }
    }
    each(|runtime| {
        let runtime = runtime();
        let (tx, rx) = mpsc::channel();
        for _ in 0..10 {
            let spawns = Spawns(runtime.handle().clone(), tx.clone());
            runtime.spawn(async move {
                let _spawns = spawns;
                pending::<()>().await;
            });
        }
        drop(tx);
        drop(runtime);
        let late: Vec<_> = rx.iter().collect();
        assert_eq!(late.len(), 20);
        for task in late {
            assert!(executor::block_on(task).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn tasks_that_hold_each_other_are_dropped() {
    each(|runtime| {
        let runtime = runtime();
        let held: Arc<Mutex<Option<JoinHandle<()>>>> = Arc::default();
        let weak = Arc::downgrade(&held);
        let holds = Arc::clone(&held);
        let first = runtime.spawn(async move {
            let _holds = holds;
            pending::<()>().await;
        });
        *held.lock().unwrap() = Some(first);
        drop(held);
        drop(runtime);
        assert!(Weak::upgrade(&weak).is_none());
    });
}

#[test]
fn tasks_spawned_after_shutdown_are_cancelled_at_once() {
    each(|runtime| {
        let runtime = runtime();
        let handle = runtime.handle().clone();
        drop(runtime);
        let dropped = Arc::new(AtomicUsize::new(0));
        let value = OnDrop(Arc::clone(&dropped));
        let task = handle.spawn(async move { drop(value) });
        assert_eq!(dropped.load(SeqCst), 1);
        assert!(task.is_finished());
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
        let value = OnDrop(Arc::clone(&dropped));
        let job = handle.spawn_blocking(move || drop(value));
        assert_eq!(dropped.load(SeqCst), 2);
        assert!(executor::block_on(job).unwrap_err().is_cancelled());
    });
}

#[test]
fn results_and_wakers_outlive_the_runtime() {
    each(|runtime| {
        let runtime = runtime();
        let kept: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let keeps = Arc::clone(&kept);
        let waiting = runtime.spawn(poll_fn(move |cx| {
            keeps.lock().unwrap().push(cx.waker().clone());
            Poll::<()>::Pending
        }));
        let text = runtime.spawn(async { String::from("still here") });
        let unread = runtime.spawn(async { String::from("never read") });
        let abort = waiting.abort_handle();
        let number = waiting.id();
        runtime.block_on(async {
            while kept.lock().unwrap().is_empty() || !text.is_finished() || !unread.is_finished() {
                task::yield_now().await;
            }
        });
        drop(runtime);
        let wakers = std::mem::take(&mut *kept.lock().unwrap());
        for waker in &wakers {
            waker.wake_by_ref();
        }
        abort.abort();
        assert!(abort.is_finished());
        assert_eq!(abort.id(), number);
        assert_eq!(executor::block_on(text).unwrap(), "still here");
        drop(unread);
        assert!(executor::block_on(waiting).unwrap_err().is_cancelled());
        wakers.into_iter().for_each(Waker::wake);
    });
}

#[test]
fn a_waiting_thread_is_notified_of_the_shutdown() {
    each(|runtime| {
        let runtime = runtime();
        let task = runtime.spawn(pending::<()>());
        let waits = thread::spawn(move || executor::block_on(task));
        drop(runtime);
        assert!(waits.join().unwrap().unwrap_err().is_cancelled());
    });
}

#[test]
fn queued_work_gets_further_threads_at_the_end() {
    each(|runtime| {
        let runtime = runtime();
        let ran = Arc::new(AtomicUsize::new(0));
        // Each waits for all others, so they still need threads.
        let barrier = Arc::new(Barrier::new(50));
        for _ in 0..50 {
            let (ran, barrier) = (Arc::clone(&ran), Arc::clone(&barrier));
            drop(runtime.spawn_blocking(move || {
                barrier.wait();
                ran.fetch_add(1, SeqCst);
            }));
        }
        drop(runtime);
        assert_eq!(ran.load(SeqCst), 50);
    });
}

#[test]
fn the_end_waits_for_threads_that_had_nothing_to_do() {
    must_end(|| {
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let may_go_on = Mutex::new(may_go_on);
        let stopped = Arc::new(AtomicUsize::new(0));
        let stops = Arc::clone(&stopped);
        let runtime = Builder::new_current_thread()
            .thread_keep_alive(Duration::ZERO)
            .on_thread_stop(move || {
                begun.send(()).unwrap();
                may_go_on.lock().unwrap().recv().unwrap();
                stops.fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        executor::block_on(runtime.spawn_blocking(|| ())).unwrap();
        has_begun.recv().unwrap();
        assert_eq!(runtime.metrics().num_blocking_threads(), 0);
        let ends = thread::spawn(move || drop(runtime));
        for _ in 0..100 {
            assert!(!ends.is_finished());
            thread::yield_now();
        }
        go_on.send(()).unwrap();
        ends.join().unwrap();
        assert_eq!(stopped.load(SeqCst), 1);
    });
}

#[test]
fn a_thread_that_does_not_stop_keeps_no_time_limit_waiting() {
    must_end(|| {
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let may_go_on = Mutex::new(may_go_on);
        let runtime = Builder::new_current_thread()
            .on_thread_stop(move || may_go_on.lock().unwrap().recv().unwrap())
            .build()
            .unwrap();
        executor::block_on(runtime.spawn_blocking(|| ())).unwrap();
        runtime.shutdown_timeout(Duration::from_millis(10));
        go_on.send(()).unwrap();
    });
}

#[test]
fn a_runtime_may_be_dropped_by_its_own_blocking_work() {
    each(|runtime| {
        let runtime = runtime();
        let handle = runtime.handle().clone();
        let job = handle.spawn_blocking(move || {
            drop(runtime);
            5
        });
        assert_eq!(executor::block_on(job).unwrap(), 5);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn work_that_gets_no_thread_at_all_is_dropped_at_the_end() {
    must_end(|| {
        for end in [drop, Runtime::shutdown_background] {
            let runtime = Builder::new_current_thread()
                .thread_stack_size(usize::MAX / 2)
                .build()
                .unwrap();
            let dropped = Arc::new(AtomicUsize::new(0));
            let value = OnDrop(Arc::clone(&dropped));
            let spawn = || drop(runtime.spawn_blocking(move || drop(value)));
            let panic = catch_unwind(AssertUnwindSafe(spawn)).unwrap_err();
            let text = text_of(panic);
            assert!(text.starts_with("OS can't spawn worker thread"), "{text}");
            assert_eq!(dropped.load(SeqCst), 0);
            end(runtime);
            assert_eq!(dropped.load(SeqCst), 1);
        }
    });
}

/// With memory for a few threads only.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by the test below"]
fn with_few_threads() {
    let runtime = Builder::new_current_thread()
        .thread_stack_size(256 << 20)
        .build()
        .unwrap();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Arc::new(Mutex::new(may_go_on));
    let jobs: Vec<_> = (0..20)
        .map(|_| {
            let may_go_on = Arc::clone(&may_go_on);
            runtime.spawn_blocking(move || may_go_on.lock().unwrap().recv().unwrap())
        })
        .collect();
    // Several threads run one task each, and no further thread can be started.
    let metrics = runtime.metrics();
    while metrics.num_blocking_threads() < 2
        || metrics.num_blocking_threads() + metrics.blocking_queue_depth() > 20
    {
        thread::yield_now();
    }
    for _ in 0..20 {
        go_on.send(()).unwrap();
    }
    for job in jobs {
        executor::block_on(job).unwrap();
    }
    println!("threads: {}", metrics.num_blocking_threads());
}

#[cfg(target_os = "linux")]
#[test]
fn where_no_more_threads_can_be_had_those_there_are_do_all_work() {
    let output = std::process::Command::new("sh")
        .args(["-c", r#"ulimit -v 2000000 && exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "with_few_threads", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let threads = text.split("threads: ").nth(1).unwrap();
    let threads: usize = threads.lines().next().unwrap().parse().unwrap();
    assert!((1..10).contains(&threads), "{threads}");
}
