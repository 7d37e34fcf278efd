//! A thread in `block_on` of a multi-thread runtime polls only its own future, regardless of the tasks.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::collections::HashSet;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::{current_thread, must_end, threads};
use futures::executor;
use gate::Gate;
use pointsman::runtime::{Handle, Runtime};
use pointsman::sync::oneshot;
use pointsman::{task, time};

fn for_each_number_of_workers(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        for workers in [1, 2, 4] {
            test(threads(workers));
        }
    });
}

/// Occupies every worker until the gate is open.
fn block_all_workers(runtime: &Runtime, workers: usize, gate: &Gate) {
    let (tx, rx) = mpsc::channel();
    for _ in 0..workers {
        let (tx, passage) = (tx.clone(), gate.passage());
        runtime.spawn(async move {
            tx.send(()).unwrap();
            passage.block();
        });
    }
    for _ in 0..workers {
        rx.recv().unwrap();
    }
}

// --- which futures it polls ---

#[test]
fn a_task_may_block_until_the_future_of_block_on_continues() {
    for_each_number_of_workers(|runtime| {
        for yields in 0..50 {
            runtime.block_on(async {
                let (tx, rx) = mpsc::channel();
                let task = task::spawn(async move { rx.recv().unwrap() });
                for _ in 0..=yields % 5 {
                    task::yield_now().await;
                }
                tx.send(yields).unwrap();
                assert_eq!(task.await.unwrap(), yields);
            });
        }
    });
}

#[test]
fn several_tasks_may_block_until_the_future_continues() {
    must_end(|| {
        let runtime = threads(4);
        for _ in 0..20 {
            runtime.block_on(async {
                let (senders, tasks): (Vec<_>, Vec<_>) = (0..3)
                    .map(|_| {
                        let (tx, rx) = mpsc::channel();
                        (tx, task::spawn(async move { rx.recv().unwrap() }))
                    })
                    .unzip();
                time::sleep(Duration::from_millis(1)).await;
                for (n, tx) in senders.into_iter().enumerate() {
                    tx.send(n).unwrap();
                }
                for (n, task) in tasks.into_iter().enumerate() {
                    assert_eq!(task.await.unwrap(), n);
                }
            });
        }
    });
}

#[test]
fn a_thread_that_blocks_through_a_handle_polls_its_future_only_too() {
    for_each_number_of_workers(|runtime| {
        let handle = runtime.handle().clone();
        let outside = thread::spawn(move || {
            for n in 0..50 {
                handle.block_on(async {
                    let (tx, rx) = mpsc::channel();
                    let task = task::spawn(async move { rx.recv().unwrap() });
                    task::yield_now().await;
                    tx.send(n).unwrap();
                    assert_eq!(task.await.unwrap(), n);
                });
            }
        });
        outside.join().unwrap();
    });
}

#[test]
// Holding the lock over an await is what this tests.
#[allow(clippy::await_holding_lock)]
fn a_lock_of_the_standard_library_may_be_held_over_an_await() {
    for_each_number_of_workers(|runtime| {
        for _ in 0..20 {
            let value = Mutex::new(0);
            let value: &'static Mutex<_> = Box::leak(Box::new(value));
            runtime.block_on(async {
                let mut guard = value.lock().unwrap();
                let tasks = [(); 8].map(|()| {
                    task::spawn(async move {
                        *value.lock().unwrap() += 1;
                    })
                });
                for _ in 0..3 {
                    task::yield_now().await;
                }
                *guard += 100;
                drop(guard);
                for task in tasks {
                    task.await.unwrap();
                }
            });
            assert_eq!(*value.lock().unwrap(), 108);
        }
    });
}

#[test]
fn tasks_never_run_in_the_thread_that_blocks() {
    for_each_number_of_workers(|runtime| {
        let main = thread::current().id();
        runtime.block_on(async {
            let mut ids = HashSet::new();
            for _ in 0..20 {
                let tasks: Vec<_> = (0..50)
                    .map(|_| {
                        task::spawn(async {
                            task::yield_now().await;
                            thread::current().id()
                        })
                    })
                    .collect();
                task::yield_now().await;
                for task in tasks {
                    ids.insert(task.await.unwrap());
                }
            }
            assert!(!ids.contains(&main));
        });
    });
}

#[test]
fn a_task_never_sees_the_runtime_that_the_blocking_thread_has_entered() {
    for_each_number_of_workers(|runtime| {
        let other = current_thread();
        let own = runtime.handle().clone();
        runtime.block_on(async {
            let guard = other.enter();
            let tasks: Vec<_> = (0..200)
                .map(|_| {
                    own.spawn(async {
                        let first = Handle::current().id();
                        task::yield_now().await;
                        (first, Handle::current().id())
                    })
                })
                .collect();
            for _ in 0..5 {
                task::yield_now().await;
                assert_eq!(Handle::current().id(), other.handle().id());
            }
            for task in tasks {
                assert_eq!(task.await.unwrap(), (own.id(), own.id()));
            }
            drop(guard);
            assert_eq!(Handle::current().id(), own.id());
        });
    });
}

// --- when it polls ---

fn woken_from_outside() -> impl Future<Output = u32> {
    let (tx, rx) = oneshot::channel();
    let outside = thread::spawn(move || tx.send(7).unwrap());
    async move {
        let value = rx.await.unwrap();
        outside.join().unwrap();
        value
    }
}

