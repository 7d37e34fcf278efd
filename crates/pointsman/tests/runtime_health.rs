//! No task, timer or job is kept waiting by another that misbehaves.

mod common;

use std::collections::HashSet;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::must_end;
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::{mpsc as channel, oneshot};
use pointsman::task::{self, JoinHandle};
use pointsman::time;

fn threads(count: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count).enable_all().build().unwrap()
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Both kinds.
fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(current_thread());
        test(threads(1));
        test(threads(2));
        test(threads(4));
    });
}

/// Waits for a task without running any.
fn wait<T>(task: JoinHandle<T>) -> T {
    futures::executor::block_on(task).unwrap()
}

/// A thread-blocking wait that somebody else ends.
#[derive(Clone)]
struct Gate {
    opened: Arc<Mutex<mpsc::Receiver<()>>>,
    opens: mpsc::Sender<()>,
}

impl Gate {
    fn new() -> Self {
        let (tx, rx) = mpsc::channel();
        Self {
            opened: Arc::new(Mutex::new(rx)),
            opens: tx,
        }
    }

    fn block(&self) {
        self.opened.lock().unwrap().recv().unwrap();
    }

    fn open(&self) {
        self.opens.send(()).unwrap();
    }
}

#[test]
fn a_task_that_blocks_its_thread_keeps_no_other_waiting() {
    for workers in [2, 4] {
        must_end(move || {
            let runtime = threads(workers);
            let gate = Gate::new();
            let blocked = gate.clone();
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

/// What a task spawns, or wakes, just before it blocks its thread until all that has run.
fn nobody_is_stranded(workers: usize, blockers: usize, children: usize) {
    must_end(move || {
        let runtime = threads(workers);
        let ran = Arc::new(AtomicUsize::new(0));
        let begun = Arc::new(Barrier::new(blockers));
        let (tx, rx) = mpsc::channel();
        let mut gates = Vec::new();
        for _ in 0..blockers {
            let gate = Gate::new();
            let blocked = gate.clone();
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
                // They wait now, here or elsewhere.
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
fn what_a_task_has_spawned_and_woken_before_it_blocks_is_run_by_others() {
    for children in [1, 2, 3, 20, 500] {
        nobody_is_stranded(2, 1, children);
        nobody_is_stranded(4, 1, children);
    }
}

#[test]
fn one_thread_is_enough_for_what_all_others_have_left() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for children in [1, 2, 30] {
        nobody_is_stranded(3, 2, children);
        nobody_is_stranded(4, 3, children);
        nobody_is_stranded(cores + 2, cores + 1, children);
    }
}

#[test]
fn what_a_blocked_task_is_woken_for_goes_elsewhere() {
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
        // The task that blocks has woken the other by what it has sent.
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
fn a_future_that_blocks_the_calling_thread_strands_nobody() {
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
fn timers_fire_while_a_thread_is_blocked() {
    for workers in [2, 4] {
        must_end(move || {
            let runtime = threads(workers);
            let gate = Gate::new();
            let (tx, rx) = mpsc::channel();
            let blocked = gate.clone();
            runtime.spawn(async move {
                // Whoever has registered the timer does not come to fire it.
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
            let blocked = gate.clone();
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

fn yields_until(is_over: &Arc<AtomicBool>) -> impl Future<Output = ()> + Send + use<> {
    let is_over = Arc::clone(is_over);
    async move {
        while !is_over.load(SeqCst) {
            task::yield_now().await;
        }
    }
}

#[test]
fn tasks_that_yield_for_ever_starve_nobody() {
    each(|runtime| {
        let is_over = Arc::new(AtomicBool::new(false));
        let busy: Vec<_> = (0..9)
            .map(|_| runtime.spawn(yields_until(&is_over)))
            .collect();
        let handle = runtime.handle().clone();
        runtime.block_on(async {
            // A timer.
            time::sleep(Duration::from_millis(3)).await;
            // The future that is blocked on.
            task::yield_now().await;
            // A task of this thread, and one from another.
            task::spawn(async {}).await.unwrap();
            let (tx, rx) = oneshot::channel();
            let outside = thread::spawn(move || {
                handle.spawn(async move {
                    let _ = tx.send(7);
                });
            });
            assert_eq!(rx.await.unwrap(), 7);
            outside.join().unwrap();
            // A wake-up from another thread, and blocking work.
            assert_eq!(task::spawn_blocking(|| 8).await.unwrap(), 8);
        });
        is_over.store(true, SeqCst);
        for task in busy {
            runtime.block_on(task).unwrap();
        }
    });
}

/// Its captured `alive` says that it is there still.
fn respawns(
    is_over: Arc<AtomicBool>,
    alive: Arc<()>,
) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if !is_over.load(SeqCst) {
            task::spawn(respawns(is_over, Arc::clone(&alive)));
        }
        drop(alive);
    })
}

#[test]
fn tasks_from_outside_run_while_all_threads_have_endless_work() {
    each(|runtime| {
        let is_over = Arc::new(AtomicBool::new(false));
        let alive = Arc::new(());
        for _ in 0..8 {
            runtime.spawn(respawns(Arc::clone(&is_over), Arc::clone(&alive)));
        }
        let handle = runtime.handle().clone();
        let (tx, mut rx) = channel::unbounded_channel();
        let outside = thread::spawn(move || {
            for n in 0..100 {
                let tx = tx.clone();
                handle.spawn(async move {
                    tx.send(n).unwrap();
                });
            }
        });
        let mut count = runtime.block_on(async {
            let mut count = 0;
            while rx.recv().await.is_some() {
                count += 1;
            }
            count
        });
        outside.join().unwrap();
        assert_eq!(std::mem::take(&mut count), 100);
        is_over.store(true, SeqCst);
        runtime.block_on(async {
            while Arc::strong_count(&alive) > 1 {
                task::yield_now().await;
            }
        });
    });
}

#[test]
fn two_tasks_that_wake_each_other_do_not_starve_a_third() {
    each(|runtime| {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut pairs = Vec::new();
        for _ in 0..4 {
            let (there, mut from_here) = channel::channel::<()>(1);
            let (here, mut from_there) = channel::channel::<()>(1);
            let stop = Arc::clone(&is_over);
            pairs.push(runtime.spawn(async move {
                while !stop.load(SeqCst) {
                    there.send(()).await.unwrap();
                    from_there.recv().await.unwrap();
                }
            }));
            pairs.push(runtime.spawn(async move {
                while from_here.recv().await.is_some() {
                    if here.send(()).await.is_err() {
                        break;
                    }
                }
            }));
        }
        let third: Vec<_> = (0..20)
            .map(|n| {
                runtime.spawn(async move {
                    for _ in 0..10 {
                        task::yield_now().await;
                    }
                    n
                })
            })
            .collect();
        for (n, task) in third.into_iter().enumerate() {
            assert_eq!(runtime.block_on(task).unwrap(), n);
        }
        runtime.block_on(async { time::sleep(Duration::from_millis(2)).await });
        is_over.store(true, SeqCst);
        for task in pairs {
            runtime.block_on(task).unwrap();
        }
    });
}

#[test]
fn a_task_whose_channel_is_always_ready_lets_others_run() {
    must_end(|| {
        let runtime = current_thread();
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_over);
        let busy = runtime.spawn(async move {
            let (tx, mut rx) = channel::channel(1);
            while !stop.load(SeqCst) {
                tx.send(1).await.unwrap();
                assert_eq!(rx.recv().await, Some(1));
            }
        });
        runtime.block_on(async {
            for _ in 0..10 {
                task::yield_now().await;
                task::spawn(async {}).await.unwrap();
            }
            time::sleep(Duration::from_millis(1)).await;
        });
        is_over.store(true, SeqCst);
        runtime.block_on(busy).unwrap();
    });
}

#[test]
fn a_timer_that_was_made_after_long_work_is_not_early() {
    each(|runtime| {
        let test = async {
            // What the runtime knows of the time is old by now.
            thread::sleep(Duration::from_millis(40));
            let start = Instant::now();
            time::sleep(Duration::from_millis(50)).await;
            start.elapsed()
        };
        let task = runtime.spawn(test);
        assert!(runtime.block_on(task).unwrap() >= Duration::from_millis(50));
    });
}

/// Neither is idle: what waits behind the one that blocks is taken by the one that is busy.
#[test]
fn a_busy_thread_takes_what_waits_behind_one_that_blocks() {
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
            let blocked = gate.clone();
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
        for gate in gates.clone() {
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

#[test]
fn a_future_that_is_blocked_on_waits_for_no_task_of_others_that_blocks() {
    must_end(|| {
        let runtime = threads(2);
        for _ in 0..100 {
            let gate = Gate::new();
            let blocked = gate.clone();
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
fn a_thread_that_blocks_on_a_future_runs_only_what_it_has_queued_itself() {
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
            // Nobody but this thread can fire the timer.
            let gate = Gate::new();
            let blocked = gate.clone();
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
            let blocked = gate.clone();
            let handle = runtime.handle().clone();
            let calling = thread::spawn(move || {
                // By then all others sleep.
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
fn a_thread_that_sleeps_in_block_on_is_not_woken_for_what_it_does_not_take() {
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

// --- work that blocks ---

#[test]
fn jobs_that_wait_for_each_other_all_run_at_once() {
    each(|runtime| {
        for _ in 0..2 {
            let barrier = Arc::new(Barrier::new(32));
            let jobs: Vec<_> = (0..32)
                .map(|_| {
                    let barrier = Arc::clone(&barrier);
                    runtime.spawn_blocking(move || barrier.wait().is_leader())
                })
                .collect();
            let leaders = runtime.block_on(async {
                let mut leaders = 0;
                for job in jobs {
                    leaders += usize::from(job.await.unwrap());
                }
                leaders
            });
            assert_eq!(leaders, 1);
        }
    });
}

#[test]
fn threads_that_are_slow_to_start_are_not_started_again_and_again() {
    must_end(|| {
        let started = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&started);
        let runtime = Builder::new_current_thread()
            .on_thread_start(move || {
                count.fetch_add(1, SeqCst);
                thread::sleep(Duration::from_millis(50));
            })
            .build()
            .unwrap();
        let (tx, rx) = mpsc::channel();
        let first = runtime.spawn_blocking(move || rx.recv().unwrap());
        let second = runtime.spawn_blocking(move || tx.send(()).unwrap());
        runtime.block_on(first).unwrap();
        runtime.block_on(second).unwrap();
        drop(runtime);
        // One for each job, one that watches, and one that was on its way.
        assert!(started.load(SeqCst) <= 4, "{started:?} threads");
    });
}

#[test]
fn a_short_job_never_waits_behind_one_that_blocks() {
    must_end(|| {
        let runtime = threads(2);
        let mut gates = Vec::new();
        for n in 0..20 {
            let gate = Gate::new();
            let blocked = gate.clone();
            gates.push((gate, runtime.spawn_blocking(move || blocked.block())));
            assert_eq!(
                runtime.block_on(runtime.spawn_blocking(move || n)).unwrap(),
                n
            );
        }
        for (gate, job) in gates {
            gate.open();
            runtime.block_on(job).unwrap();
        }
    });
}

#[test]
fn not_more_jobs_run_at_once_than_were_allowed() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(3)
            .build()
            .unwrap();
        let present = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        // All three places are used, and then some.
        let barrier = Arc::new(Barrier::new(3));
        let jobs: Vec<_> = (0..30)
            .map(|_| {
                let present = Arc::clone(&present);
                let most = Arc::clone(&most);
                let barrier = Arc::clone(&barrier);
                runtime.spawn_blocking(move || {
                    most.fetch_max(present.fetch_add(1, SeqCst) + 1, SeqCst);
                    barrier.wait();
                    present.fetch_sub(1, SeqCst);
                })
            })
            .collect();
        for job in jobs {
            runtime.block_on(job).unwrap();
        }
        assert_eq!(most.load(SeqCst), 3);
        assert!(runtime.metrics().num_blocking_threads() <= 3);
    });
}

#[test]
fn threads_without_work_end_after_a_while_and_others_come() {
    must_end(|| {
        for most in [1, 512] {
            let runtime = Builder::new_multi_thread()
                .worker_threads(1)
                .max_blocking_threads(most)
                .thread_keep_alive(Duration::from_millis(1))
                .build()
                .unwrap();
            for n in 0..20 {
                let job = runtime.spawn_blocking(move || n);
                assert_eq!(runtime.block_on(job).unwrap(), n);
                while runtime.metrics().num_blocking_threads() > 0 {
                    thread::yield_now();
                }
            }
        }
    });
}

/// A job comes just as the only thread for it is about to end.
#[test]
fn a_thread_that_is_kept_for_ever_takes_the_next_job() {
    must_end(|| {
        let mut builder = Builder::new_current_thread();
        builder.thread_keep_alive(Duration::MAX);
        let runtime = builder.max_blocking_threads(1).build().unwrap();
        let metrics = runtime.metrics();
        let first = wait(runtime.spawn_blocking(|| thread::current().id()));
        while metrics.num_idle_blocking_threads() == 0 {
            thread::yield_now();
        }
        let second = wait(runtime.spawn_blocking(|| thread::current().id()));
        assert_eq!(first, second);
    });
}

#[test]
fn no_job_is_forgotten_by_a_thread_that_ends() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .thread_keep_alive(Duration::from_micros(50))
            .build()
            .unwrap();
        for n in 0..2_000u64 {
            let job = runtime.spawn_blocking(move || n);
            assert_eq!(runtime.block_on(job).unwrap(), n);
            let until = Instant::now() + Duration::from_micros(40 + n % 64 * 2);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
    });
}

#[test]
fn what_is_queued_goes_on_while_the_only_thread_runs_what_blocks() {
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
        // Nobody but the runtime's own thread works for it.
        let (done, result) = mpsc::channel();
        runtime.spawn(async move { done.send(blocking.await.unwrap()).unwrap() });
        assert_eq!(result.recv().unwrap(), 45);
    });
}

#[test]
fn what_comes_from_outside_goes_on_while_the_only_thread_runs_what_blocks() {
    must_end(|| {
        let runtime = threads(1);
        for _ in 0..20 {
            let gate = Gate::new();
            let blocked = gate.clone();
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
            // A thread that blocks on a future sleeps when the other steps aside, and leaves then.
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
fn what_a_thread_was_unparked_for_is_left_to_it() {
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
                            // It is this thread that is woken here, for the other of the two.
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
fn all_threads_may_run_what_blocks_at_once() {
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

// --- many threads that block on futures ---

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

/// A thread that looks for work finds its own future ready, and leaves without what has just come.
#[test]
fn a_task_that_comes_as_a_thread_leaves_is_run() {
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

/// Whoever drives leaves, in the moment in which the next one's future gets ready.
#[test]
fn somebody_drives_as_long_as_anybody_waits() {
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

// --- futures that are polled by hand ---

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_task_runs_on_whoever_waits_for_it() {
    must_end(|| {
        let runtime = threads(1);
        let woken = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&woken));
        let gate = Gate::new();
        let opened = gate.clone();
        let mut task = pin!(runtime.spawn_blocking(move || opened.block()));
        let mut cx = Context::from_waker(&waker);
        assert!(task.as_mut().poll(&mut cx).is_pending());
        gate.open();
        while woken.0.load(SeqCst) == 0 {
            thread::yield_now();
        }
        assert!(matches!(task.poll(&mut cx), Poll::Ready(Ok(()))));
        assert_eq!(woken.0.load(SeqCst), 1);
        drop(runtime.spawn(pending::<()>()));
    });
}

#[test]
fn a_callback_that_panics_in_block_on_ends_that_and_nothing_else() {
    must_end(|| {
        for at_park in [true, false] {
            let is_bad = Arc::new(AtomicBool::new(true));
            let panic_once = move || assert!(!is_bad.swap(false, SeqCst), "a callback");
            let mut builder = Builder::new_current_thread();
            match at_park {
                true => builder.on_thread_park(panic_once),
                false => builder.on_thread_unpark(panic_once),
            };
            let runtime = builder.enable_all().build().unwrap();
            let sleep = || async { time::sleep(Duration::from_millis(1)).await };
            let first = || runtime.block_on(sleep());
            catch_unwind(AssertUnwindSafe(first)).unwrap_err();
            let task = runtime.spawn(sleep());
            runtime.block_on(task).unwrap();
        }
    });
}

/// Without its workers the runtime would stand still, and nobody would know why.
#[test]
fn a_callback_that_panics_in_a_worker_ends_the_process() {
    const CHILD: &str = "POINTSMAN_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        let mut builder = Builder::new_multi_thread();
        let bad = || panic!("a callback");
        let runtime = builder.worker_threads(1).on_thread_park(bad).build();
        // Not so long, as the process is ended meanwhile.
        thread::sleep(Duration::from_secs(5));
        drop(runtime.unwrap());
        return;
    }
    must_end(|| {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "a_callback_that_panics_in_a_worker_ends_the_process",
            ])
            .arg("--nocapture")
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(!child.status.success(), "it went on");
        let said = String::from_utf8_lossy(&child.stderr).into_owned();
        assert!(said.contains("worker thread"), "{said}");
    });
}
