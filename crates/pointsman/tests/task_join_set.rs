//! `JoinSet`.

mod common;

use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::must_end;
use futures::FutureExt;
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::oneshot;
use pointsman::task::{self, JoinSet, LocalSet};
use pointsman::time;

fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(Builder::new_current_thread().enable_all().build().unwrap());
        for threads in [1, 3] {
            let mut builder = Builder::new_multi_thread();
            test(
                builder
                    .worker_threads(threads)
                    .enable_all()
                    .build()
                    .unwrap(),
            );
        }
    });
}

#[test]
fn all_results_are_returned_in_any_order_of_completion() {
    each(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            assert!(set.is_empty());
            assert!(set.join_next().await.is_none());
            assert!(set.try_join_next().is_none());
            for n in 0..300u64 {
                set.spawn(async move {
                    match n % 3 {
                        0 => {}
                        1 => task::yield_now().await,
                        _ => time::sleep(Duration::from_micros(n)).await,
                    }
                    n
                });
            }
            assert_eq!(set.len(), 300);
            let mut seen = Vec::new();
            while let Some(result) = set.join_next().await {
                seen.push(result.unwrap());
                assert_eq!(set.len(), 300 - seen.len());
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..300).collect::<Vec<_>>());
        });
    });
}

#[test]
fn results_are_returned_in_the_order_of_completion() {
    each(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let mut starts = Vec::new();
            for n in 0..20 {
                let (tx, rx) = oneshot::channel::<()>();
                starts.push(tx);
                set.spawn(async move {
                    rx.await.unwrap();
                    n
                });
            }
            for (n, start) in starts.into_iter().enumerate().rev() {
                start.send(()).unwrap();
                assert_eq!(set.join_next().await.unwrap().unwrap(), n);
            }
        });
    });
}

#[test]
fn a_set_is_used_for_ever() {
    each(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for n in 0..2_000 {
                set.spawn(async move { n });
                if n % 7 < 5 {
                    assert!(set.join_next().await.unwrap().is_ok());
                }
            }
            let left = set.len();
            assert_eq!(set.join_all().await.len(), left);
        });
    });
}

#[test]
fn each_result_has_the_number_of_its_task() {
    each(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let good = set.spawn(async { 1 }).id();
            let (number, output) = set.join_next_with_id().await.unwrap().unwrap();
            assert_eq!((number, output), (good, 1));
            let bad = set.spawn(async { panic!("thrown") }).id();
            let error = set.join_next_with_id().await.unwrap().unwrap_err();
            assert!(error.is_panic());
            assert_eq!(error.id(), bad);
            let aborted = set.spawn(pending());
            aborted.abort();
            let error = set.join_next_with_id().await.unwrap().unwrap_err();
            assert!(error.is_cancelled());
            assert_eq!(error.id(), aborted.id());
            let last = set.spawn(async { 2 });
            let (number, output) = loop {
                // Complete, and known to the set a moment later.
                if let Some(result) = set.try_join_next_with_id() {
                    break result.unwrap();
                }
                task::yield_now().await;
            };
            assert_eq!((number, output), (last.id(), 2));
            assert!(set.try_join_next_with_id().is_none());
        });
    });
}

#[test]
fn a_wait_that_is_dropped_takes_nothing() {
    each(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let (tx, rx) = oneshot::channel();
            set.spawn(async move { rx.await.unwrap() });
            for _ in 0..5 {
                assert!(set.join_next().now_or_never().is_none());
            }
            tx.send(4).unwrap();
            assert_eq!(set.join_next().await.unwrap().unwrap(), 4);
        });
    });
}

#[test]
fn a_set_that_is_dropped_aborts_its_tasks() {
    each(|runtime| {
        let held = Arc::new(());
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for _ in 0..20 {
                let held = Arc::clone(&held);
                set.spawn(async move {
                    let _held = held;
                    pending::<()>().await;
                });
            }
            task::yield_now().await;
            drop(set);
            while Arc::strong_count(&held) > 1 {
                task::yield_now().await;
            }
        });
    });
}

#[test]
fn tasks_that_were_let_go_run_on() {
    each(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let (tx, rx) = oneshot::channel::<()>();
            let (done, is_done) = oneshot::channel();
            set.spawn(async move {
                rx.await.unwrap();
                done.send(5).unwrap();
            });
            set.detach_all();
            assert!(set.is_empty());
            assert!(set.join_next().await.is_none());
            // Its slot is reused by another task, which is not mistaken for it.
            set.spawn(pending());
            tx.send(()).unwrap();
            assert_eq!(is_done.await.unwrap(), 5);
            for _ in 0..5 {
                assert!(set.try_join_next().is_none());
                task::yield_now().await;
            }
            drop(set);
        });
    });
}

