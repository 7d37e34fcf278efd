//! A current-thread runtime polls the future of `block_on` again after all ready tasks, or after `event_interval`
//! polls, however long the tasks take.

mod common;

use std::cell::Cell;
use std::future::poll_fn;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

use common::must_end;
use pointsman::runtime::{Builder, LocalOptions, LocalRuntime, Runtime};
use pointsman::sync::{mpsc, oneshot};
use pointsman::task::{self, LocalSet};

fn current_thread(event_interval: u32) -> Runtime {
    let mut builder = Builder::new_current_thread();
    let builder = builder.enable_all().event_interval(event_interval);
    builder.build().unwrap()
}

/// Takes some milliseconds in a debug build, far more than the scheduler's quantum.
fn computes(steps: u64) {
    for n in 0..steps {
        black_box(n);
    }
}

/// Runs `test` with short and with long tasks, in runtimes that are new and in one that has measured its tasks.
fn for_each_length(event_interval: u32, test: impl Fn(&Runtime, u64) + Send + 'static) {
    must_end(move || {
        for steps in [0, 20_000] {
            let runtime = current_thread(event_interval);
            for _ in 0..5 {
                test(&runtime, steps);
                test(&current_thread(event_interval), steps);
            }
        }
    });
}

fn spawn_counting(tasks: usize, steps: u64) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..tasks {
        let count = Arc::clone(&count);
        task::spawn(async move {
            computes(steps);
            count.fetch_add(1, SeqCst);
        });
    }
    count
}

#[test]
fn all_tasks_that_are_ready_run_before_yield_now_returns() {
    for tasks in [1, 2, 6, 20, 61] {
        for_each_length(61, move |runtime, steps| {
            let ran = runtime.block_on(async {
                let count = spawn_counting(tasks, steps);
                task::yield_now().await;
                count.load(SeqCst)
            });
            assert_eq!(ran, tasks);
        });
    }
}

#[test]
fn of_more_tasks_as_many_run_as_event_interval_says() {
    for (event_interval, tasks) in [(1, 5), (7, 20), (61, 100), (200, 150)] {
        for_each_length(event_interval, move |runtime, steps| {
            let ran = runtime.block_on(async {
                let count = spawn_counting(tasks, steps);
                task::yield_now().await;
                let first = count.load(SeqCst);
                task::yield_now().await;
                let second = count.load(SeqCst);
                // The next attempt begins without tasks.
                while count.load(SeqCst) < tasks {
                    task::yield_now().await;
                }
                (first, second)
            });
            let in_turns = |turns| tasks.min(turns * event_interval as usize);
            assert_eq!(ran, (in_turns(1), in_turns(2)));
        });
    }
}

#[test]
fn a_future_that_the_first_of_the_tasks_wakes_waits_for_the_others() {
    for_each_length(61, |runtime, steps| {
        let ran = runtime.block_on(async {
            let (tx, rx) = oneshot::channel();
            task::spawn(async move { tx.send(()).unwrap() });
            let count = spawn_counting(20, steps);
            rx.await.unwrap();
            count.load(SeqCst)
        });
        assert_eq!(ran, 20);
    });
}

/// Tasks that a task spawns or wakes are ready too.
#[test]
fn tasks_that_spawn_and_wake_others_run_before_the_future() {
    for_each_length(61, |runtime, steps| {
        let ran = runtime.block_on(async {
            let (tx, mut rx) = mpsc::channel(1);
            let (ends, mut ended) = mpsc::unbounded_channel();
            task::spawn(async move {
                while let Some(number) = rx.recv().await {
                    computes(steps);
                    let ends = ends.clone();
                    task::spawn(async move { ends.send(number).unwrap() });
                }
            });
            task::spawn(async move {
                for number in 0..10 {
                    tx.send(number).await.unwrap();
                }
            });
            task::yield_now().await;
            std::iter::from_fn(|| ended.try_recv().ok()).count()
        });
        assert_eq!(ran, 10);
    });
}

#[test]
fn tasks_that_yield_let_the_future_have_its_turn_after_each_round() {
    for_each_length(61, |runtime, steps| {
        let is_over = Arc::new(AtomicBool::new(false));
        let counts = runtime.block_on(async {
            let polls: Vec<_> = (0..3)
                .map(|_| {
                    let (polls, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&is_over));
                    let its_polls = Arc::clone(&polls);
                    task::spawn(async move {
                        while !is_over.load(SeqCst) {
                            computes(steps);
                            its_polls.fetch_add(1, SeqCst);
                            task::yield_now().await;
                        }
                    });
                    polls
                })
                .collect();
            for _ in 0..10 {
                task::yield_now().await;
            }
            let counts: Vec<_> = polls.iter().map(|polls| polls.load(SeqCst)).collect();
            is_over.store(true, SeqCst);
            counts
        });
        assert_eq!(counts, [10; 3]);
    });
}

