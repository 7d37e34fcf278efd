//! Blocking work on its own threads and in `block_in_place`.

mod common;

use std::collections::HashSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use common::{current_thread, must_end, threads};
use futures::executor;
use pointsman::runtime::{Handle, Runtime};
use pointsman::sync::{mpsc as channel, oneshot};
use pointsman::{task, time};

fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(current_thread());
        test(threads(1));
        test(threads(3));
    });
}

#[test]
fn jobs_run_on_other_threads_and_return_results() {
    each(|runtime| {
        runtime.block_on(async {
            let here = thread::current().id();
            for n in 0..200 {
                let job = task::spawn_blocking(move || (n, thread::current().id()));
                let (result, thread) = job.await.unwrap();
                assert_eq!(result, n);
                assert_ne!(thread, here);
            }
            let jobs: Vec<_> = (0..2_000)
                .map(|n| task::spawn_blocking(move || n))
                .collect();
            let mut sum = 0;
            for job in jobs {
                sum += job.await.unwrap();
            }
            assert_eq!(sum, (0..2_000).sum());
        });
    });
}

#[test]
fn jobs_are_submitted_by_many_threads_at_once() {
    each(|runtime| {
        let sum = Arc::new(AtomicUsize::new(0));
        let others: Vec<_> = (0..4)
            .map(|_| {
                let handle = runtime.handle().clone();
                let sum = Arc::clone(&sum);
                thread::spawn(move || {
                    for _ in 0..300 {
                        let sum = Arc::clone(&sum);
                        let job = handle.spawn_blocking(move || sum.fetch_add(1, SeqCst));
                        executor::block_on(job).unwrap();
                    }
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(sum.load(SeqCst), 1_200);
    });
}

#[test]
fn a_job_spawns_tasks_and_jobs_and_blocks_on_futures() {
    each(|runtime| {
        runtime.block_on(async {
            let job = task::spawn_blocking(|| {
                let handle = Handle::current();
                let inner = task::spawn_blocking(|| 1);
                let spawned = task::spawn(async {
                    time::sleep(Duration::from_millis(1)).await;
                    2
                });
                handle.block_on(async { inner.await.unwrap() + spawned.await.unwrap() })
            });
            assert_eq!(job.await.unwrap(), 3);
        });
    });
}

#[test]
fn a_job_talks_to_tasks() {
    each(|runtime| {
        runtime.block_on(async {
            let (to_job, mut from_task) = channel::channel(2);
            let (to_task, mut from_job) = channel::channel(2);
            let job = task::spawn_blocking(move || {
                while let Some(n) = from_task.blocking_recv() {
                    to_task.blocking_send(2 * n).unwrap();
                }
            });
            for n in 0..100 {
                to_job.send(n).await.unwrap();
                assert_eq!(from_job.recv().await, Some(2 * n));
            }
            drop(to_job);
            job.await.unwrap();
        });
    });
}

#[test]
fn a_job_has_no_budget() {
    each(|runtime| {
        runtime.block_on(async {
            task::spawn_blocking(|| {
                let (tx, mut rx) = channel::unbounded_channel();
                for n in 0..1_000 {
                    tx.send(n).unwrap();
                }
                assert!(task::coop::has_budget_remaining());
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                for n in 0..1_000 {
                    assert_eq!(rx.poll_recv(&mut cx), Poll::Ready(Some(n)));
                }
            })
            .await
            .unwrap();
        });
    });
}

#[test]
fn five_hundred_jobs_block_at_once() {
    must_end(|| {
        let runtime = threads(1);
        let barrier = Arc::new(Barrier::new(512));
        let jobs: Vec<_> = (0..512)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                runtime.spawn_blocking(move || barrier.wait().is_leader())
            })
            .collect();
        let mut leaders = 0;
        for job in jobs {
            leaders += usize::from(executor::block_on(job).unwrap());
        }
        assert_eq!(leaders, 1);
        assert_eq!(runtime.metrics().num_blocking_threads(), 512);
        // All threads are taken, and one more job waits.
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let may_go_on = Arc::new(Mutex::new(may_go_on));
        let begun = Arc::new(AtomicUsize::new(0));
        let jobs: Vec<_> = (0..513)
            .map(|_| {
                let may_go_on = Arc::clone(&may_go_on);
                let begun = Arc::clone(&begun);
                runtime.spawn_blocking(move || {
                    begun.fetch_add(1, SeqCst);
                    may_go_on.lock().unwrap().recv().unwrap();
                })
            })
            .collect();
        while begun.load(SeqCst) < 512 {
            thread::yield_now();
        }
        assert_eq!(runtime.metrics().blocking_queue_depth(), 1);
        assert_eq!(begun.load(SeqCst), 512);
        for _ in 0..513 {
            go_on.send(()).unwrap();
        }
        for job in jobs {
            executor::block_on(job).unwrap();
        }
        assert_eq!(runtime.metrics().num_blocking_threads(), 512);
    });
}

#[test]
fn short_jobs_that_keep_a_thread_busy_get_a_second_one() {
    each(|runtime| {
        let threads = Arc::new(Mutex::new(HashSet::new()));
        while threads.lock().unwrap().len() < 2 {
            let jobs: Vec<_> = (0..500)
                .map(|_| {
                    let threads = Arc::clone(&threads);
                    runtime.spawn_blocking(move || {
                        let start = Instant::now();
                        while start.elapsed() < Duration::from_micros(20) {}
                        threads.lock().unwrap().insert(thread::current().id());
                    })
                })
                .collect();
            for job in jobs {
                executor::block_on(job).unwrap();
            }
        }
    });
}

#[test]
fn a_job_may_wait_for_later_jobs() {
    each(|runtime| {
        for _ in 0..20 {
            let (to_first, from_last) = mpsc::channel();
            let first = runtime.spawn_blocking(move || from_last.recv().unwrap());
            for _ in 0..30 {
                drop(runtime.spawn_blocking(|| ()));
            }
            let last = runtime.spawn_blocking(move || to_first.send(7).unwrap());
            assert_eq!(executor::block_on(first).unwrap(), 7);
            executor::block_on(last).unwrap();
        }
    });
}

#[test]
fn a_job_waits_for_jobs_that_it_submits() {
    fn depth(n: u32) -> u32 {
        match n {
            0 => 0,
            _ => executor::block_on(task::spawn_blocking(move || depth(n - 1))).unwrap() + 1,
        }
    }
    each(|runtime| {
        let jobs: Vec<_> = (0..4)
            .map(|_| runtime.spawn_blocking(|| depth(30)))
            .collect();
        for job in jobs {
            assert_eq!(executor::block_on(job).unwrap(), 30);
        }
    });
}

#[test]
fn the_result_of_a_detached_job_is_dropped() {
    each(|runtime| {
        let held = Arc::new(());
        for _ in 0..10 {
            let held = Arc::clone(&held);
            drop(runtime.spawn_blocking(move || held));
        }
        drop(runtime);
        assert_eq!(Arc::strong_count(&held), 1);
    });
}

// --- block_in_place ---

#[test]
fn block_in_place_may_borrow_and_returns_its_result() {
    must_end(|| {
        let runtime = threads(2);
        let mut text = String::from("a");
        runtime.block_on(async {
            let length = task::block_in_place(|| {
                text.push('b');
                text.len()
            });
            assert_eq!(length, 2);
            let task = task::spawn(async {
                let here = thread::current().id();
                task::block_in_place(|| assert_eq!(thread::current().id(), here));
                // Nested.
                task::block_in_place(|| task::block_in_place(|| 3))
            });
            assert_eq!(task.await.unwrap(), 3);
        });
        // Outside of a runtime the closure is just called, also in blocking work.
        assert_eq!(task::block_in_place(|| 4), 4);
        let job = runtime.spawn_blocking(|| task::block_in_place(|| 5));
        assert_eq!(executor::block_on(job).unwrap(), 5);
    });
}

#[test]
fn a_runtime_of_one_thread_cannot_be_blocked_in_place() {
    must_end(|| {
        let runtime = current_thread();
        const TEXT: &str = "can call blocking only when running on the multi-threaded runtime";
        let panic = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async { task::block_in_place(|| ()) });
        }));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&TEXT));
        let task = runtime.spawn(async { task::block_in_place(|| ()) });
        let error = runtime.block_on(task).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&TEXT));
    });
}

