//! Tasks that stay in one thread.

mod common;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::must_end;
use futures::executor;
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::{Mutex, mpsc as channel, oneshot};
use pointsman::task::{self, LocalSet};
use pointsman::time;

fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(Builder::new_current_thread().enable_all().build().unwrap());
        for threads in [1, 3] {
            let mut builder = Builder::new_multi_thread();
            test(
                builder
                    .worker_threads(threads)
                    .enable_all()
                    .build()
                    .unwrap(),
            );
        }
    });
}

#[test]
fn tasks_stay_in_the_thread_of_their_set() {
    each(|runtime| {
        let here = thread::current().id();
        let local = LocalSet::new();
        let sum = Rc::new(Cell::new(0));
        let adds = Rc::clone(&sum);
        local.block_on(&runtime, async move {
            let mut tasks = Vec::new();
            for n in 0..200 {
                let sum = Rc::clone(&adds);
                tasks.push(task::spawn_local(async move {
                    assert_eq!(thread::current().id(), here);
                    task::yield_now().await;
                    time::sleep(Duration::from_micros(n)).await;
                    // Woken by another thread.
                    task::spawn_blocking(|| ()).await.unwrap();
                    assert_eq!(thread::current().id(), here);
                    sum.set(sum.get() + n);
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(sum.get(), (0..200).sum());
    });
}

#[test]
fn the_set_itself_waits_for_all_its_tasks() {
    each(|runtime| {
        let local = LocalSet::new();
        let count = Rc::new(Cell::new(0));
        for _ in 0..100 {
            let count = Rc::clone(&count);
            local.spawn_local(async move {
                task::yield_now().await;
                let inner = Rc::clone(&count);
                task::spawn_local(async move {
                    time::sleep(Duration::from_millis(1)).await;
                    inner.set(inner.get() + 1);
                });
                count.set(count.get() + 1);
            });
        }
        runtime.block_on(local);
        assert_eq!(count.get(), 200);
    });
}

#[test]
fn tasks_of_a_set_spawn_in_it_however_deep() {
    fn nest(depth: u32, thread: thread::ThreadId) -> std::pin::Pin<Box<dyn Future<Output = u32>>> {
        Box::pin(async move {
            assert_eq!(thread::current().id(), thread);
            match depth {
                0 => 0,
                _ => 1 + task::spawn_local(nest(depth - 1, thread)).await.unwrap(),
            }
        })
    }
    each(|runtime| {
        let local = LocalSet::new();
        let here = thread::current().id();
        assert_eq!(local.block_on(&runtime, nest(50, here)), 50);
        // And a task that is none of the set's cannot.
        let outside = runtime.spawn(async { drop(task::spawn_local(async {})) });
        assert!(local.block_on(&runtime, outside).unwrap_err().is_panic());
    });
}

#[test]
fn a_set_within_another_is_the_current_one_while_it_runs() {
    each(|runtime| {
        let (outer, inner) = (LocalSet::new(), LocalSet::new());
        let order = Rc::new(RefCell::new(Vec::new()));
        let notes = Rc::clone(&order);
        outer.block_on(&runtime, async move {
            let first = Rc::clone(&notes);
            inner
                .run_until(async move {
                    task::spawn_local(async move { first.borrow_mut().push("inner") })
                        .await
                        .unwrap();
                })
                .await;
            let second = Rc::clone(&notes);
            let task = task::spawn_local(async move { second.borrow_mut().push("outer") });
            drop(inner);
            task.await.unwrap();
        });
        assert_eq!(*order.borrow(), ["inner", "outer"]);
    });
}

#[test]
fn a_set_that_was_entered_is_where_tasks_are_spawned() {
    each(|runtime| {
        let local = LocalSet::new();
        let task = {
            let _guard = local.enter();
            task::spawn_local(async { 7 })
        };
        assert!(!task.is_finished());
        assert_eq!(local.block_on(&runtime, task).unwrap(), 7);
        assert!(
            std::panic::catch_unwind(|| {
                task::spawn_local(async {});
            })
            .is_err()
        );
    });
}

#[test]
fn a_run_that_is_dropped_loses_nothing() {
    each(|runtime| {
        let local = LocalSet::new();
        let count = Rc::new(Cell::new(0));
        let counts = Rc::clone(&count);
        let task = local.spawn_local(async move {
            for _ in 0..10 {
                task::yield_now().await;
                counts.set(counts.get() + 1);
            }
            "all"
        });
        runtime.block_on(async {
            for _ in 0..3 {
                // Polled once.
                let mut run = Box::pin(local.run_until(pending::<()>()));
                poll_fn(|cx| {
                    assert!(run.as_mut().poll(cx).is_pending());
                    Poll::Ready(())
                })
                .await;
            }
        });
        assert_eq!(local.block_on(&runtime, task).unwrap(), "all");
        assert_eq!(count.get(), 10);
    });
}

#[test]
fn what_another_thread_wakes_is_run() {
    each(|runtime| {
        let local = LocalSet::new();
        let (tx, mut rx) = channel::channel(1);
        let sends = thread::spawn(move || {
            for n in 0..500 {
                tx.blocking_send(n).unwrap();
            }
        });
        let sum = local.block_on(&runtime, async move {
            task::spawn_local(async move {
                let mut sum = 0;
                while let Some(n) = rx.recv().await {
                    sum += n;
                }
                sum
            })
            .await
            .unwrap()
        });
        sends.join().unwrap();
        assert_eq!(sum, (0..500).sum::<i32>());
    });
}

#[test]
fn a_task_that_is_spawned_from_outside_of_a_run_wakes_the_set() {
    each(|runtime| {
        let local = LocalSet::new();
        runtime.block_on(async {
            let mut waits = std::pin::pin!(local.run_until(pending::<()>()));
            let (tx, mut rx) = oneshot::channel();
            let mut tx = Some(tx);
            let mut polls = 0;
            poll_fn(|cx| {
                polls += 1;
                assert!(waits.as_mut().poll(cx).is_pending());
                if let Some(tx) = tx.take() {
                    // Nobody polls the set for this but by its waker.
                    local.spawn_local(async move { tx.send(()).unwrap() });
                    return Poll::Pending;
                }
                match rx.try_recv() {
                    Ok(()) => Poll::Ready(()),
                    Err(_) => Poll::Pending,
                }
            })
            .await;
            assert!(polls >= 2);
        });
    });
}

#[test]
fn a_result_is_awaited_in_another_thread() {
    each(|runtime| {
        let local = LocalSet::new();
        let task = local.spawn_local(async {
            let text = Rc::new(String::from("sent"));
            task::yield_now().await;
            text.to_string()
        });
        let waits = thread::spawn(move || executor::block_on(task));
        runtime.block_on(local);
        assert_eq!(waits.join().unwrap().unwrap(), "sent");
    });
}

struct InThread(thread::ThreadId, Arc<AtomicUsize>, Rc<()>);

impl InThread {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        Self(thread::current().id(), Arc::clone(count), Rc::new(()))
    }
}

impl Drop for InThread {
    fn drop(&mut self) {
        assert_eq!(thread::current().id(), self.0);
        assert_eq!(Rc::strong_count(&self.2), 1);
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_future_is_dropped_in_its_thread_whoever_aborts_it_or_lets_go() {
    each(|runtime| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let local = LocalSet::new();
        let mut handles = Vec::new();
        for _ in 0..20 {
            let value = InThread::new(&dropped);
            handles.push(local.spawn_local(async move {
                let _value = value;
                pending::<()>().await;
            }));
        }
        local.block_on(&runtime, task::yield_now());
        let aborts: Vec<_> = handles.iter().map(|handle| handle.abort_handle()).collect();
        thread::spawn(move || {
            for abort in aborts {
                abort.abort();
            }
        })
        .join()
        .unwrap();
        assert_eq!(dropped.load(SeqCst), 0);
        local.block_on(&runtime, async {
            for handle in handles {
                assert!(handle.await.unwrap_err().is_cancelled());
            }
        });
        assert_eq!(dropped.load(SeqCst), 20);
    });
}

#[test]
fn the_output_that_nobody_takes_is_dropped() {
    each(|runtime| {
        let count = Arc::new(());
        let local = LocalSet::new();
        for _ in 0..5 {
            let output = Arc::clone(&count);
            drop(local.spawn_local(async move { output }));
            let output = Arc::clone(&count);
            let kept = local.spawn_local(async move { output });
            // Dropped in another thread, before or after it is complete.
            thread::spawn(move || drop(kept));
        }
        runtime.block_on(local);
        while Arc::strong_count(&count) > 1 {
            thread::yield_now();
        }
    });
}

#[test]
fn wakers_outlive_the_set_and_its_thread() {
    each(|runtime| {
        let runtime = Arc::new(runtime);
        let (tx, rx) = mpsc::channel();
        thread::spawn(move || {
            let local = LocalSet::new();
            let task = local.spawn_local(poll_fn(move |cx| {
                tx.send(cx.waker().clone()).unwrap();
                Poll::<()>::Pending
            }));
            local.block_on(&runtime, task::yield_now());
            drop(local);
            assert!(executor::block_on(task).unwrap_err().is_cancelled());
        })
        .join()
        .unwrap();
        for waker in rx {
            waker.wake_by_ref();
            waker.wake();
        }
    });
}

#[test]
fn a_task_that_is_dropped_with_its_set_may_wake_others_of_it() {
    each(|runtime| {
        let local = LocalSet::new();
        let (first, waits_first) = oneshot::channel::<()>();
        let (second, waits_second) = oneshot::channel::<()>();
        local.spawn_local(async move {
            let _ = waits_second.await;
        });
        local.spawn_local(async move {
            let _ = waits_first.await;
            second.send(()).unwrap();
        });
        local.spawn_local(async move {
            pending::<()>().await;
            first.send(()).unwrap();
        });
        let lock = Rc::new(Mutex::new(()));
        for _ in 0..3 {
            let lock = Rc::clone(&lock);
            local.spawn_local(async move {
                let _guard = lock.lock().await;
                pending::<()>().await;
            });
        }
        local.block_on(&runtime, task::yield_now());
        drop(local);
        assert_eq!(Rc::strong_count(&lock), 1);
    });
}

#[test]
fn what_is_dropped_with_the_set_may_spawn_in_it() {
    struct Spawns(Rc<Cell<u32>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let dropped = Rc::clone(&self.0);
            struct Counts(Rc<Cell<u32>>);
            impl Drop for Counts {
                fn drop(&mut self) {
                    self.0.set(self.0.get() + 1);
                }
            }
            let counts = Counts(dropped);
            task::spawn_local(async move { drop(counts) });
        }
    }
    each(|runtime| {
        let count = Rc::new(Cell::new(0));
        let local = LocalSet::new();
        for _ in 0..3 {
            let spawns = Spawns(Rc::clone(&count));
            local.spawn_local(async move {
                let _spawns = spawns;
                pending::<()>().await;
            });
        }
        local.block_on(&runtime, task::yield_now());
        drop(local);
        assert_eq!(count.get(), 3);
    });
}

#[test]
fn a_set_may_be_dropped_by_one_of_its_own_tasks() {
    each(|runtime| {
        let local = Rc::new(LocalSet::new());
        let held = Rc::clone(&local);
        let task = local.spawn_local(async move {
            task::yield_now().await;
            drop(held);
            pending::<()>().await;
        });
        let run = Rc::clone(&local);
        drop(local);
        runtime.block_on(async {
            // The last but one goes within the task, the last with the future.
            run.run_until(async {
                for _ in 0..5 {
                    task::yield_now().await;
                }
            })
            .await;
        });
        drop(run);
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn panics_stay_in_their_task() {
    each(|runtime| {
        let local = LocalSet::new();
        let error = local.block_on(&runtime, async {
            let panics = task::spawn_local(async { panic!("local") });
            let other = task::spawn_local(async { 3 });
            let error: Result<(), _> = panics.await;
            assert_eq!(other.await.unwrap(), 3);
            error.unwrap_err()
        });
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"local"));
    });
}

#[test]
fn other_tasks_run_beside_a_busy_set() {
    each(|runtime| {
        let local = LocalSet::new();
        let is_over = Rc::new(Cell::new(false));
        for _ in 0..5 {
            let is_over = Rc::clone(&is_over);
            local.spawn_local(async move {
                while !is_over.get() {
                    task::yield_now().await;
                }
            });
        }
        local.block_on(&runtime, async {
            task::spawn(async { task::yield_now().await })
                .await
                .unwrap();
            time::sleep(Duration::from_millis(2)).await;
            task::spawn_blocking(|| ()).await.unwrap();
        });
        is_over.set(true);
        runtime.block_on(local);
    });
}

#[test]
fn the_thread_of_a_set_cannot_be_blocked_in_place() {
    struct Blocks;
    impl Drop for Blocks {
        fn drop(&mut self) {
            task::block_in_place(|| {});
        }
    }
    const TEXT: &str = "can call blocking only when running on the multi-threaded runtime";
    each(|runtime| {
        let local = LocalSet::new();
        let task = local.spawn_local(async { task::block_in_place(|| {}) });
        let error = local.block_on(&runtime, task).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&TEXT));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            local.block_on(&runtime, async { task::block_in_place(|| {}) });
        }));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&TEXT));
        let task = local.spawn_local(async {
            let _blocks = Blocks;
            pending::<()>().await;
        });
        let error = runtime.block_on(async move {
            local.run_until(task::yield_now()).await;
            drop(local);
            task.await.unwrap_err()
        });
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&TEXT));
    });
}

#[test]
fn a_set_is_kept_in_a_thread_local() {
    thread_local! {
        static KEPT: LocalSet = LocalSet::new();
    }
    each(|runtime| {
        let runtime = Arc::new(runtime);
        let dropped = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&dropped);
        let other = Arc::clone(&runtime);
        thread::spawn(move || {
            KEPT.with(|local| {
                let value = InThread::new(&counts);
                local.spawn_local(async move {
                    let _value = value;
                    pending::<()>().await;
                });
                local.block_on(&other, async {
                    assert_eq!(task::spawn_local(async { 2 }).await.unwrap(), 2);
                });
            });
        })
        .join()
        .unwrap();
        assert_eq!(dropped.load(SeqCst), 1);
    });
}
