//! The budget of a task, and yielding.

mod common;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

use common::{current_thread, must_end};
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::{Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use pointsman::task::{self, coop};

fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(current_thread());
        let mut builder = Builder::new_multi_thread();
        test(builder.worker_threads(1).enable_all().build().unwrap());
    });
}

/// How many times `operation` is ready before its task must yield.
async fn ready_in_one_poll<F: Future>(mut operation: impl FnMut() -> F) -> usize {
    // From a full budget.
    task::yield_now().await;
    let mut count = 0;
    poll_fn(|cx| {
        while count < 1_000 && pin!(operation()).poll(cx).is_ready() {
            count += 1;
        }
        Poll::Ready(())
    })
    .await;
    // It was woken for the refused operation.
    task::yield_now().await;
    count
}

#[test]
fn every_operation_that_is_always_ready_is_refused_at_last() {
    each(|runtime| {
        let count = async {
            let mut counts = Vec::new();
            let (tx, rx) = mpsc::unbounded_channel();
            for n in 0..1_000 {
                tx.send(n).unwrap();
            }
            let rx = Mutex::new(rx);
            counts.push(
                ready_in_one_poll(|| async { rx.try_lock().unwrap().recv().await.unwrap() }).await,
            );
            let (tx, _rx) = mpsc::channel(1_000);
            counts.push(ready_in_one_poll(|| tx.send(1)).await);
            let (tx, rx) = broadcast::channel(1_024);
            for n in 0..1_000 {
                tx.send(n).unwrap();
            }
            let rx = Mutex::new(rx);
            counts.push(
                ready_in_one_poll(|| async { rx.try_lock().unwrap().recv().await.unwrap() }).await,
            );
            let (tx, rx) = watch::channel(0);
            let rx = Mutex::new(rx);
            counts.push(
                ready_in_one_poll(|| {
                    tx.send(1).unwrap();
                    async { rx.try_lock().unwrap().changed().await.unwrap() }
                })
                .await,
            );
            counts.push(
                ready_in_one_poll(|| {
                    let (tx, rx) = oneshot::channel();
                    tx.send(()).unwrap();
                    rx
                })
                .await,
            );
            let lock = Mutex::new(());
            counts.push(ready_in_one_poll(|| lock.lock()).await);
            let lock = RwLock::new(());
            counts.push(ready_in_one_poll(|| lock.read()).await);
            counts.push(ready_in_one_poll(|| lock.write()).await);
            let semaphore = Semaphore::new(3);
            counts.push(ready_in_one_poll(|| semaphore.acquire()).await);
            counts.push(ready_in_one_poll(coop::consume_budget).await);
            counts.push(ready_in_one_poll(|| coop::cooperative(std::future::ready(()))).await);
            counts
        };
        let task = runtime.spawn(count);
        let counts = runtime.block_on(task).unwrap();
        assert_eq!(counts, [128; 11]);
    });
}

#[test]
fn the_future_that_is_blocked_on_has_a_budget_too() {
    each(|runtime| {
        let count = runtime.block_on(ready_in_one_poll(coop::consume_budget));
        assert_eq!(count, 128);
        let local = task::LocalSet::new();
        let count = local.block_on(&runtime, async {
            let inner = task::spawn_local(ready_in_one_poll(coop::consume_budget));
            (
                inner.await.unwrap(),
                ready_in_one_poll(coop::consume_budget).await,
            )
        });
        assert_eq!(count, (128, 128));
    });
}

#[test]
fn waiting_for_tasks_costs_budget() {
    must_end(|| {
        let runtime = current_thread();
        runtime.block_on(async {
            let mut tasks: Vec<_> = (0..500).map(|n| task::spawn(async move { n })).collect();
            while !tasks.iter().all(task::JoinHandle::is_finished) {
                task::yield_now().await;
            }
            let count = ready_in_one_poll(|| tasks.pop().unwrap()).await;
            assert_eq!(count, 128);
        });
    });
}

#[test]
fn unconstrained_operations_are_never_refused() {
    each(|runtime| {
        let task = runtime.spawn(task::unconstrained(async {
            ready_in_one_poll(coop::consume_budget).await
        }));
        assert_eq!(runtime.block_on(task).unwrap(), 1_000);
        // Only that part of the task; the rest keeps its budget.
        let task = runtime.spawn(async {
            task::yield_now().await;
            for _ in 0..100 {
                coop::consume_budget().await;
            }
            task::unconstrained(async {
                for _ in 0..1_000 {
                    coop::consume_budget().await;
                }
            })
            .await;
            let mut left = 0;
            while coop::has_budget_remaining() {
                coop::consume_budget().await;
                left += 1;
            }
            left
        });
        assert_eq!(runtime.block_on(task).unwrap(), 28);
    });
}

#[test]
fn a_pending_operation_uses_no_budget() {
    must_end(|| {
        let runtime = current_thread();
        runtime.block_on(async {
            task::yield_now().await;
            let notify = Notify::new();
            poll_fn(|cx| {
                for _ in 0..1_000 {
                    assert!(pin!(notify.notified()).poll(cx).is_pending());
                }
                assert!(coop::has_budget_remaining());
                Poll::Ready(())
            })
            .await;
        });
    });
}

#[test]
fn outside_of_a_task_there_is_no_limit() {
    for _ in 0..1_000 {
        assert!(coop::has_budget_remaining());
        futures::executor::block_on(coop::consume_budget());
    }
}

#[test]
fn a_task_without_budget_is_queued_behind_the_others() {
    must_end(|| {
        let runtime = current_thread();
        let is_over = Arc::new(AtomicBool::new(false));
        let polls = Arc::new(AtomicUsize::new(0));
        let (stop, counts) = (Arc::clone(&is_over), Arc::clone(&polls));
        let greedy = runtime.spawn(async move {
            while !stop.load(SeqCst) {
                coop::consume_budget().await;
                counts.fetch_add(1, SeqCst);
            }
        });
        runtime.block_on(async {
            for turn in 1..10 {
                task::spawn(async {}).await.unwrap();
                // The future of `block_on` is polled after 61 tasks.
                assert!(polls.load(SeqCst) <= (turn + 1) * 3 * 62 * 129);
            }
        });
        is_over.store(true, SeqCst);
        runtime.block_on(greedy).unwrap();
    });
}

#[test]
fn turns_are_taken_one_after_the_other() {
    must_end(|| {
        let runtime = current_thread();
        // Neither can get ahead of the other by more than a turn or two.
        let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let tasks = [0, 1].map(|n| {
            let counts = counts.clone();
            async move {
                while counts[1 - n].load(SeqCst) == 0 {
                    counts[n].store(1, SeqCst);
                    task::yield_now().await;
                }
                for turn in 1..500 {
                    counts[n].store(turn, SeqCst);
                    let other = counts[1 - n].load(SeqCst);
                    assert!(turn.abs_diff(other) <= 3 || other == 499, "{turn} {other}");
                    task::yield_now().await;
                }
            }
        });
        runtime.block_on(async {
            let both = task::spawn(async {
                let [first, second] = tasks.map(task::spawn);
                (first.await, second.await)
            });
            let (first, second) = both.await.unwrap();
            first.unwrap();
            second.unwrap();
        });
    });
}
