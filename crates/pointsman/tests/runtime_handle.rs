//! Entering a runtime, blocking on futures, and the current runtime.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::{current_thread, must_end, threads};
use futures::executor;
use pointsman::runtime::{Builder, Handle, Runtime};
use pointsman::sync::{Notify, oneshot};
use pointsman::{task, time};

fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(current_thread());
        test(threads(1));
        test(threads(3));
    });
}

fn text_of<R>(run: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).map(drop).unwrap_err();
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().unwrap().to_string(),
    }
}

const NO_RUNTIME: &str = "there is no reactor running, must be called from the context of a Tokio 1.x \
                          runtime (here: a pointsman runtime)";
const NESTED: &str = "Cannot start a runtime from within a runtime. This happens because a function (like \
                      `block_on`) attempted to block the current thread while the thread is being used to \
                      drive asynchronous tasks. If you are in an async function, use `.await` on the future \
                      instead of blocking on it.";

#[test]
fn without_a_runtime_nothing_can_be_spawned() {
    must_end(|| {
        assert_eq!(text_of(|| task::spawn(async {})), NO_RUNTIME);
        assert_eq!(text_of(|| task::spawn_blocking(|| ())), NO_RUNTIME);
        assert_eq!(text_of(Handle::current), NO_RUNTIME);
        let error = Handle::try_current().unwrap_err();
        assert!(error.is_missing_context());
        assert!(!error.is_thread_local_destroyed());
        assert_eq!(error.to_string(), NO_RUNTIME);
        assert_eq!(
            text_of(|| task::spawn_local(async {})),
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`"
        );
        assert_eq!(
            text_of(task::id),
            "Can't get a task id when not inside a task"
        );
        assert!(task::try_id().is_none());
    });
}

#[test]
fn a_future_that_blocks_the_thread_cannot_be_nested() {
    each(|runtime| {
        assert_eq!(
            text_of(|| runtime.block_on(async { runtime.block_on(async {}) })),
            NESTED
        );
        assert_eq!(
            text_of(|| runtime.block_on(async { Handle::current().block_on(async {}) })),
            NESTED
        );
        assert_eq!(
            text_of(|| {
                let handle = runtime.handle();
                handle.block_on(async { handle.block_on(async {}) })
            }),
            NESTED
        );
        let other = current_thread();
        assert_eq!(
            text_of(|| runtime.block_on(async { other.block_on(async {}) })),
            NESTED
        );
        let task = runtime.spawn(async { Handle::current().block_on(async {}) });
        let error = runtime.block_on(task).unwrap_err();
        let panic = error.into_panic();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&NESTED));
        // No effect remains.
        assert_eq!(runtime.block_on(async { 1 }), 1);
        assert!(Handle::try_current().is_err());
    });
}

#[test]
fn blocking_calls_panic_where_tasks_run() {
    each(|runtime| {
        let text = text_of(|| {
            runtime.block_on(async {
                let (_tx, rx) = oneshot::channel::<()>();
                let _ = rx.blocking_recv();
            });
        });
        assert!(
            text.starts_with("Cannot block the current thread from within a runtime."),
            "{text}"
        );
    });
}

#[test]
fn a_handle_blocks_on_a_future_that_others_complete() {
    each(|runtime| {
        let handle = runtime.handle().clone();
        let (tx, rx) = oneshot::channel();
        let outside = thread::spawn(move || {
            // Spawned here, run by the other thread.
            handle.block_on(async {
                let task = task::spawn(async {
                    time::sleep(Duration::from_millis(1)).await;
                    4
                });
                let result = task.await.unwrap();
                tx.send(()).unwrap();
                result
            })
        });
        runtime.block_on(rx).unwrap();
        assert_eq!(outside.join().unwrap(), 4);
    });
}

#[test]
fn a_handle_is_woken_by_another_thread() {
    each(|runtime| {
        let notify = Arc::new(Notify::new());
        let notifies = Arc::clone(&notify);
        let handle = runtime.handle().clone();
        let waits = thread::spawn(move || handle.block_on(notify.notified()));
        notifies.notify_one();
        waits.join().unwrap();
    });
}

#[test]
fn current_thread_tasks_run_only_during_block_on() {
    must_end(|| {
        let runtime = current_thread();
        let task = runtime.spawn(async { thread::current().id() });
        let handle = runtime.handle().clone();
        let outside = thread::spawn(move || {
            handle.block_on(async { 1 });
            handle.spawn(async { thread::current().id() })
        });
        let late = outside.join().unwrap();
        assert!(!task.is_finished());
        assert!(!late.is_finished());
        let here = thread::current().id();
        assert_eq!(runtime.block_on(task).unwrap(), here);
        assert_eq!(runtime.block_on(late).unwrap(), here);
    });
}

#[test]
fn tasks_of_several_threads_run_by_themselves() {
    must_end(|| {
        let runtime = threads(2);
        let task = runtime.spawn(async { thread::current().id() });
        assert_ne!(executor::block_on(task).unwrap(), thread::current().id());
    });
}

#[test]
fn others_go_on_when_the_one_that_drives_leaves() {
    must_end(|| {
        let runtime = Arc::new(current_thread());
        let (tx, rx) = oneshot::channel::<()>();
        let (first, has_begun) = mpsc::channel();
        let driver = Arc::clone(&runtime);
        let drives = thread::spawn(move || {
            driver.block_on(async move {
                first.send(()).unwrap();
                rx.await.unwrap();
            });
        });
        has_begun.recv().unwrap();
        let second = Arc::clone(&runtime);
        let (stands, is_standing) = mpsc::channel();
        let follows = thread::spawn(move || {
            second.block_on(async move {
                stands.send(()).unwrap();
                // Needs the timers of the driving thread.
                for _ in 0..20 {
                    time::sleep(Duration::from_millis(1)).await;
                    task::spawn(async {}).await.unwrap();
                }
            });
        });
        is_standing.recv().unwrap();
        tx.send(()).unwrap();
        drives.join().unwrap();
        follows.join().unwrap();
    });
}

#[test]
fn tasks_are_spawned_from_many_threads() {
    each(|runtime| {
        let spawners: Vec<_> = (0..8)
            .map(|n: u64| {
                let handle = runtime.handle().clone();
                thread::spawn(move || {
                    (0..200)
                        .map(|m| {
                            handle.spawn(async move {
                                task::yield_now().await;
                                n * 200 + m
                            })
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let mut sum = 0;
        for spawner in spawners {
            for task in spawner.join().unwrap() {
                sum += runtime.block_on(task).unwrap();
            }
        }
        assert_eq!(sum, (0..1_600).sum());
    });
}

#[test]
fn block_on_propagates_the_panic_of_its_future() {
    each(|runtime| {
        assert_eq!(
            text_of(|| runtime.block_on(async { panic!("thrown") })),
            "thrown"
        );
        assert_eq!(
            text_of(|| {
                runtime.block_on(async {
                    task::yield_now().await;
                    task::spawn(async {}).await.unwrap();
                    panic!("thrown later")
                })
            }),
            "thrown later"
        );
        assert_eq!(
            runtime.block_on(async { task::spawn(async { 1 }).await.unwrap() }),
            1
        );
    });
}

#[test]
fn a_future_need_not_be_send_nor_static() {
    each(|runtime| {
        let mut text = String::from("a");
        let shared = std::rc::Rc::new(1);
        runtime.block_on(async {
            task::yield_now().await;
            text.push('b');
            drop(shared);
        });
        assert_eq!(text, "ab");
    });
}

// --- entering ---

#[test]
fn the_innermost_runtime_is_the_current_one() {
    must_end(|| {
        let (first, second) = (current_thread(), threads(1));
        assert!(Handle::try_current().is_err());
        let outer = first.enter();
        assert_eq!(Handle::current().id(), first.handle().id());
        {
            let _inner = second.enter();
            assert_eq!(Handle::current().id(), second.handle().id());
            let task = task::spawn(async { Handle::current().id() });
            assert_eq!(executor::block_on(task).unwrap(), second.handle().id());
            // A runtime is entered while a thread is in its `block_on`.
            let id = first.block_on(async { Handle::current().id() });
            assert_eq!(id, first.handle().id());
            assert_eq!(Handle::current().id(), second.handle().id());
        }
        assert_eq!(Handle::current().id(), first.handle().id());
        let task = task::spawn(async { Handle::current().id() });
        assert_eq!(first.block_on(task).unwrap(), first.handle().id());
        drop(outer);
        assert!(Handle::try_current().is_err());
        assert_eq!(text_of(|| task::spawn(async {})), NO_RUNTIME);
    });
}

#[test]
fn guards_have_to_be_dropped_in_the_opposite_order() {
    for is_same in [false, true] {
        must_end(move || {
            let (first, second) = (current_thread(), current_thread());
            let outer = first.enter();
            let inner = match is_same {
                true => first.enter(),
                false => second.enter(),
            };
            let text = text_of(|| drop(outer));
            assert_eq!(
                text,
                "`EnterGuard` values dropped out of order. Guards returned by `tokio::runtime::Handle::enter()` must be \
                 dropped in the reverse order as they were acquired."
            );
            drop(inner);
        });
    }
}

#[test]
fn tasks_and_blocking_work_have_a_current_runtime() {
    each(|runtime| {
        let id = runtime.handle().id();
        assert_eq!(runtime.block_on(async { Handle::current().id() }), id);
        let task = runtime.spawn(async { Handle::current().id() });
        assert_eq!(runtime.block_on(task).unwrap(), id);
        let job = runtime.spawn_blocking(|| {
            // It may also block on a future there.
            Handle::current().block_on(async { task::yield_now().await });
            Handle::current().id()
        });
        assert_eq!(runtime.block_on(job).unwrap(), id);
    });
}

#[test]
fn a_runtime_of_another_is_used_in_a_task() {
    must_end(|| {
        let (outer, inner) = (threads(1), threads(1));
        let handle = inner.handle().clone();
        let task = outer.spawn(async move {
            let id = handle
                .spawn(async { Handle::current().id() })
                .await
                .unwrap();
            assert_eq!(id, handle.id());
            let inside = {
                let _guard = handle.enter();
                task::spawn(async { Handle::current().id() })
            };
            inside.await.unwrap()
        });
        assert_eq!(outer.block_on(task).unwrap(), inner.handle().id());
    });
}

#[test]
fn a_timer_of_one_runtime_fires_in_another() {
    must_end(|| {
        let (with, without) = (
            threads(1),
            Builder::new_multi_thread()
                .worker_threads(1)
                .build()
                .unwrap(),
        );
        let sleep = {
            let _guard = with.enter();
            time::sleep(Duration::from_millis(1))
        };
        without.block_on(sleep);
    });
}

#[test]
fn handles_can_be_kept_in_thread_locals() {
    struct Spawns(Handle);
    impl Drop for Spawns {
        fn drop(&mut self) {
            // The exiting thread may have lost its own current runtime, but not this one.
            drop(self.0.spawn(async {}));
            let _ = Handle::try_current();
        }
    }
    thread_local! {
        static KEPT: std::cell::RefCell<Option<Spawns>> = const { std::cell::RefCell::new(None) };
    }
    each(|runtime| {
        let handle = runtime.handle().clone();
        let runtime = Arc::new(runtime);
        let other = Arc::clone(&runtime);
        thread::spawn(move || {
            KEPT.with(|kept| *kept.borrow_mut() = Some(Spawns(handle)));
            other.block_on(async { task::spawn(async {}).await.unwrap() });
        })
        .join()
        .unwrap();
        runtime.block_on(async { task::yield_now().await });
    });
}

#[test]
fn a_guard_may_be_looked_at_by_other_threads() {
    fn is_shared<T: Sync>() {}
    is_shared::<pointsman::runtime::EnterGuard<'static>>();
}