/// This holds however often the other tasks have yielded before.
#[test]
fn a_task_that_is_spawned_beside_tasks_that_yield_runs_before_the_future_is_polled() {
    for_each_length(61, |runtime, steps| {
        let is_over = Arc::new(AtomicBool::new(false));
        let ran = runtime.block_on(async {
            let (tx, rx) = oneshot::channel();
            let mut tx = Some(tx);
            for n in 0..3 {
                let (is_over, tx) = (Arc::clone(&is_over), tx.take_if(|_| n == 1));
                task::spawn(async move {
                    for _ in 0..10 {
                        task::yield_now().await;
                    }
                    if let Some(tx) = tx {
                        tx.send(spawn_counting(1, steps)).unwrap();
                    }
                    while !is_over.load(SeqCst) {
                        task::yield_now().await;
                    }
                });
            }
            let count = rx.await.unwrap();
            let ran = count.load(SeqCst);
            is_over.store(true, SeqCst);
            task::yield_now().await;
            ran
        });
        assert_eq!(ran, 1);
    });
}

/// Tasks that wake themselves and do not yield.
#[test]
fn tasks_that_are_always_ready_keep_the_future_waiting_for_event_interval_polls() {
    for_each_length(61, |runtime, steps| {
        let (polls, is_over) = (Arc::new(AtomicUsize::new(0)), AtomicBool::new(false));
        let is_over = Arc::new(is_over);
        let ran = runtime.block_on(async {
            let tasks = [(); 3].map(|()| {
                let (polls, is_over) = (Arc::clone(&polls), Arc::clone(&is_over));
                task::spawn(poll_fn(move |cx| {
                    if is_over.load(SeqCst) {
                        return Poll::Ready(());
                    }
                    polls.fetch_add(1, SeqCst);
                    computes(steps);
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }))
            });
            task::yield_now().await;
            let ran = polls.load(SeqCst);
            is_over.store(true, SeqCst);
            for task in tasks {
                task.await.unwrap();
            }
            ran
        });
        assert_eq!(ran, 61);
    });
}

#[test]
fn local_tasks_that_are_ready_run_before_yield_now_returns() {
    async fn ran_of(tasks: usize, steps: u64) -> usize {
        let count = Rc::new(Cell::new(0));
        for _ in 0..tasks {
            let count = Rc::clone(&count);
            task::spawn_local(async move {
                computes(steps);
                count.set(count.get() + 1);
            });
        }
        task::yield_now().await;
        count.get()
    }
    for_each_length(61, |runtime, steps| {
        for (tasks, expected) in [(1, 1), (20, 20), (100, 61)] {
            assert_eq!(
                LocalSet::new().block_on(runtime, ran_of(tasks, steps)),
                expected
            );
            let in_a_future = async { LocalSet::new().run_until(ran_of(tasks, steps)).await };
            assert_eq!(runtime.block_on(in_a_future), expected);
            assert_eq!(
                LocalRuntime::new().unwrap().block_on(ran_of(tasks, steps)),
                expected
            );
        }
        let mut builder = Builder::new_current_thread();
        let runtime = builder
            .event_interval(7)
            .build_local(LocalOptions::default());
        assert_eq!(runtime.unwrap().block_on(ran_of(20, steps)), 7);
    });
}

/// Both kinds of tasks of a [`LocalRuntime`] run.
#[test]
fn tasks_of_a_local_runtime_that_may_be_sent_run_before_yield_now_returns() {
    must_end(|| {
        let runtime = LocalRuntime::new().unwrap();
        let (sent, local) = runtime.block_on(async {
            let sent = spawn_counting(20, 20_000);
            let local = Rc::new(Cell::new(0));
            for _ in 0..20 {
                let local = Rc::clone(&local);
                task::spawn_local(async move { local.set(local.get() + 1) });
            }
            task::yield_now().await;
            (sent.load(SeqCst), local.get())
        });
        assert_eq!((sent, local), (20, 20));
    });
}

/// The first poll comes before all tasks, including tasks that another thread has spawned.
#[test]
fn the_first_poll_precedes_all_tasks() {
    for_each_length(61, |runtime, steps| {
        let entered = runtime.enter();
        let count = spawn_counting(20, steps);
        drop(entered);
        let ran = runtime.block_on(async {
            let before = count.load(SeqCst);
            task::yield_now().await;
            (before, count.load(SeqCst))
        });
        assert_eq!(ran, (0, 20));
    });
}

/// A thread in `Handle::block_on` runs no task, and its future does not wait for tasks.
#[test]
fn a_future_that_is_blocked_on_through_a_handle_waits_for_no_task() {
    must_end(|| {
        let runtime = current_thread(61);
        let handle = runtime.handle().clone();
        let ran = handle.block_on(async {
            let count = spawn_counting(6, 0);
            task::yield_now().await;
            count.load(SeqCst)
        });
        assert_eq!(ran, 0);
    });
}
