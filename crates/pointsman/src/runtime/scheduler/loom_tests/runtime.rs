//! A runtime whose tasks come from outside, and its end.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use loom::thread;

use super::{Running, Shared, large_model, model, wait};
use crate::task::test_util::Drops;
use crate::task::yield_now;

#[test]
fn a_task_that_is_brought_from_outside_is_not_slept_on() {
    large_model(|| {
        let runtime = Running::new(1);
        assert_eq!(wait(runtime.handle.spawn(async { 7 })), 7);
        runtime.end();
    });
}

#[test]
fn two_that_are_brought_at_once_are_not_slept_on() {
    large_model(|| {
        let runtime = Running::new(1);
        let handle = runtime.handle.clone();
        let other = thread::spawn(move || wait(handle.spawn(async { 7 })));
        assert_eq!(wait(runtime.handle.spawn(async { 8 })), 8);
        assert_eq!(other.join().unwrap(), 7);
        runtime.end();
    });
}

/// Does the work of the watchdog's ticks, if it was armed.
fn watch(shared: &Shared) {
    if shared.watchdog.was_armed.load(Relaxed) {
        while !shared.inject.is_empty() {
            shared.idle.call_one();
            thread::yield_now();
        }
    }
}

/// A task that is enqueued while a worker searches is left to that search, even if the worker goes to sleep after it. As
/// many threads as there are cores poll futures of `block_on`, so a sleeping worker is not woken for a task otherwise.
#[test]
fn a_task_that_is_enqueued_while_a_worker_goes_to_sleep_after_a_search_is_run() {
    model(|| {
        let runtime = Running::new(1);
        let idle = &runtime.shared().idle;
        (0..idle.cores()).for_each(|_| idle.inc_others());
        let task = runtime.handle.spawn(async { 7 });
        watch(runtime.shared());
        assert_eq!(wait(task), 7);
        runtime.end();
    });
}

#[test]
fn a_task_behind_one_that_blocks_is_run_by_another_worker() {
    large_model(|| {
        let runtime = Running::new(2);
        let (tx, rx) = crate::sync::oneshot::channel();
        let blocked = runtime
            .handle
            .spawn(async move { loom::future::block_on(rx).unwrap() });
        runtime.handle.spawn(async move { tx.send(7).unwrap() });
        assert_eq!(wait(blocked), 7);
        runtime.end();
    });
}

#[test]
fn a_task_is_woken_from_outside() {
    large_model(|| {
        let runtime = Running::new(1);
        let (tx, rx) = crate::sync::oneshot::channel();
        let task = runtime.handle.spawn(async move { rx.await.unwrap() });
        tx.send(7).unwrap();
        assert_eq!(wait(task), 7);
        runtime.end();
    });
}

#[test]
fn a_runtime_ends_while_a_task_is_brought() {
    large_model(|| {
        let runtime = Running::new(1);
        let drops = Drops::default();
        let witness = drops.witness();
        let handle = runtime.handle.clone();
        let bringing = thread::spawn(move || {
            let task = handle.spawn(async move {
                yield_now().await;
                drop(witness);
            });
            // It is ended in any case.
            let _ = loom::future::block_on(task);
        });
        runtime.shared().begin_shutdown();
        bringing.join().unwrap();
        runtime.end();
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn a_runtime_ends_while_a_task_spawns_another() {
    large_model(|| {
        let runtime = Running::new(1);
        let drops = Drops::default();
        let (first, second) = (drops.witness(), drops.witness());
        let shared = Arc::downgrade(runtime.shared());
        drop(runtime.handle.spawn(async move {
            if let Some(shared) = shared.upgrade() {
                let handle = super::Handle { shared };
                drop(handle.spawn(async move { drop(second) }));
            }
            drop(first);
        }));
        runtime.end();
        assert_eq!(drops.count(), 2);
    });
}
