//! A runtime whose tasks come from outside, and its end.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use loom::thread;

use super::super::idle::Outcome;
use super::super::worker::{Next, Worker};
use super::{Config, Handle, Running, RuntimeId, Shared, large_model, model, wait};
use crate::park::ThreadParker;
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

/// A worker ends a search while `enqueue` runs in this thread, which stands for the other worker of the runtime: it is
/// awake, or sleeps. What was left to the search has another worker called, or is watched.
fn while_a_search_ends(next: Next, sleeps: bool, enqueue: impl FnOnce(&Handle) -> Outcome) {
    let config = Config::for_model(2, 1, Duration::ZERO);
    let shared = Shared::new(RuntimeId::next(), config, |_| None, None);
    let runtime = Running {
        handle: Handle { shared },
        workers: Vec::new(),
    };
    let idle = &runtime.shared().idle;
    (0..2).for_each(|_| idle.inc_awake());
    let parker = ThreadParker::current();
    if sleeps {
        idle.sleep(1, &parker, None);
    }
    let searching = idle.try_search();
    assert!(searching.is_some());
    let shared = Arc::clone(runtime.shared());
    let searcher = thread::spawn(move || {
        let parker = ThreadParker::current();
        Worker::new(&shared, &shared.slots[0], &parker).finish_search(searching, next);
    });
    let outcome = enqueue(&runtime.handle);
    searcher.join().unwrap();
    let is_watched = runtime.shared().watchdog.was_armed.load(Relaxed);
    let is_called = idle.take_call(&parker).is_some();
    assert!(is_called || is_watched || outcome == Outcome::Unattended);
    runtime.shared().close_slots_from(0);
    runtime.end();
}

/// The worker that ends a search may run code of the user next, a hook or a waker: it leaves to another what was left to
/// its search.
#[test]
fn a_task_that_is_brought_while_a_worker_ends_a_search_is_left_to_another() {
    model(|| {
        while_a_search_ends(Next::Work, true, |handle| {
            drop(handle.spawn(async {}));
            Outcome::Attended
        });
    });
}

/// A worker that queues tasks and sees a search wakes no worker: they are watched when the search ends.
#[test]
fn tasks_that_a_worker_queues_while_another_ends_a_search_are_watched() {
    for next in [Next::Work, Next::Sleep] {
        model(move || {
            while_a_search_ends(next, false, |handle| handle.shared.idle.notify_local(8, 0))
        });
    }
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
                let handle = Handle { shared };
                drop(handle.spawn(async move { drop(second) }));
            }
            drop(first);
        }));
        runtime.end();
        assert_eq!(drops.count(), 2);
    });
}
