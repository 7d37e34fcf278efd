//! Shutdown reaches every task, wherever it was spawned and wherever it is queued.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::{current_thread, must_end, threads};
use futures::executor;
use gate::Gate;
use pointsman::runtime::{Handle, Runtime};
use pointsman::sync::oneshot;
use pointsman::task::{self, JoinHandle, LocalSet};
use pointsman::time;

/// Counts its live clones.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// One of each kind: never woken, always ready, waiting for a timer.
fn endless(count: &Arc<AtomicUsize>) -> Vec<JoinHandle<()>> {
    let [first, second, third] = [(); 3].map(|()| Alive::new(count));
    vec![
        task::spawn(async move {
            let _alive = first;
            pending::<()>().await;
        }),
        task::spawn(async move {
            let _alive = second;
            loop {
                task::yield_now().await;
            }
        }),
        task::spawn(async move {
            let _alive = third;
            time::sleep(Duration::from_secs(1_000)).await;
        }),
    ]
}

fn all_are_cancelled(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
    }
}

#[test]
fn tasks_that_were_spawned_anywhere_are_dropped() {
    must_end(|| {
        for workers in [1, 2, 4] {
            for _ in 0..5 {
                let runtime = threads(workers);
                let count = Arc::new(AtomicUsize::new(0));
                let mut tasks = Vec::new();
                // From the blocking thread, twice: before and after its future was pending.
                tasks.extend(runtime.block_on(async {
                    let mut tasks = endless(&count);
                    task::yield_now().await;
                    tasks.extend(endless(&count));
                    tasks.extend(task::block_in_place(|| endless(&count)));
                    tasks
                }));
                // From another thread.
                let guard = runtime.enter();
                tasks.extend(endless(&count));
                drop(guard);
                // From a task, before and in `block_in_place`, and from blocking work.
                let of_task = Arc::clone(&count);
                let of_job = Arc::clone(&count);
                tasks.extend(runtime.block_on(async move {
                    let spawning = task::spawn(async move {
                        let mut tasks = endless(&of_task);
                        tasks.extend(task::block_in_place(|| endless(&of_task)));
                        tasks
                    });
                    let mut tasks = spawning.await.unwrap();
                    let job = task::spawn_blocking(move || endless(&of_job));
                    tasks.extend(job.await.unwrap());
                    tasks
                }));
                assert_eq!(count.load(SeqCst), 21);
                drop(runtime);
                assert_eq!(count.load(SeqCst), 0);
                all_are_cancelled(tasks);
            }
        }
    });
}

#[test]
fn a_task_in_block_in_place_is_dropped_when_it_returns() {
    must_end(|| {
        for workers in [1, 2] {
            let runtime = threads(workers);
            let count = Arc::new(AtomicUsize::new(0));
            let gate = Gate::new();
            let (inside, is_inside) = mpsc::channel();
            let mut tasks: Vec<_> = (0..20)
                .map(|_| {
                    let (inside, passage) = (inside.clone(), gate.passage());
                    let alive = Alive::new(&count);
                    runtime.spawn(async move {
                        let _alive = alive;
                        task::block_in_place(|| {
                            inside.send(()).unwrap();
                            passage.block();
                        });
                        pending::<()>().await;
                    })
                })
                .collect();
            for _ in 0..20 {
                is_inside.recv().unwrap();
            }
            let guard = runtime.enter();
            let others = endless(&count);
            drop(guard);
            runtime.shutdown_background();
            // The others do not wait for them.
            all_are_cancelled(others);
            assert_eq!(count.load(SeqCst), 20);
            gate.open();
            all_are_cancelled(std::mem::take(&mut tasks));
            assert_eq!(count.load(SeqCst), 0);
        }
    });
}

