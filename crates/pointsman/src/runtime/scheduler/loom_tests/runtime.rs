//! Models of a runtime whose tasks come from other threads, of the end of a search, and of the shutdown.

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
fn an_injected_task_runs() {
    large_model(|| {
        let runtime = Running::new(1);
        assert_eq!(wait(runtime.handle.spawn(async { 7 })), 7);
        runtime.end();
    });
}

#[test]
fn two_tasks_injected_at_once_run() {
    large_model(|| {
        let runtime = Running::new(1);
        let handle = runtime.handle.clone();
        let other = thread::spawn(move || wait(handle.spawn(async { 7 })));
        assert_eq!(wait(runtime.handle.spawn(async { 8 })), 8);
        assert_eq!(other.join().unwrap(), 7);
        runtime.end();
    });
}

/// Does the work of the watchdog, if it was armed.
fn watch(shared: &Shared) {
    if shared.watchdog.was_armed.load(Relaxed) {
        while !shared.inject.is_empty() {
            shared.idle.call_one();
            thread::yield_now();
        }
    }
}

/// A task that is injected while a worker searches is left to that search, even if the worker then falls asleep. As
/// many threads as there are cores poll futures of `block_on`, so a sleeping worker is not woken for a task otherwise.
#[test]
fn a_task_injected_while_a_searcher_falls_asleep_runs() {
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

/// Ends a search while `enqueue` runs on this thread, which stands for the other worker of the runtime: it is awake or
/// sleeps. For a task that was left to the search, another worker is called or the watchdog is armed.
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

/// The worker that ends a search may run user code next, a hook or a waker. So it leaves the task to another worker.
#[test]
fn a_task_injected_while_a_search_ends_is_left_to_another_worker() {
    model(|| {
        while_a_search_ends(Next::Work, true, |handle| {
            drop(handle.spawn(async {}));
            Outcome::Attended
        });
    });
}

/// A worker that queues tasks and sees a search wakes no worker: the tasks are watched when the search ends.
#[test]
fn tasks_queued_locally_while_a_search_ends_are_watched() {
    for next in [Next::Work, Next::Sleep] {
        model(move || {
            while_a_search_ends(next, false, |handle| handle.shared.idle.notify_local(8, 0))
        });
    }
}

#[test]
fn a_task_behind_a_blocked_worker_runs() {
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
fn a_task_woken_by_another_thread_runs() {
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
fn a_runtime_shuts_down_while_a_task_is_injected() {
    large_model(|| {
        let runtime = Running::new(1);
        let drops = Drops::default();
        let witness = drops.witness();
        let handle = runtime.handle.clone();
        let producer = thread::spawn(move || {
            let task = handle.spawn(async move {
                yield_now().await;
                drop(witness);
            });
            // Cancelled or complete.
            let _ = loom::future::block_on(task);
        });
        runtime.shared().begin_shutdown();
        producer.join().unwrap();
        runtime.end();
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn a_runtime_shuts_down_while_a_task_spawns_another() {
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
