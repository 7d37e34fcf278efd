//! Tasks queued beside blocked workers are run by the other workers.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use common::{must_end, threads, wait};
use gate::Gate;
use pointsman::runtime::Runtime;
use pointsman::task::{self, JoinHandle};
use pointsman::time;

/// Occupies this many workers until the gate is open.
fn block_workers(runtime: &Runtime, count: usize, gate: &Gate) -> Vec<JoinHandle<()>> {
    let begun = Arc::new(Barrier::new(count + 1));
    let tasks = (0..count)
        .map(|_| {
            let (begun, passage) = (Arc::clone(&begun), gate.passage());
            runtime.spawn(async move {
                begun.wait();
                passage.block();
            })
        })
        .collect();
    begun.wait();
    tasks
}

/// A few hundred steps of computation, as much as a short request costs.
fn computes() {
    let mut sum = 0u64;
    for n in 0..2_000 {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(n));
    }
}

fn computes_and_yields_until(is_over: &Arc<AtomicBool>) -> impl Future<Output = ()> + use<> {
    let is_over = Arc::clone(is_over);
    async move {
        while !is_over.load(SeqCst) {
            computes();
            task::yield_now().await;
        }
    }
}

#[test]
fn as_many_tasks_as_there_are_workers_may_block_at_once() {
    must_end(|| {
        for workers in [1, 2, 8, 32] {
            let runtime = threads(workers);
            for _ in 0..10 {
                let barrier = Arc::new(Barrier::new(workers));
                let tasks: Vec<_> = (0..workers)
                    .map(|_| {
                        let barrier = Arc::clone(&barrier);
                        runtime.spawn(async move { barrier.wait().is_leader() })
                    })
                    .collect();
                let leaders = tasks.into_iter().map(wait).filter(|&is| is).count();
                assert_eq!(leaders, 1);
            }
        }
    });
}

#[test]
fn one_worker_of_several_is_enough_for_all_other_tasks() {
    must_end(|| {
        for (workers, blocked) in [(2, 1), (4, 3), (8, 7), (8, 4)] {
            let runtime = threads(workers);
            for _ in 0..5 {
                let gate = Gate::new();
                let blocked = block_workers(&runtime, blocked, &gate);
                let tasks: Vec<_> = (0..64)
                    .map(|n| {
                        runtime.spawn(async move {
                            task::yield_now().await;
                            time::sleep(Duration::from_millis(1)).await;
                            task::spawn(async move { n }).await.unwrap()
                        })
                    })
                    .collect();
                for (n, task) in tasks.into_iter().enumerate() {
                    assert_eq!(wait(task), n);
                }
                gate.open();
                blocked.into_iter().for_each(wait);
            }
        }
    });
}

#[test]
fn tasks_that_wait_in_the_queue_of_one_that_blocks_are_taken_by_others() {
    must_end(|| {
        // The task that opens the gate is queued before, between or behind those that block.
        for place in 0..4 {
            let runtime = threads(4);
            for _ in 0..20 {
                let gate = Gate::new();
                let passage = gate.passage();
                let gate = Arc::new(gate);
                let spawning = runtime.spawn(async move {
                    let tasks: Vec<_> = (0..4)
                        .map(|n| {
                            let (gate, passage) = (Arc::clone(&gate), passage.clone());
                            task::spawn(async move {
                                match n == place {
                                    true => gate.open(),
                                    false => passage.block(),
                                }
                            })
                        })
                        .collect();
                    for task in tasks {
                        task.await.unwrap();
                    }
                });
                wait(spawning);
            }
        }
    });
}

#[test]
fn a_timer_fires_beside_tasks_that_compute_and_yield_for_ever() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            let is_over = Arc::new(AtomicBool::new(false));
            let busy: Vec<_> = (0..workers.max(2))
                .map(|_| runtime.spawn(computes_and_yields_until(&is_over)))
                .collect();
            for _ in 0..5 {
                let sleeps = || async { time::sleep(Duration::from_millis(5)).await };
                wait(runtime.spawn(sleeps()));
                runtime.block_on(sleeps());
                runtime.block_on(async {
                    let late =
                        time::timeout(Duration::from_millis(2), std::future::pending::<()>());
                    assert!(late.await.is_err());
                });
            }
            is_over.store(true, SeqCst);
            busy.into_iter().for_each(wait);
        }
    });
}

/// Counted in polls of the other tasks, as their duration depends on the machine.
#[test]
fn a_task_from_outside_begins_after_few_polls_of_those_that_are_always_ready() {
    must_end(|| {
        for workers in [1, 2] {
            let runtime = threads(workers);
            let is_over = Arc::new(AtomicBool::new(false));
            let polls = Arc::new(AtomicUsize::new(0));
            let busy: Vec<_> = (0..200)
                .map(|_| {
                    let (is_over, polls) = (Arc::clone(&is_over), Arc::clone(&polls));
                    runtime.spawn(async move {
                        while !is_over.load(SeqCst) {
                            polls.fetch_add(1, SeqCst);
                            task::yield_now().await;
                        }
                    })
                })
                .collect();
            let mut counts: Vec<_> = (0..51)
                .map(|_| {
                    let polls = Arc::clone(&polls);
                    let before = polls.load(SeqCst);
                    wait(runtime.spawn(async move { polls.load(SeqCst) - before }))
                })
                .collect();
            is_over.store(true, SeqCst);
            busy.into_iter().for_each(wait);
            // In some attempts the spawning thread loses its core meanwhile.
            counts.sort_unstable();
            let median = counts[counts.len() / 2];
            assert!(median <= 1_000 * workers, "{counts:?}");
        }
    });
}

#[test]
fn a_time_limit_ends_the_wait_for_a_task_that_is_still_blocked() {
    must_end(|| {
        for workers in [2, 4] {
            let runtime = threads(workers);
            for _ in 0..5 {
                let gate = Gate::new();
                let passage = gate.passage();
                runtime.block_on(async {
                    let mut blocked = task::spawn(async move { passage.block() });
                    let limit = Duration::from_millis(50);
                    assert!(time::timeout(limit, &mut blocked).await.is_err());
                    // Ends only now.
                    gate.open();
                    blocked.await.unwrap();
                });
            }
        }
    });
}

/// Long enough that the scheduler expects the next task of this type to block.
async fn blocks_until(is_in_place: bool, has_run: mpsc::Receiver<()>) {
    std::thread::sleep(Duration::from_millis(6));
    let waits = || has_run.recv().unwrap();
    match is_in_place {
        true => task::block_in_place(waits),
        false => waits(),
    }
}

#[test]
fn tasks_that_have_blocked_before_keep_no_other_waiting() {
    must_end(|| {
        for (workers, blockers) in [(2, 1), (4, 3)] {
            for is_in_place in [false, true] {
                let runtime = threads(workers);
                for _ in 0..10 {
                    let (blocked, gates): (Vec<_>, Vec<_>) = (0..blockers)
                        .map(|_| {
                            let (gate, has_run) = mpsc::channel();
                            (runtime.spawn(blocks_until(is_in_place, has_run)), gate)
                        })
                        .unzip();
                    let other = runtime.spawn(async {
                        time::sleep(Duration::from_millis(1)).await;
                        task::spawn(task::yield_now()).await.unwrap();
                    });
                    wait(other);
                    gates.iter().for_each(|gate| gate.send(()).unwrap());
                    blocked.into_iter().for_each(wait);
                }
            }
        }
    });
}
