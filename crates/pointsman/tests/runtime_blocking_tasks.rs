//! Tasks that block their threads must not delay other tasks.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::collections::HashSet;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use common::{must_end, threads, wait};
use gate::Gate;
use pointsman::sync::{mpsc as channel, oneshot};
use pointsman::task;
use pointsman::time;

fn yields_until(is_over: &Arc<AtomicBool>) -> impl Future<Output = ()> + Send + use<> {
    let is_over = Arc::clone(is_over);
    async move {
        while !is_over.load(SeqCst) {
            task::yield_now().await;
        }
    }
}

#[test]
fn a_task_that_blocks_its_thread_keeps_no_other_waiting() {
    for workers in [2, 4] {
        must_end(move || {
            let runtime = threads(workers);
            let gate = Gate::new();
            let blocked = gate.passage();
            let blocking = runtime.spawn(async move { blocked.block() });
            let tasks: Vec<_> = (0..64)
                .map(|n| {
                    runtime.spawn(async move {
                        task::yield_now().await;
                        time::sleep(Duration::from_millis(1)).await;
                        n
                    })
                })
                .collect();
            for (n, task) in tasks.into_iter().enumerate() {
                assert_eq!(wait(task), n);
            }
            gate.open();
            wait(blocking);
        });
    }
}