#[test]
fn block_in_place_may_wait_for_a_cancelled_task() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            let handle = runtime.handle().clone();
            let count = Arc::new(AtomicUsize::new(0));
            // Two threads already wait in `block_in_place` when a third shuts the runtime down.
            let (inside, is_inside) = mpsc::channel();
            let (done, all_done) = mpsc::channel();
            for _ in 0..2 {
                let (inside, done, count) = (inside.clone(), done.clone(), Arc::clone(&count));
                handle.spawn(async move {
                    let tasks = endless(&count);
                    task::block_in_place(|| {
                        inside.send(()).unwrap();
                        all_are_cancelled(tasks);
                    });
                    done.send(()).unwrap();
                });
                is_inside.recv().unwrap();
            }
            handle.block_on(async {
                let tasks = endless(&count);
                task::block_in_place(|| {
                    runtime.shutdown_background();
                    all_are_cancelled(tasks);
                });
            });
            for _ in 0..2 {
                all_done.recv().unwrap();
            }
            assert_eq!(count.load(SeqCst), 0);
        }
    });
}

#[test]
fn a_local_task_is_notified_that_an_awaited_task_was_cancelled() {
    must_end(|| {
        for workers in [1, 2] {
            let runtime = threads(workers);
            let handle = runtime.handle().clone();
            let count = Arc::new(AtomicUsize::new(0));
            let local = LocalSet::new();
            let counts = Arc::clone(&count);
            let waits = local.spawn_local(async move {
                let mut cancelled = 0;
                for task in endless(&counts) {
                    cancelled += usize::from(task.await.unwrap_err().is_cancelled());
                }
                cancelled
            });
            let alive = Alive::new(&count);
            local.spawn_local(async move {
                let _alive = alive;
                pending::<()>().await;
            });
            handle.block_on(local.run_until(async {
                task::yield_now().await;
                runtime.shutdown_background();
                assert_eq!(waits.await.unwrap(), 3);
            }));
            // The set belongs to its thread, not to a runtime.
            assert_eq!(count.load(SeqCst), 1);
            drop(local);
            assert_eq!(count.load(SeqCst), 0);
        }
    });
}

#[test]
fn threads_that_block_on_a_future_hold_up_no_end_and_are_not_ended_by_it() {
    must_end(|| {
        for workers in [1, 2] {
            for in_background in [true, false] {
                let runtime = threads(workers);
                let count = Arc::new(AtomicUsize::new(0));
                let (inside, is_inside) = mpsc::channel();
                let (leave, threads): (Vec<_>, Vec<_>) = (0..16)
                    .map(|n| {
                        let (leave, may_leave) = oneshot::channel();
                        let (handle, inside) = (runtime.handle().clone(), inside.clone());
                        let count = Arc::clone(&count);
                        let thread = thread::spawn(move || {
                            handle.block_on(async move {
                                let tasks = endless(&count);
                                task::yield_now().await;
                                inside.send(()).unwrap();
                                assert_eq!(may_leave.await.unwrap(), n);
                                all_are_cancelled(tasks);
                            });
                        });
                        (leave, thread)
                    })
                    .unzip();
                for _ in 0..16 {
                    is_inside.recv().unwrap();
                }
                match in_background {
                    true => runtime.shutdown_background(),
                    false => {
                        drop(runtime);
                        assert_eq!(count.load(SeqCst), 0);
                    }
                }
                for (n, leave) in leave.into_iter().enumerate() {
                    leave.send(n).unwrap();
                }
                for thread in threads {
                    thread.join().unwrap();
                }
                assert_eq!(count.load(SeqCst), 0);
            }
        }
    });
}

/// Runs a function when a task is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Blocks on a future while a task of the runtime is dropped at its end.
fn blocks_while_it_is_dropped(runtime: Runtime) -> bool {
    let handle = runtime.handle().clone();
    let (tx, rx) = mpsc::channel();
    let on_drop = OnDrop(move || {
        let block = || Handle::block_on(&handle, async {});
        tx.send(catch_unwind(AssertUnwindSafe(block)).is_ok())
            .unwrap();
    });
    let (begun, has_begun) = oneshot::channel();
    runtime.spawn(async move {
        let _on_drop = on_drop;
        begun.send(()).unwrap();
        pending::<()>().await;
    });
    runtime.block_on(has_begun).unwrap();
    drop(runtime);
    rx.recv().unwrap()
}

#[test]
fn a_task_that_is_dropped_at_the_end_may_not_block_on_a_future() {
    must_end(|| {
        for workers in [1, 2] {
            assert!(!blocks_while_it_is_dropped(threads(workers)));
        }
        assert!(blocks_while_it_is_dropped(current_thread()));
    });
}
