//! `LocalSet`: running tasks.

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
use pointsman::sync::{mpsc as channel, oneshot};
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
        // Nor can a task outside of the set.
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
fn a_task_woken_by_another_thread_is_run() {
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
                    // Only its waker causes the set to be polled for this.
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
fn a_local_future_is_dropped_on_its_own_thread() {
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
fn an_output_that_is_not_taken_is_dropped() {
    each(|runtime| {
        let count = Arc::new(());
        let local = LocalSet::new();
        for _ in 0..5 {
            let output = Arc::clone(&count);
            drop(local.spawn_local(async move { output }));
            let output = Arc::clone(&count);
            let kept = local.spawn_local(async move { output });
            // Dropped on another thread, before or after completion.
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