#[test]
fn the_others_complete_while_one_blocks_for_half_a_second() {
    must_end(|| {
        let runtime = threads(4);
        let is_blocked = Arc::new(AtomicBool::new(true));
        let during = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..64)
            .map(|n| {
                let is_blocked = Arc::clone(&is_blocked);
                let during = Arc::clone(&during);
                runtime.spawn(async move {
                    if n == 5 {
                        thread::sleep(Duration::from_millis(500));
                        is_blocked.store(false, SeqCst);
                    } else {
                        task::yield_now().await;
                        if is_blocked.load(SeqCst) {
                            during.fetch_add(1, SeqCst);
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert_eq!(during.load(SeqCst), 63);
    });
}

/// A blocking task's spawned and woken tasks run before it continues.
fn no_task_is_stranded(workers: usize, blockers: usize, children: usize) {
    must_end(move || {
        let runtime = threads(workers);
        let ran = Arc::new(AtomicUsize::new(0));
        let begun = Arc::new(Barrier::new(blockers));
        let (tx, rx) = mpsc::channel();
        let mut gates = Vec::new();
        for _ in 0..blockers {
            let gate = Gate::new();
            let blocked = gate.passage();
            gates.push(gate);
            let ran = Arc::clone(&ran);
            let begun = Arc::clone(&begun);
            let tx = tx.clone();
            runtime.spawn(async move {
                let mut woken = Vec::new();
                for _ in 0..children {
                    let ran = Arc::clone(&ran);
                    let tx = tx.clone();
                    let (wake, waits) = oneshot::channel::<()>();
                    woken.push(wake);
                    task::spawn(async move {
                        let _ = waits.await;
                        ran.fetch_add(1, SeqCst);
                        tx.send(()).unwrap();
                    });
                }
                // The tasks now wait, on this worker or elsewhere.
                task::yield_now().await;
                begun.wait();
                for wake in woken {
                    let _ = wake.send(());
                }
                for _ in 0..children {
                    let ran = Arc::clone(&ran);
                    let tx = tx.clone();
                    task::spawn(async move {
                        ran.fetch_add(1, SeqCst);
                        tx.send(()).unwrap();
                    });
                }
                blocked.block();
            });
        }
        for _ in 0..2 * children * blockers {
            rx.recv_timeout(Duration::from_secs(10))
                .unwrap_or_else(|_| panic!("only {} have run", ran.load(SeqCst)));
        }
        for gate in gates {
            gate.open();
        }
    });
}

#[test]
fn tasks_spawned_and_woken_before_blocking_run_on_other_workers() {
    for children in [1, 2, 3, 20, 500] {
        no_task_is_stranded(2, 1, children);
        no_task_is_stranded(4, 1, children);
    }
}

#[test]
fn one_thread_runs_what_all_others_have_left() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for children in [1, 2, 30] {
        no_task_is_stranded(3, 2, children);
        no_task_is_stranded(4, 3, children);
        no_task_is_stranded(cores + 2, cores + 1, children);
    }
}

#[test]
fn tasks_woken_by_a_blocked_task_run_on_other_workers() {
    must_end(|| {
        let runtime = threads(2);
        let (tx, mut rx) = channel::unbounded_channel();
        let echo = runtime.spawn(async move {
            let mut count = 0;
            while let Some(reply) = rx.recv().await {
                let reply: mpsc::Sender<i32> = reply;
                count += 1;
                reply.send(count).unwrap();
            }
        });
        // The message of the blocking task has woken the other.
        let asks = runtime.spawn(async move {
            for n in 1..=50 {
                let (reply, answer) = mpsc::channel();
                tx.send(reply).unwrap();
                assert_eq!(answer.recv().unwrap(), n);
                task::yield_now().await;
            }
        });
        runtime.block_on(asks).unwrap();
        runtime.block_on(echo).unwrap();
    });
}

#[test]
fn timers_fire_while_a_thread_is_blocked() {
    for workers in [2, 4] {
        must_end(move || {
            let runtime = threads(workers);
            let gate = Gate::new();
            let (tx, rx) = mpsc::channel();
            let blocked = gate.passage();
            runtime.spawn(async move {
                // The thread that registered the timer does not fire it.
                task::spawn(async move {
                    time::sleep(Duration::from_millis(20)).await;
                    tx.send(()).unwrap();
                });
                task::yield_now().await;
                blocked.block();
            });
            rx.recv().unwrap();
            gate.open();
        });
    }
}

#[test]
fn timers_fire_while_one_thread_is_blocked_and_another_spins() {
    for is_yielding in [false, true] {
        must_end(move || {
            let runtime = threads(if is_yielding { 2 } else { 3 });
            let gate = Gate::new();
            let is_over = Arc::new(AtomicBool::new(false));
            let blocked = gate.passage();
            let blocking = runtime.spawn(async move { blocked.block() });
            let stop = Arc::clone(&is_over);
            let spinning = runtime.spawn(async move {
                while !stop.load(SeqCst) {
                    if is_yielding {
                        task::yield_now().await;
                    } else {
                        thread::yield_now();
                    }
                }
            });
            let (tx, rx) = mpsc::channel();
            runtime.spawn(async move {
                for n in 0..5 {
                    time::sleep(Duration::from_millis(2)).await;
                    tx.send(n).unwrap();
                }
            });
            assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
            is_over.store(true, SeqCst);
            gate.open();
            runtime.block_on(blocking).unwrap();
            runtime.block_on(spinning).unwrap();
        });
    }
}

/// No worker is idle: the tasks behind the blocking one are taken by the busy worker.
#[test]
fn a_busy_worker_takes_tasks_queued_behind_a_blocked_one() {
    must_end(|| {
        for _ in 0..20 {
            let runtime = threads(2);
            let gate = Gate::new();
            let is_over = Arc::new(AtomicBool::new(false));
            let both = Arc::new(Barrier::new(2));
            let busy = yields_until(&is_over);
            let meets = Arc::clone(&both);
            let busy = runtime.spawn(async move {
                meets.wait();
                busy.await;
            });
            let (tx, rx) = mpsc::channel();
            let blocked = gate.passage();
            let blocking = runtime.spawn(async move {
                both.wait();
                for n in 0..3 {
                    let tx = tx.clone();
                    task::spawn(async move { tx.send(n).unwrap() });
                }
                blocked.block();
            });
            for _ in 0..3 {
                rx.recv().unwrap();
            }
            gate.open();
            is_over.store(true, SeqCst);
            wait(busy);
            wait(blocking);
        }
    });
}

#[test]
fn a_queue_that_stands_still_is_relieved_while_all_threads_have_endless_long_tasks() {
    must_end(|| {
        let runtime = threads(2);
        let is_over = Arc::new(AtomicBool::new(false));
        let long: Vec<_> = (0..6)
            .map(|_| {
                let is_over = Arc::clone(&is_over);
                runtime.spawn(async move {
                    while !is_over.load(SeqCst) {
                        thread::sleep(Duration::from_millis(10));
                        task::yield_now().await;
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for _ in 0..10 {
                let (tx, rx) = mpsc::channel();
                task::spawn(async move { tx.send(()).unwrap() });
                rx.recv().unwrap();
            }
        });
        is_over.store(true, SeqCst);
        long.into_iter().for_each(wait);
    });
}

#[test]
fn threads_that_are_blocked_do_not_keep_those_that_sleep_from_helping() {
    must_end(|| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let runtime = threads(cores + 2);
        let gates: Vec<_> = (0..cores).map(|_| Gate::new()).collect();
        let begun = Arc::new(Barrier::new(cores + 1));
        for gate in gates.iter().map(Gate::passage) {
            let begun = Arc::clone(&begun);
            runtime.spawn(async move {
                begun.wait();
                gate.block();
            });
        }
        begun.wait();
        let spawning = runtime.spawn(async {
            let tasks: Vec<_> = (0..1000)
                .map(|_| {
                    task::spawn(async {
                        thread::sleep(Duration::from_micros(100));
                        thread::current().id()
                    })
                })
                .collect();
            let mut ids = HashSet::new();
            for task in tasks {
                ids.insert(task.await.unwrap());
            }
            ids.len()
        });
        assert!(wait(spawning) >= 2, "no other thread has helped");
        gates.iter().for_each(Gate::open);
    });
}
