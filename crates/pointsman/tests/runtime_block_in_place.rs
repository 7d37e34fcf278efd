//! However many threads are in `block_in_place` and `block_on`, all workers of the runtime stay available.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, JoinHandle as Thread};
use std::time::Duration;

use common::{must_end, threads, wait};
use futures::executor;
use gate::Gate;
use pointsman::runtime::{Handle, Runtime};
use pointsman::sync::oneshot;
use pointsman::task::{self, JoinHandle};
use pointsman::time;

/// Threads in `block_on`, until they are released.
struct Waiting {
    leave: Vec<oneshot::Sender<()>>,
    threads: Vec<Thread<()>>,
}

impl Waiting {
    fn new(handle: &Handle, count: usize) -> Self {
        let (inside, is_inside) = mpsc::channel();
        let (leave, threads) = (0..count)
            .map(|_| {
                let (leave, may_leave) = oneshot::channel::<()>();
                let (handle, inside) = (handle.clone(), inside.clone());
                let thread = thread::spawn(move || {
                    handle.block_on(async move {
                        // Pending once, so that the signal is not from the first poll.
                        time::sleep(Duration::from_millis(1)).await;
                        inside.send(()).unwrap();
                        let _ = may_leave.await;
                    });
                });
                is_inside.recv().unwrap();
                (leave, thread)
            })
            .unzip();
        Self { leave, threads }
    }

    fn end(self) {
        drop(self.leave);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

/// `count` tasks that are all in `block_in_place` until the gate is open.
fn block_in_place(runtime: &Runtime, count: usize, gate: &Gate) -> Vec<JoinHandle<()>> {
    let (tx, rx) = mpsc::channel();
    let tasks = (0..count)
        .map(|_| {
            let (tx, passage) = (tx.clone(), gate.passage());
            runtime.spawn(async move {
                task::block_in_place(|| {
                    tx.send(()).unwrap();
                    passage.block();
                });
            })
        })
        .collect();
    for _ in 0..count {
        rx.recv().unwrap();
    }
    tasks
}

/// Checks that the workers run tasks, wake them and fire timers.
fn check_workers(runtime: &Runtime) {
    let tasks: Vec<_> = (0..50)
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
}

// --- the number of threads ---

#[test]
fn threads_in_block_on_take_no_place_from_one_that_steps_in_for_a_worker() {
    must_end(|| {
        for waiting in [0, 1, 15, 16, 17, 40] {
            let runtime = threads(1);
            let waiting = Waiting::new(runtime.handle(), waiting);
            let (inside, is_inside) = mpsc::channel();
            let (tx, rx) = mpsc::channel();
            let blocked = runtime.spawn(async move {
                task::block_in_place(|| {
                    inside.send(()).unwrap();
                    rx.recv().unwrap()
                })
            });
            is_inside.recv().unwrap();
            runtime.spawn(async move { tx.send(5).unwrap() });
            assert_eq!(wait(blocked), 5);
            waiting.end();
        }
    });
}

#[test]
fn both_workers_and_sixteen_other_threads_may_block() {
    must_end(|| {
        let runtime = threads(2);
        let waiting = Waiting::new(runtime.handle(), 16);
        let gate = Gate::new();
        let blocked = block_in_place(&runtime, 2, &gate);
        check_workers(&runtime);
        gate.open();
        blocked.into_iter().for_each(wait);
        waiting.end();
        check_workers(&runtime);
    });
}

#[test]
fn any_number_of_tasks_may_meet_at_a_barrier() {
    must_end(|| {
        for count in [2, 16, 17, 20, 100] {
            let runtime = threads(2);
            for _ in 0..3 {
                let barrier = Arc::new(Barrier::new(count));
                let tasks: Vec<_> = (0..count)
                    .map(|_| {
                        let barrier = Arc::clone(&barrier);
                        runtime.spawn(
                            async move { task::block_in_place(|| barrier.wait().is_leader()) },
                        )
                    })
                    .collect();
                let leaders = tasks.into_iter().map(wait).filter(|&is| is).count();
                assert_eq!(leaders, 1);
            }
            check_workers(&runtime);
        }
    });
}

#[test]
fn all_of_sixteen_workers_may_wait_in_place_for_a_task_that_sleeps() {
    must_end(|| {
        let runtime = threads(16);
        for _ in 0..5 {
            let tasks: Vec<_> = (0..16)
                .map(|n| {
                    runtime.spawn(async move {
                        let (question, asked) = oneshot::channel();
                        let (answer, answered) = oneshot::channel();
                        task::spawn(async move {
                            let n: i32 = asked.await.unwrap();
                            time::sleep(Duration::from_millis(1)).await;
                            answer.send(n + 1).unwrap();
                        });
                        task::block_in_place(|| {
                            Handle::current().block_on(async move {
                                question.send(n).unwrap();
                                answered.await.unwrap()
                            })
                        })
                    })
                })
                .collect();
            for (n, task) in tasks.into_iter().enumerate() {
                assert_eq!(wait(task), n as i32 + 1);
            }
        }
    });
}

#[test]
fn a_thread_that_is_back_from_blocking_works_on() {
    must_end(|| {
        let runtime = threads(2);
        for _ in 0..20 {
            let gate = Gate::new();
            let blocked = block_in_place(&runtime, 8, &gate);
            gate.open();
            check_workers(&runtime);
            blocked.into_iter().for_each(wait);
        }
    });
}

// --- block_on and block_in_place, nested ---

#[test]
fn the_future_of_block_on_may_release_block_in_place() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            for _ in 0..10 {
                runtime.block_on(async {
                    let (tx, rx) = mpsc::channel();
                    let (inside, is_inside) = oneshot::channel();
                    let task = task::spawn(async move {
                        task::block_in_place(|| {
                            inside.send(()).unwrap();
                            rx.recv().unwrap()
                        })
                    });
                    time::sleep(Duration::from_millis(1)).await;
                    is_inside.await.unwrap();
                    tx.send(5).unwrap();
                    assert_eq!(task.await.unwrap(), 5);
                });
            }
        }
    });
}

