//! Threads in `block_on` among blocking tasks and other such threads.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use common::{current_thread, must_end, threads, wait};
use gate::Gate;
use pointsman::runtime::Runtime;
use pointsman::sync::oneshot;
use pointsman::task;
use pointsman::task::JoinHandle;
use pointsman::time;

/// Runs on both kinds of runtimes.
fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(current_thread());
        test(threads(1));
        test(threads(2));
        test(threads(4));
    });
}

#[test]
fn a_future_that_blocks_the_calling_thread_strands_no_task() {
    for workers in [1, 2, 4] {
        must_end(move || {
            let runtime = threads(workers);
            runtime.block_on(async {
                for children in [1, 2, 40] {
                    let (tx, rx) = mpsc::channel();
                    for n in 0..children {
                        let tx = tx.clone();
                        task::spawn(async move {
                            task::yield_now().await;
                            tx.send(n).unwrap();
                        });
                    }
                    for _ in 0..children {
                        rx.recv().unwrap();
                    }
                    task::yield_now().await;
                }
            });
        });
    }
}

#[test]
fn a_future_that_is_blocked_on_waits_for_no_task_of_others_that_blocks() {
    must_end(|| {
        let runtime = threads(2);
        for _ in 0..100 {
            let gate = Gate::new();
            let blocked = gate.passage();
            let blocking = runtime.spawn(async move { blocked.block() });
            runtime.block_on(async {
                for _ in 0..3 {
                    task::yield_now().await;
                }
            });
            gate.open();
            wait(blocking);
        }
    });
}

#[test]
fn a_thread_in_block_on_runs_only_tasks_it_has_queued() {
    must_end(|| {
        let runtime = threads(1);
        let main = thread::current().id();
        for _ in 0..100 {
            let (tx, rx) = oneshot::channel();
            let others: Vec<_> = (0..8)
                .map(|_| {
                    runtime.spawn(async {
                        task::yield_now().await;
                        thread::current().id()
                    })
                })
                .collect();
            runtime.spawn(async move { tx.send(()).unwrap() });
            runtime.block_on(rx).unwrap();
            for other in others {
                assert_ne!(wait(other), main);
            }
        }
    });
}

#[test]
fn a_thread_that_blocks_on_a_future_fires_timers_and_leaves_the_tasks_to_workers() {
    must_end(|| {
        let runtime = threads(1);
        let main = thread::current().id();
        for _ in 0..20 {
            let (has_begun, begun) = oneshot::channel();
            let task = runtime.spawn(async move {
                has_begun.send(()).unwrap();
                time::sleep(Duration::from_millis(1)).await;
                thread::current().id()
            });
            futures::executor::block_on(begun).unwrap();
            // Only this thread can fire the timer.
            let gate = Gate::new();
            let blocked = gate.passage();
            let (has_begun, begun) = oneshot::channel();
            let blocking = runtime.spawn(async move {
                has_begun.send(()).unwrap();
                blocked.block();
            });
            runtime.block_on(async move {
                begun.await.unwrap();
                time::sleep(Duration::from_millis(2)).await;
            });
            gate.open();
            wait(blocking);
            assert_ne!(wait(task), main);
        }
    });
}

#[test]
fn a_thread_that_sleeps_in_block_on_fires_timers_when_the_last_worker_is_called() {
    must_end(|| {
        let runtime = threads(1);
        for _ in 0..20 {
            let gate = Gate::new();
            let blocked = gate.passage();
            let handle = runtime.handle().clone();
            let calling = thread::spawn(move || {
                // All other threads sleep by then.
                thread::sleep(Duration::from_millis(2));
                handle.spawn(async move { blocked.block() })
            });
            runtime.block_on(async { time::sleep(Duration::from_millis(10)).await });
            gate.open();
            wait(calling.join().unwrap());
        }
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_thread_in_block_on_is_not_woken_for_tasks_it_does_not_run() {
    fn sleeps() -> u32 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let mut words = status.split_whitespace();
        words.find(|&word| word == "voluntary_ctxt_switches:");
        words.next().unwrap().parse().unwrap()
    }
    must_end(|| {
        let runtime = threads(1);
        let (has_begun, begun) = oneshot::channel();
        let task = runtime.spawn(async move {
            has_begun.send(()).unwrap();
            thread::sleep(Duration::from_millis(500));
        });
        futures::executor::block_on(begun).unwrap();
        let before = sleeps();
        runtime.block_on(task).unwrap();
        assert!(sleeps() - before < 100);
    });
}

#[test]
fn a_task_is_left_to_the_thread_unparked_for_it() {
    each(|runtime| {
        thread::current().unpark();
        runtime.block_on(async { time::sleep(Duration::from_millis(5)).await });
        thread::park();
        thread::current().unpark();
        let (tx, rx) = oneshot::channel();
        let sender = thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            tx.send(()).unwrap();
        });
        rx.blocking_recv().unwrap();
        thread::park();
        sender.join().unwrap();
    });
}

fn forty_threads(runtime: Runtime) {
    let runtime = Arc::new(runtime);
    let blocked: Vec<_> = (0..40)
        .map(|n: u64| {
            let runtime = Arc::clone(&runtime);
            thread::spawn(move || {
                for round in 0..20 {
                    let sum = runtime.block_on(async {
                        let task: JoinHandle<u64> = task::spawn(async move {
                            task::yield_now().await;
                            n + round
                        });
                        if n % 4 == 0 {
                            time::sleep(Duration::from_micros(100)).await;
                        }
                        task.await.unwrap()
                    });
                    assert_eq!(sum, n + round);
                }
            })
        })
        .collect();
    for thread in blocked {
        thread.join().unwrap();
    }
}

#[test]
fn more_threads_block_on_futures_than_have_a_place() {
    each(forty_threads);
}

/// A thread that searches for tasks finds its own future ready, and leaves without the newly queued task.
#[test]
fn a_task_queued_as_a_thread_leaves_is_run() {
    must_end(|| {
        let runtime = threads(1);
        for n in 0..1_000u64 {
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
            for _ in 0..n % 64 * 8 {
                std::hint::spin_loop();
            }
            leave.send(()).unwrap();
            let task = runtime.spawn(async move { n });
            assert_eq!(wait(task), n);
            guest.join().unwrap();
        }
    });
}

/// The driving thread leaves at the moment when the next thread's future becomes ready.
#[test]
fn one_thread_drives_while_any_thread_waits() {
    must_end(|| {
        for _ in 0..30 {
            let runtime = Arc::new(current_thread());
            let (done, all_done) = oneshot::channel();
            let mut done = Some(done);
            let mut waiting = Vec::new();
            let mut wakes = Vec::new();
            for _ in 0..6 {
                let (tx, rx) = oneshot::channel::<()>();
                wakes.push(tx);
                let runtime = Arc::clone(&runtime);
                waiting.push(thread::spawn(move || runtime.block_on(rx).unwrap()));
            }
            let driver = Arc::clone(&runtime);
            let last = thread::spawn(move || driver.block_on(all_done).unwrap());
            runtime.spawn(async move {
                for wake in wakes {
                    wake.send(()).unwrap();
                    task::yield_now().await;
                }
                time::sleep(Duration::from_micros(200)).await;
                done.take().unwrap().send(()).unwrap();
            });
            for thread in waiting {
                thread.join().unwrap();
            }
            last.join().unwrap();
        }
    });
}