#[test]
fn a_panic_in_place_leaves_all_as_it_was() {
    must_end(|| {
        let runtime = threads(1);
        for _ in 0..10 {
            let task = runtime.spawn(async {
                task::block_in_place(|| panic!("in place"));
            });
            let error = runtime.block_on(task).unwrap_err();
            assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"in place"));
            let task = runtime.spawn(async {
                let caught = catch_unwind(|| task::block_in_place(|| panic!("caught")));
                assert!(caught.is_err());
                task::yield_now().await;
                // Tasks still run here: blocking is not allowed.
                catch_unwind(|| Handle::current().block_on(async {})).is_err()
            });
            assert!(runtime.block_on(task).unwrap());
        }
    });
}

#[test]
fn block_in_place_waits_for_tasks_it_has_spawned() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            let tasks: Vec<_> = (0..20)
                .map(|n| {
                    runtime.spawn(async move {
                        let (tx, rx) = mpsc::channel();
                        task::block_in_place(move || {
                            for m in 0..5 {
                                let tx = tx.clone();
                                task::spawn(async move {
                                    task::yield_now().await;
                                    tx.send(m).unwrap();
                                });
                            }
                            drop(tx);
                            rx.iter().sum::<i32>() + n
                        })
                    })
                })
                .collect();
            for (n, task) in tasks.into_iter().enumerate() {
                assert_eq!(runtime.block_on(task).unwrap(), 10 + n as i32);
            }
        }
    });
}

