//! Work that waits for a blocked worker is taken from it: the task that it spawned or woke last, and its timers, even
//! if no worker is left. Tokio does not promise this, and these programs hang there.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use common::{must_end, threads, wait};
use futures::executor;
use gate::Gate;
#[cfg(all(unix, feature = "net"))]
use pointsman::net::UnixStream;
use pointsman::sync::oneshot;
use pointsman::task;
use pointsman::time;

// --- tasks ---

#[test]
fn as_many_tasks_that_a_task_has_spawned_may_block_at_once() {
    must_end(|| {
        for workers in [2, 4, 32] {
            let runtime = threads(workers);
            for _ in 0..10 {
                let spawning = runtime.spawn(async move {
                    let barrier = Arc::new(Barrier::new(workers));
                    let tasks: Vec<_> = (1..workers)
                        .map(|_| {
                            let barrier = Arc::clone(&barrier);
                            task::spawn(async move { barrier.wait().is_leader() })
                        })
                        .collect();
                    // The last one is this task.
                    let mut leaders = usize::from(barrier.wait().is_leader());
                    for task in tasks {
                        leaders += usize::from(task.await.unwrap());
                    }
                    leaders
                });
                assert_eq!(wait(spawning), 1);
            }
        }
    });
}

fn spawns_and_blocks(depth: usize, bottom: Gate) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if depth == 0 {
            bottom.open();
            return;
        }
        let passage = bottom.passage();
        task::spawn(spawns_and_blocks(depth - 1, bottom));
        passage.block();
    })
}

#[test]
fn a_task_may_block_its_thread_until_one_that_it_has_spawned_is_done() {
    must_end(|| {
        for workers in [2, 4, 8] {
            let runtime = threads(workers);
            for _ in 0..20 {
                // Each but the last blocks a worker.
                wait(runtime.spawn(spawns_and_blocks(workers - 1, Gate::new())));
            }
        }
    });
}

#[test]
fn a_task_may_block_its_thread_until_one_that_it_has_woken_is_done() {
    must_end(|| {
        for workers in [2, 4] {
            let runtime = threads(workers);
            for n in 0..50 {
                let (wake, woken) = oneshot::channel();
                let (tx, rx) = mpsc::channel();
                let (waits, is_waiting) = oneshot::channel();
                runtime.spawn(async move {
                    waits.send(()).unwrap();
                    tx.send(woken.await.unwrap()).unwrap();
                });
                let waking = runtime.spawn(async move {
                    is_waiting.await.unwrap();
                    task::yield_now().await;
                    wake.send(n).unwrap();
                    rx.recv().unwrap()
                });
                assert_eq!(wait(waking), n);
            }
        }
    });
}

#[test]
fn many_woken_tasks_do_not_wait_for_one_that_blocks() {
    must_end(|| {
        let runtime = threads(2);
        for _ in 0..20 {
            let (tx, rx) = mpsc::channel();
            let (wakes, tasks): (Vec<_>, Vec<_>) = (0..300)
                .map(|n| {
                    let (wake, woken) = oneshot::channel::<()>();
                    let tx = tx.clone();
                    let task = runtime.spawn(async move {
                        woken.await.unwrap();
                        tx.send(n).unwrap();
                    });
                    (wake, task)
                })
                .unzip();
            let waking = runtime.spawn(async move {
                task::yield_now().await;
                for wake in wakes {
                    wake.send(()).unwrap();
                }
                (0..300).map(|_| rx.recv().unwrap()).sum::<i32>()
            });
            assert_eq!(wait(waking), 44_850);
            tasks.into_iter().for_each(wait);
        }
    });
}

// --- with I/O ---

/// With I/O, a worker whose tasks have all yielded polls for events before it runs them again.
#[cfg(all(unix, feature = "net"))]
#[test]
fn a_worker_whose_task_always_yields_takes_a_task_behind_one_that_blocks() {
    must_end(|| {
        let runtime = threads(2);
        let guard = runtime.enter();
        let _sockets = UnixStream::pair().unwrap();
        drop(guard);
        for _ in 0..10 {
            let gate = Gate::new();
            let passage = gate.passage();
            let (begun, has_begun) = mpsc::channel();
            let blocking = runtime.spawn(async move {
                begun.send(()).unwrap();
                passage.block();
                spawns_and_blocks(1, Gate::new()).await;
            });
            has_begun.recv().unwrap();
            let yielding = runtime.spawn(async move {
                gate.open();
                loop {
                    task::yield_now().await;
                }
            });
            wait(blocking);
            yielding.abort();
            assert!(executor::block_on(yielding).unwrap_err().is_cancelled());
        }
    });
}

// --- timers ---

#[test]
fn a_time_limit_ends_the_wait_for_a_task_that_blocks_the_only_worker() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            for _ in 0..5 {
                let gate = Gate::new();
                let blocking: Vec<_> = (0..workers).map(|_| gate.passage()).collect();
                runtime.block_on(async {
                    let mut blocked: Vec<_> = blocking
                        .into_iter()
                        .map(|passage| task::spawn(async move { passage.block() }))
                        .collect();
                    for blocked in &mut blocked {
                        let limit = Duration::from_millis(20);
                        assert!(time::timeout(limit, blocked).await.is_err());
                    }
                    gate.open();
                    for blocked in blocked {
                        blocked.await.unwrap();
                    }
                });
            }
        }
    });
}

#[test]
fn all_timers_of_the_future_that_is_blocked_on_fire_while_all_workers_are_blocked() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            let gate = Gate::new();
            let begun = Arc::new(Barrier::new(workers + 1));
            for _ in 0..workers {
                let (begun, passage) = (Arc::clone(&begun), gate.passage());
                runtime.spawn(async move {
                    begun.wait();
                    passage.block();
                });
            }
            begun.wait();
            runtime.block_on(async {
                let mut interval = time::interval(Duration::from_millis(1));
                for _ in 0..5 {
                    interval.tick().await;
                }
                time::sleep(Duration::from_millis(3)).await;
                let limit = Duration::from_millis(3);
                assert!(time::timeout(limit, pending::<()>()).await.is_err());
            });
            gate.open();
        }
    });
}

#[test]
fn a_timer_wakes_a_thread_that_waits_without_a_runtime_while_all_workers_are_blocked() {
    must_end(|| {
        let runtime = threads(1);
        let guard = runtime.enter();
        // The thread that registered the timer sleeps in another executor.
        let sleep = Box::pin(time::sleep(Duration::from_millis(20)));
        drop(guard);
        let gate = Gate::new();
        let passage = gate.passage();
        let (begun, has_begun) = mpsc::channel();
        runtime.spawn(async move {
            begun.send(()).unwrap();
            passage.block();
        });
        has_begun.recv().unwrap();
        executor::block_on(sleep);
        gate.open();
    });
}