#[test]
fn the_future_is_polled_while_all_workers_are_blocked() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            let gate = Gate::new();
            block_all_workers(&runtime, workers, &gate);
            runtime.block_on(async {
                for _ in 0..1_000 {
                    task::yield_now().await;
                }
                assert_eq!(woken_from_outside().await, 7);
                assert_eq!(task::spawn_blocking(|| 8).await.unwrap(), 8);
            });
            gate.open();
        }
    });
}

#[test]
fn the_future_is_polled_while_all_workers_are_busy() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            let is_over = Arc::new(AtomicBool::new(false));
            for n in 0..200 {
                let is_over = Arc::clone(&is_over);
                runtime.spawn(async move {
                    while !is_over.load(SeqCst) {
                        if n % 50 == 0 {
                            thread::yield_now();
                        }
                        task::yield_now().await;
                    }
                });
            }
            runtime.block_on(async {
                for _ in 0..100 {
                    task::yield_now().await;
                }
                assert_eq!(woken_from_outside().await, 7);
                time::sleep(Duration::from_millis(2)).await;
            });
            is_over.store(true, SeqCst);
        }
    });
}

// --- tasks that it spawns ---

#[test]
fn tasks_spawned_while_the_only_worker_is_blocked_run_later() {
    must_end(|| {
        let runtime = threads(1);
        for _ in 0..20 {
            let gate = Gate::new();
            block_all_workers(&runtime, 1, &gate);
            runtime.block_on(async {
                let tasks: Vec<_> = (0..100).map(|n| task::spawn(async move { n })).collect();
                task::yield_now().await;
                gate.open();
                for (n, task) in tasks.into_iter().enumerate() {
                    assert_eq!(task.await.unwrap(), n);
                }
            });
        }
    });
}

#[test]
fn spawned_tasks_keep_running_after_the_thread_has_left() {
    for_each_number_of_workers(|runtime| {
        let handle = runtime.handle().clone();
        let ran = Arc::new(AtomicUsize::new(0));
        let spawners: Vec<_> = (0..16)
            .map(|_| {
                let (handle, ran) = (handle.clone(), Arc::clone(&ran));
                thread::spawn(move || {
                    for _ in 0..50 {
                        let ran = Arc::clone(&ran);
                        handle.block_on(async {
                            task::spawn(async move {
                                task::yield_now().await;
                                ran.fetch_add(1, SeqCst);
                            });
                        });
                    }
                })
            })
            .collect();
        for spawner in spawners {
            spawner.join().unwrap();
        }
        while ran.load(SeqCst) < 16 * 50 {
            thread::yield_now();
        }
    });
}

#[test]
fn many_tasks_that_are_spawned_at_once_all_run() {
    for_each_number_of_workers(|runtime| {
        let sum = runtime.block_on(async {
            let tasks: Vec<_> = (0..10_000u64)
                .map(|n| task::spawn(async move { n }))
                .collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 49_995_000);
    });
}

// --- many blocked threads ---

#[test]
fn a_hundred_threads_that_wait_keep_no_task_waiting() {
    for_each_number_of_workers(|runtime| {
        let (leave, mut may_leave) = pointsman::sync::watch::channel(false);
        may_leave.mark_unchanged();
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                let (handle, mut may_leave) = (runtime.handle().clone(), may_leave.clone());
                thread::spawn(move || handle.block_on(async { may_leave.changed().await.unwrap() }))
            })
            .collect();
        for n in 0..100 {
            let task = runtime.spawn(async move {
                time::sleep(Duration::from_micros(100)).await;
                n
            });
            assert_eq!(executor::block_on(task).unwrap(), n);
        }
        leave.send(true).unwrap();
        for thread in waiting {
            thread.join().unwrap();
        }
    });
}

// --- current-thread runtimes ---

#[test]
fn of_a_runtime_without_workers_another_thread_takes_over_when_the_one_that_runs_tasks_leaves() {
    must_end(|| {
        for _ in 0..50 {
            let runtime = Arc::new(current_thread());
            let mut ends = Vec::new();
            let mut blocked = Vec::new();
            for _ in 0..4 {
                let (tx, rx) = oneshot::channel::<()>();
                let runtime = Arc::clone(&runtime);
                let thread = thread::spawn(move || runtime.block_on(rx).unwrap());
                ends.push((thread.thread().id(), tx));
                blocked.push(thread);
            }
            runtime.spawn(pending::<()>());
            let mut left = HashSet::new();
            while !ends.is_empty() {
                let task = runtime.spawn(async {
                    time::sleep(Duration::from_micros(50)).await;
                    thread::current().id()
                });
                let runs = executor::block_on(task).unwrap();
                assert!(!left.contains(&runs), "it has left");
                let (id, end) = match ends.iter().position(|(id, _)| *id == runs) {
                    Some(position) => ends.swap_remove(position),
                    None => panic!("a task ran in a thread that does not block"),
                };
                end.send(()).unwrap();
                // The first task is dropped before the next is spawned.
                let position = blocked.iter().position(|thread| thread.thread().id() == id);
                blocked.swap_remove(position.unwrap()).join().unwrap();
                left.insert(id);
            }
        }
    });
}