#[test]
fn another_runtime_runs_within_block_in_place() {
    must_end(|| {
        let runtime = threads(1);
        let nested = |id| {
            task::block_in_place(|| {
                let inner = current_thread();
                let result = inner.block_on(async {
                    let spawned = task::spawn(async { Handle::current().id() });
                    time::sleep(Duration::from_millis(1)).await;
                    spawned.await.unwrap()
                });
                assert_eq!(result, inner.handle().id());
                // It may be dropped here, too.
                drop(inner);
            });
            assert_eq!(Handle::current().id(), id);
        };
        let id = runtime.handle().id();
        let task = runtime.spawn(async move { nested(id) });
        runtime.block_on(task).unwrap();
        runtime.block_on(async {
            nested(id);
            // The thread has its worker's seat again.
            task::spawn(async {}).await.unwrap();
        });
    });
}

#[test]
fn the_runtime_ends_while_something_blocks_in_place() {
    must_end(|| {
        let runtime = threads(1);
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let task = runtime.spawn(async move {
            task::block_in_place(|| {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
            });
            std::future::pending::<()>().await;
        });
        has_begun.recv().unwrap();
        let ends = thread::spawn(move || drop(runtime));
        go_on.send(()).unwrap();
        ends.join().unwrap();
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn wakeups_are_handled_while_all_workers_block_in_place() {
    must_end(|| {
        let runtime = threads(2);
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                runtime.spawn(async move {
                    for _ in 0..50 {
                        let (tx, rx) = oneshot::channel();
                        let other = task::spawn(async move { rx.await.unwrap() });
                        task::block_in_place(|| {
                            tx.send(n).unwrap();
                            assert_eq!(executor::block_on(other).unwrap(), n);
                        });
                        task::yield_now().await;
                    }
                })
            })
            .collect();
        for task in tasks {
            executor::block_on(task).unwrap();
        }
    });
}

#[test]
fn a_blocking_function_is_a_future_like_any_other() {
    fn is_send<T: Send + Future>(_: &T) {}
    each(|runtime| {
        let job = runtime.spawn_blocking(|| 1);
        is_send(&job);
        let sum = runtime.block_on(async {
            let (first, second) = pointsman::join!(job, task::spawn_blocking(|| 2));
            first.unwrap() + second.unwrap()
        });
        assert_eq!(sum, 3);
    });
}