#[test]
fn block_in_place_and_block_on_may_be_nested() {
    fn nested(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        task::block_in_place(|| {
            Handle::current().block_on(async move {
                time::sleep(Duration::from_micros(100)).await;
                let deeper = task::block_in_place(|| nested(depth - 1));
                task::spawn(async move { deeper + 1 }).await.unwrap()
            })
        })
    }
    must_end(|| {
        for workers in [1, 2] {
            let runtime = threads(workers);
            let tasks: Vec<_> = (0..10)
                .map(|_| runtime.spawn(async { nested(5) }))
                .collect();
            for task in tasks {
                assert_eq!(wait(task), 5);
            }
            assert_eq!(runtime.block_on(async { nested(5) }), 5);
            check_workers(&runtime);
        }
    });
}

#[test]
fn block_in_place_within_block_in_place_changes_nothing() {
    must_end(|| {
        let runtime = threads(1);
        let gate = Gate::new();
        let passage = gate.passage();
        let (inside, is_inside) = mpsc::channel();
        let task = runtime.spawn(async move {
            let value = task::block_in_place(|| {
                let value = task::block_in_place(|| {
                    inside.send(()).unwrap();
                    passage.block();
                    3
                });
                // Still outside after the inner call.
                let (tx, rx) = mpsc::channel();
                task::spawn(async move { tx.send(value).unwrap() });
                rx.recv().unwrap()
            });
            task::yield_now().await;
            value
        });
        is_inside.recv().unwrap();
        check_workers(&runtime);
        gate.open();
        assert_eq!(wait(task), 3);
    });
}

#[test]
fn the_future_that_is_blocked_on_may_block_in_place_and_go_on() {
    must_end(|| {
        for workers in [1, 2] {
            let runtime = threads(workers);
            runtime.block_on(async {
                for n in 0..20 {
                    let (tx, rx) = mpsc::channel();
                    task::spawn(async move { tx.send(n).unwrap() });
                    assert_eq!(task::block_in_place(|| rx.recv().unwrap()), n);
                    assert_eq!(task::spawn(async move { n }).await.unwrap(), n);
                    task::yield_now().await;
                }
                time::sleep(Duration::from_millis(1)).await;
                assert_eq!(task::spawn_blocking(|| 4).await.unwrap(), 4);
            });
        }
    });
}

// --- panics ---

#[test]
fn a_panic_in_place_costs_the_runtime_no_worker() {
    must_end(|| {
        for workers in [1, 2] {
            let runtime = threads(workers);
            for _ in 0..20 {
                let task = runtime.spawn(async {
                    task::block_in_place(|| panic!("in place"));
                });
                assert!(executor::block_on(task).unwrap_err().is_panic());
                let blocks = || task::block_in_place(|| panic!("in place"));
                let main = || runtime.block_on(async { blocks() });
                catch_unwind(AssertUnwindSafe(main)).unwrap_err();
            }
            check_workers(&runtime);
            let gate = Gate::new();
            let blocked = block_in_place(&runtime, 2 * workers, &gate);
            check_workers(&runtime);
            gate.open();
            blocked.into_iter().for_each(wait);
        }
    });
}

#[test]
fn a_panic_after_block_in_place_costs_the_runtime_no_worker() {
    must_end(|| {
        for workers in [1, 2] {
            let runtime = threads(workers);
            let tasks: Vec<_> = (0..50)
                .map(|n| {
                    runtime.spawn(async move {
                        task::block_in_place(thread::yield_now);
                        if n % 2 == 0 {
                            task::yield_now().await;
                        }
                        panic!("after it");
                    })
                })
                .collect();
            for task in tasks {
                let task: JoinHandle<()> = task;
                assert!(executor::block_on(task).unwrap_err().is_panic());
            }
            check_workers(&runtime);
        }
    });
}

// --- shutdown ---

#[test]
fn a_runtime_shut_down_in_block_in_place_cancels_the_awaited_task() {
    must_end(|| {
        for workers in [1, 2, 4] {
            for by_main in [true, false] {
                let runtime = threads(workers);
                let handle = runtime.handle().clone();
                let ends = async move {
                    let waited_for = task::spawn(pending::<()>());
                    task::block_in_place(|| {
                        runtime.shutdown_background();
                        executor::block_on(waited_for)
                    })
                };
                let error = match by_main {
                    true => handle.block_on(ends),
                    false => {
                        let (tx, rx) = mpsc::channel();
                        handle.spawn(async move { tx.send(ends.await).unwrap() });
                        rx.recv().unwrap()
                    }
                };
                assert!(error.unwrap_err().is_cancelled());
            }
        }
    });
}
