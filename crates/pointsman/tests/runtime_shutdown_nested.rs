//! Shutdown with a time limit, from within a runtime, and beside other runtimes.

mod common;

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{current_thread, must_end, threads};
use futures::executor;
use pointsman::runtime::{Handle, LocalRuntime, Runtime};
use pointsman::sync::oneshot;
use pointsman::task::{self, LocalSet};
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
fn shutdown_timeout_returns_while_work_continues() {
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
fn shutdown_does_not_end_a_thread_in_handle_block_on() {
    must_end(|| {
        let runtime = threads(2);
        let handle = runtime.handle().clone();
        let (tx, rx) = oneshot::channel();
        let (begun, has_begun) = mpsc::channel();
        let waits = thread::spawn(move || {
            handle.block_on(async move {
                begun.send(()).unwrap();
                // A task that it spawns then is cancelled too.
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
fn runtimes_are_created_and_dropped_while_others_use_them() {
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
