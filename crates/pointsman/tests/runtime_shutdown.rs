//! What becomes of tasks, threads and blocking work when a runtime ends.

mod common;

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, Weak, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::must_end;
use futures::executor;
use pointsman::runtime::{Builder, Handle, LocalRuntime, Runtime};
use pointsman::sync::oneshot;
use pointsman::task::{self, JoinHandle, LocalSet};
use pointsman::time;

fn threads(count: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count).enable_all().build().unwrap()
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

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
fn all_tasks_are_dropped_with_the_runtime_whatever_they_do() {
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
                // Large enough to be kept apart.
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
        // It may have gone on once if the runtime's end was later.
        let _ = executor::block_on(task);
        let _ = went_on.load(SeqCst);
    });
}

#[test]
fn what_a_task_drops_may_use_the_runtime() {
    struct Spawns(Handle, mpsc::Sender<JoinHandle<()>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            // The current one, and that which ends.
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
fn what_is_spawned_after_the_end_is_cancelled_and_dropped_at_once() {
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
fn a_waiting_thread_is_told_of_the_end() {
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
        // Each waits for all others: they need threads still.
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

/// Where memory is for a few threads only.
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
    // Several threads run one each, and no other can be had.
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

#[test]
fn a_time_limit_ends_the_wait_for_work_that_goes_on() {
    each(|runtime| {
        for is_background in [false, true] {
            let runtime = runtime();
            let (begun, has_begun) = mpsc::channel();
            let (go_on, may_go_on) = mpsc::channel::<()>();
            let job = runtime.spawn_blocking(move || {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
                3
            });
            has_begun.recv().unwrap();
            if is_background {
                runtime.shutdown_background();
            } else {
                let start = Instant::now();
                runtime.shutdown_timeout(Duration::from_millis(20));
                assert!(start.elapsed() >= Duration::from_millis(20));
            }
            go_on.send(()).unwrap();
            assert_eq!(executor::block_on(job).unwrap(), 3);
        }
    });
}

#[test]
fn a_time_limit_that_is_never_reached_is_none() {
    each(|runtime| {
        let runtime = runtime();
        let job = runtime.spawn_blocking(|| 4);
        assert_eq!(runtime.block_on(job).unwrap(), 4);
        runtime.shutdown_timeout(Duration::MAX);
    });
}

#[test]
fn a_task_that_blocks_its_thread_does_not_keep_a_time_limit_waiting() {
    must_end(|| {
        let runtime = threads(2);
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let dropped = Arc::new(AtomicUsize::new(0));
        let value = OnDrop(Arc::clone(&dropped));
        let blocked = runtime.spawn(async move {
            let _value = value;
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
            pending::<()>().await;
        });
        has_begun.recv().unwrap();
        runtime.shutdown_timeout(Duration::from_millis(10));
        go_on.send(()).unwrap();
        assert!(executor::block_on(blocked).unwrap_err().is_cancelled());
        assert_eq!(dropped.load(SeqCst), 1);
    });
}

#[test]
fn a_runtime_that_is_dropped_where_tasks_run_says_so() {
    const TEXT: &str = "Cannot drop a runtime in a context where blocking is not allowed. This happens when a runtime \
         is dropped from within an asynchronous context.";
    each(|runtime| {
        let outer = runtime();
        let inner = runtime();
        let task = inner.spawn(pending::<()>());
        let panic = catch_unwind(AssertUnwindSafe(|| {
            outer.block_on(async move { drop(inner) })
        }));
        assert_eq!(text_of(panic.unwrap_err()), TEXT);
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
        let inner = runtime();
        let error = outer
            .block_on(outer.spawn(async move { drop(inner) }))
            .unwrap_err();
        assert_eq!(text_of(error.into_panic()), TEXT);
    });
}

#[test]
fn a_runtime_may_be_ended_in_a_task_without_waiting() {
    each(|runtime| {
        let outer = runtime();
        let inner = runtime();
        let task = inner.spawn(pending::<()>());
        outer.block_on(async move {
            inner.shutdown_background();
            assert!(task.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_runtime_may_be_ended_by_its_own_task() {
    must_end(|| {
        let runtime = threads(2);
        let handle = runtime.handle().clone();
        let (tx, rx) = mpsc::channel();
        let task = handle.spawn(async move {
            runtime.shutdown_background();
            tx.send(()).unwrap();
            pending::<()>().await;
        });
        rx.recv().unwrap();
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn a_runtime_may_be_dropped_by_blocking_work_of_its_own_and_of_another() {
    must_end(|| {
        let outer = threads(1);
        let inner = threads(1);
        let job = outer.spawn_blocking(move || drop(inner));
        outer.block_on(job).unwrap();
        let handle = outer.handle().clone();
        let job = handle.spawn_blocking(move || outer.shutdown_background());
        executor::block_on(job).unwrap();
    });
}

#[test]
fn the_end_of_a_runtime_does_not_end_who_blocks_on_a_future() {
    must_end(|| {
        let runtime = threads(2);
        let handle = runtime.handle().clone();
        let (tx, rx) = oneshot::channel();
        let (begun, has_begun) = mpsc::channel();
        let waits = thread::spawn(move || {
            handle.block_on(async move {
                begun.send(()).unwrap();
                // Also what it spawns is cancelled then.
                let result = rx.await.unwrap();
                assert!(task::spawn(async {}).await.unwrap_err().is_cancelled());
                result
            })
        });
        has_begun.recv().unwrap();
        drop(runtime);
        tx.send(9).unwrap();
        assert_eq!(waits.join().unwrap(), 9);
    });
}

#[test]
fn a_timer_of_a_runtime_that_has_ended_panics() {
    must_end(|| {
        let runtime = threads(1);
        let handle = runtime.handle().clone();
        let (begun, has_begun) = mpsc::channel();
        let waits = thread::spawn(move || {
            handle.block_on(async move {
                let mut begun = Some(begun);
                let mut sleep = std::pin::pin!(time::sleep(Duration::from_secs(3_600)));
                poll_fn(|cx| {
                    let polled = sleep.as_mut().poll(cx);
                    if let Some(begun) = begun.take() {
                        begun.send(()).unwrap();
                    }
                    polled
                })
                .await;
            });
        });
        has_begun.recv().unwrap();
        drop(runtime);
        assert!(waits.join().is_err());
    });
}

#[test]
fn a_local_set_that_is_dropped_drops_its_tasks_in_its_thread() {
    each(|runtime| {
        struct SameThread(thread::ThreadId, Arc<AtomicUsize>);
        impl Drop for SameThread {
            fn drop(&mut self) {
                assert_eq!(thread::current().id(), self.0);
                self.1.fetch_add(1, SeqCst);
            }
        }
        let runtime = runtime();
        let dropped = Arc::new(AtomicUsize::new(0));
        let local = LocalSet::new();
        let mut handles = Vec::new();
        for _ in 0..20 {
            let value = SameThread(thread::current().id(), Arc::clone(&dropped));
            handles.push(local.spawn_local(async move {
                let _value = value;
                pending::<()>().await;
            }));
            let value = SameThread(thread::current().id(), Arc::clone(&dropped));
            handles.push(local.spawn_local(async move {
                let _value = value;
                loop {
                    task::yield_now().await;
                }
            }));
        }
        local.block_on(&runtime, async { task::yield_now().await });
        drop(runtime);
        assert_eq!(dropped.load(SeqCst), 0);
        drop(local);
        assert_eq!(dropped.load(SeqCst), 40);
        for handle in handles {
            assert!(executor::block_on(handle).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn a_panic_while_the_tasks_are_dropped_harms_no_other() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    each(|runtime| {
        let runtime = runtime();
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut thrown = Vec::new();
        for _ in 0..5 {
            thrown.push(runtime.spawn(async {
                let _panics = Panics;
                pending::<()>().await;
            }));
            let value = OnDrop(Arc::clone(&dropped));
            runtime.spawn(async move {
                let _value = value;
                pending::<()>().await;
            });
        }
        runtime.block_on(async {
            for _ in 0..10 {
                task::yield_now().await;
            }
            time::sleep(Duration::from_millis(2)).await;
        });
        drop(runtime);
        assert_eq!(dropped.load(SeqCst), 5);
        for task in thrown {
            let error = executor::block_on(task).unwrap_err();
            assert!(error.is_panic() || error.is_cancelled());
        }
    });
}

struct Asks(Handle, Arc<AtomicBool>);

impl Drop for Asks {
    fn drop(&mut self) {
        let current = Handle::try_current().map(|handle| handle.id());
        self.1.store(current.ok() == Some(self.0.id()), SeqCst);
    }
}

#[test]
fn a_local_task_is_dropped_where_its_runtime_is_the_current_one() {
    must_end(|| {
        let ends: [fn(LocalRuntime); 3] = [drop, LocalRuntime::shutdown_background, |runtime| {
            runtime.shutdown_timeout(Duration::from_secs(1))
        }];
        for end in ends {
            let runtime = LocalRuntime::new().unwrap();
            let is_current = Arc::new(AtomicBool::new(false));
            let asks = Asks(runtime.handle().clone(), Arc::clone(&is_current));
            runtime.spawn_local(async move {
                let _asks = asks;
                pending::<()>().await;
            });
            end(runtime);
            assert!(is_current.load(SeqCst));
        }
    });
}

#[test]
fn a_task_is_dropped_where_the_runtime_is_the_current_one() {
    each(|runtime| {
        let runtime = runtime();
        let is_current = Arc::new(AtomicBool::new(false));
        let asks = Asks(runtime.handle().clone(), Arc::clone(&is_current));
        runtime.spawn(async move {
            let _asks = asks;
            pending::<()>().await;
        });
        drop(runtime);
        assert!(is_current.load(SeqCst));
    });
}

#[test]
fn runtimes_come_and_go_while_others_use_them() {
    each(|runtime| {
        for _ in 0..30 {
            let runtime = runtime();
            let users: Vec<_> = (0..3)
                .map(|_| {
                    let handle = runtime.handle().clone();
                    thread::spawn(move || {
                        let mut ended = 0;
                        for n in 0..200 {
                            let task = handle.spawn(async move {
                                task::yield_now().await;
                                n
                            });
                            if n % 2 == 0 {
                                drop(task);
                            } else if task.is_finished() {
                                ended += 1;
                                let _ = executor::block_on(task);
                            }
                        }
                        ended
                    })
                })
                .collect();
            let _ = runtime.block_on(runtime.spawn(async { task::yield_now().await }));
            drop(runtime);
            for user in users {
                user.join().unwrap();
            }
        }
    });
}
