//! Work that continues while a worker is in `block_in_place`.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use common::{must_end, threads};
use futures::executor;
use gate::Gate;
use pointsman::runtime::Builder;
use pointsman::sync::oneshot;
use pointsman::task;
use pointsman::time;

#[test]
fn queued_tasks_run_while_the_only_worker_blocks_in_place() {
    must_end(|| {
        let runtime = threads(1);
        let (tx, rx) = mpsc::channel();
        let blocking = runtime.spawn(async move {
            for n in 0..10 {
                let tx = tx.clone();
                task::spawn(async move {
                    time::sleep(Duration::from_millis(1)).await;
                    tx.send(n).unwrap();
                });
            }
            drop(tx);
            task::block_in_place(|| rx.iter().sum::<i32>())
        });
        // Only the runtime's own thread works for it.
        let (done, result) = mpsc::channel();
        runtime.spawn(async move { done.send(blocking.await.unwrap()).unwrap() });
        assert_eq!(result.recv().unwrap(), 45);
    });
}

#[test]
fn injected_tasks_run_while_the_only_worker_blocks_in_place() {
    must_end(|| {
        let runtime = threads(1);
        for _ in 0..20 {
            let gate = Gate::new();
            let blocked = gate.passage();
            let (started, is_started) = mpsc::channel();
            let (leave, may_leave) = oneshot::channel();
            let handle = runtime.handle().clone();
            let (waits, is_waiting) = mpsc::channel();
            let guest = thread::spawn(move || {
                handle.block_on(async move {
                    waits.send(()).unwrap();
                    may_leave.await.unwrap();
                });
            });
            is_waiting.recv().unwrap();
            let blocking = runtime.spawn(async move {
                task::block_in_place(|| {
                    started.send(thread::current().id()).unwrap();
                    blocked.block();
                });
            });
            // A thread in `block_on` sleeps when the other enters `block_in_place`, and leaves then.
            let blocker = is_started.recv().unwrap();
            leave.send(()).unwrap();
            while blocker != guest.thread().id() && !guest.is_finished() {
                thread::yield_now();
            }
            let (tx, rx) = mpsc::channel();
            runtime.spawn(async move {
                time::sleep(Duration::from_millis(1)).await;
                tx.send(()).unwrap();
            });
            rx.recv().unwrap();
            gate.open();
            runtime.block_on(blocking).unwrap();
            guest.join().unwrap();
        }
    });
}

#[test]
fn a_future_may_be_blocked_on_within_block_in_place() {
    must_end(|| {
        for workers in [1, 2] {
            let runtime = threads(workers);
            let nested = |handle: pointsman::runtime::Handle| {
                task::block_in_place(move || {
                    handle.block_on(async {
                        time::sleep(Duration::from_millis(1)).await;
                        task::spawn(async { 3 }).await.unwrap()
                    })
                })
            };
            let handle = runtime.handle().clone();
            let task = runtime.spawn(async move { nested(handle) });
            assert_eq!(runtime.block_on(task).unwrap(), 3);
            let handle = runtime.handle().clone();
            assert_eq!(runtime.block_on(async move { nested(handle) }), 3);
        }
    });
}

#[test]
fn a_wake_up_during_block_in_place_is_not_lost() {
    must_end(|| {
        let runtime = threads(1);
        for _ in 0..20 {
            let (tx, rx) = oneshot::channel();
            let handle = runtime.handle().clone();
            let both = async {
                pointsman::join!(rx, async {
                    task::block_in_place(|| {
                        handle.block_on(async {
                            // This thread is woken here on behalf of the other.
                            task::spawn_blocking(move || tx.send(5).unwrap())
                                .await
                                .unwrap();
                            time::sleep(Duration::from_millis(1)).await;
                        });
                    });
                })
            };
            assert_eq!(runtime.block_on(both).0.unwrap(), 5);
        }
    });
}

#[test]
fn all_threads_may_be_in_block_in_place_at_once() {
    must_end(|| {
        let runtime = threads(2);
        let barrier = Arc::new(Barrier::new(9));
        let tasks: Vec<_> = (0..9)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                runtime.spawn(async move { task::block_in_place(|| barrier.wait().is_leader()) })
            })
            .collect();
        let mut leaders = 0;
        for task in tasks {
            leaders += usize::from(runtime.block_on(task).unwrap());
        }
        assert_eq!(leaders, 1);
    });
}

#[test]
fn a_task_that_has_entered_another_runtime_leaves_its_own_to_others() {
    must_end(|| {
        let (runtime, other) = (threads(1), threads(1));
        let entered = other.handle().clone();
        let (tx, rx) = mpsc::channel();
        let blocked = runtime.spawn(async move {
            let _entered = entered.enter();
            task::block_in_place(|| rx.recv())
        });
        let sending = runtime.spawn(async move { tx.send(7) });
        assert_eq!(executor::block_on(blocked).unwrap(), Ok(7));
        executor::block_on(sending).unwrap().unwrap();
    });
}

#[test]
fn a_substitute_worker_takes_no_thread_from_blocking_work() {
    must_end(|| {
        for (workers, most) in [(1, 1), (2, 1), (2, 2), (4, 4)] {
            let runtime = Builder::new_multi_thread()
                .worker_threads(workers)
                .max_blocking_threads(most)
                .build()
                .unwrap();
            for _ in 0..10 {
                let all = Arc::new(Barrier::new(workers));
                let tasks: Vec<_> = (0..workers)
                    .map(|_| {
                        let all = Arc::clone(&all);
                        runtime.spawn(async move {
                            task::block_in_place(|| all.wait());
                            let child = task::spawn(async {});
                            task::block_in_place(|| executor::block_on(child)).unwrap();
                        })
                    })
                    .collect();
                for task in tasks {
                    executor::block_on(task).unwrap();
                }
                let job = runtime.spawn_blocking(|| 1);
                assert_eq!(executor::block_on(job).unwrap(), 1);
            }
        }
    });
}

#[test]
fn tasks_of_a_new_runtime_may_meet_in_place() {
    must_end(|| {
        for _ in 0..200 {
            let runtime = threads(4);
            let all = Arc::new(Barrier::new(4));
            runtime.block_on(async {
                let tasks: Vec<_> = (0..4)
                    .map(|_| {
                        let all = Arc::clone(&all);
                        task::spawn(async move {
                            task::block_in_place(|| all.wait());
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
            });
        }
    });
}
