//! Tasks that are always ready, or spawn without end, do not starve others.

mod common;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use common::{current_thread, must_end, threads};
use pointsman::runtime::Runtime;
use pointsman::sync::{mpsc as channel, oneshot};
use pointsman::task;
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

fn yields_until(is_over: &Arc<AtomicBool>) -> impl Future<Output = ()> + Send + use<> {
    let is_over = Arc::clone(is_over);
    async move {
        while !is_over.load(SeqCst) {
            task::yield_now().await;
        }
    }
}

#[test]
fn tasks_that_yield_forever_starve_no_task() {
    each(|runtime| {
        let is_over = Arc::new(AtomicBool::new(false));
        let busy: Vec<_> = (0..9)
            .map(|_| runtime.spawn(yields_until(&is_over)))
            .collect();
        let handle = runtime.handle().clone();
        runtime.block_on(async {
            // A timer.
            time::sleep(Duration::from_millis(3)).await;
            // The future of `block_on`.
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
            // A wakeup from another thread, and blocking work.
            assert_eq!(task::spawn_blocking(|| 8).await.unwrap(), 8);
        });
        is_over.store(true, SeqCst);
        for task in busy {
            runtime.block_on(task).unwrap();
        }
    });
}

/// The captured `alive` shows that the task still exists.
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
fn a_timer_created_after_long_work_is_not_early() {
    each(|runtime| {
        let test = async {
            // The runtime's cached time is outdated by now.
            thread::sleep(Duration::from_millis(40));
            let start = Instant::now();
            time::sleep(Duration::from_millis(50)).await;
            start.elapsed()
        };
        let task = runtime.spawn(test);
        assert!(runtime.block_on(task).unwrap() >= Duration::from_millis(50));
    });
}