#[test]
fn all_are_aborted_and_their_ends_can_be_awaited() {
    each(|runtime| {
        runtime.block_on(async {
            let dropped = Arc::new(AtomicUsize::new(0));
            struct OnDrop(Arc<AtomicUsize>);
            impl Drop for OnDrop {
                fn drop(&mut self) {
                    self.0.fetch_add(1, SeqCst);
                }
            }
            let mut set = JoinSet::new();
            for _ in 0..10 {
                let value = OnDrop(Arc::clone(&dropped));
                set.spawn(async move {
                    let _value = value;
                    pending::<()>().await;
                });
            }
            set.abort_all();
            for _ in 0..10 {
                assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
            }
            assert_eq!(dropped.load(SeqCst), 10);
            for _ in 0..10 {
                let value = OnDrop(Arc::clone(&dropped));
                set.spawn(async move {
                    let _value = value;
                    pending::<()>().await;
                });
            }
            set.shutdown().await;
            assert!(set.is_empty());
            assert_eq!(dropped.load(SeqCst), 20);
        });
    });
}

#[test]
fn one_that_fails_ends_the_wait_for_all() {
    each(|runtime| {
        let held = Arc::new(());
        let in_task = Arc::clone(&held);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                let mut set = JoinSet::new();
                set.spawn(async move {
                    let _held = in_task;
                    pending::<()>().await;
                });
                set.spawn(async { panic!("thrown") });
                set.join_all().await
            })
        }));
        assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"thrown"));
        runtime.block_on(async {
            while Arc::strong_count(&held) > 1 {
                task::yield_now().await;
            }
        });
    });
}

#[test]
fn tasks_can_be_spawned_from_any_thread() {
    each(|runtime| {
        let handle = runtime.handle().clone();
        let local = LocalSet::new();
        let mut sum = local.block_on(&runtime, async {
            let mut set = JoinSet::new();
            set.spawn(async { 1 });
            set.spawn_on(async { 10 }, &handle);
            set.spawn_blocking(|| 100);
            set.spawn_blocking_on(|| 1_000, &handle);
            set.spawn_local(async { *std::rc::Rc::new(10_000) });
            set.join_all().await.into_iter().sum::<i32>()
        });
        let mut set = JoinSet::new();
        set.spawn_local_on(async { *std::rc::Rc::new(100_000) }, &local);
        set.spawn_on(async { 1_000_000 }, &handle);
        sum += local
            .block_on(&runtime, set.join_all())
            .into_iter()
            .sum::<i32>();
        assert_eq!(sum, 1_111_111);
    });
}

#[test]
fn a_set_is_collected_from_futures() {
    each(|runtime| {
        runtime.block_on(async {
            let mut set: JoinSet<_> = (0..10).map(|n| async move { n }).collect();
            set.extend((10..20).map(|n| async move { n }));
            let mut all = set.join_all().await;
            all.sort_unstable();
            assert_eq!(all, (0..20).collect::<Vec<_>>());
        });
    });
}

#[test]
fn a_set_outlives_the_runtime_of_its_tasks() {
    each(|runtime| {
        let mut set = JoinSet::new();
        for n in 0..10 {
            set.spawn_on(
                async move {
                    if n % 2 == 0 {
                        pending::<()>().await;
                    }
                    n
                },
                runtime.handle(),
            );
        }
        drop(runtime);
        let mut count = 0;
        while let Some(result) = futures::executor::block_on(set.join_next()) {
            assert!(result.is_ok_and(|n| n % 2 == 1) || count < 10);
            count += 1;
        }
        assert_eq!(count, 10);
    });
}

#[test]
fn results_completed_while_taking_are_not_lost() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(3)
            .build()
            .unwrap();
        for _ in 0..100 {
            let mut set = JoinSet::new();
            for n in 0..20 {
                set.spawn_on(async move { n }, runtime.handle());
            }
            let mut sum = 0;
            // On a thread that does not belong to the runtime.
            while let Some(result) = futures::executor::block_on(set.join_next()) {
                sum += result.unwrap();
            }
            assert_eq!(sum, (0..20).sum());
        }
    });
}

#[test]
fn taking_results_that_are_ready_lets_others_run() {
    must_end(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut set: JoinSet<_> = (0..1_000).map(|n| async move { n }).collect();
            // All are complete.
            while !set.is_empty() && set.try_join_next().is_none() {
                task::yield_now().await;
            }
            let mut polls = 0;
            let mut taken = 0;
            poll_fn(|cx| {
                polls += 1;
                loop {
                    match set.poll_join_next(cx) {
                        Poll::Ready(Some(_)) => taken += 1,
                        Poll::Ready(None) => return Poll::Ready(()),
                        Poll::Pending => return Poll::Pending,
                    }
                }
            })
            .await;
            assert_eq!(taken, 999);
            assert!(polls > 5, "{polls}");
        });
    });
}

#[test]
fn a_set_may_be_sent_to_another_thread() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let mut set = JoinSet::new();
        set.spawn_on(async { 1 }, runtime.handle());
        let sum = thread::spawn(move || futures::executor::block_on(set.join_all()));
        assert_eq!(sum.join().unwrap(), [1]);
    });
}
