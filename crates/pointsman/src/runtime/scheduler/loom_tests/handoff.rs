//! Models of `block_in_place` and of the threads that take over vacant slots.

use std::sync::Arc;

use loom::thread;

use super::{Running, large_model, wait};
use crate::task::test_util::Drops;
use crate::task::yield_now;

#[test]
fn a_substitute_takes_over_a_vacant_slot() {
    large_model(|| {
        let runtime = Running::new(1);
        let (tx, rx) = crate::sync::oneshot::channel();
        let handle = runtime.handle.clone();
        let blocked = runtime.handle.spawn(async move {
            handle
                .shared
                .block_in_place(|| loom::future::block_on(rx).unwrap());
        });
        let other = runtime.handle.spawn(async move { tx.send(()).unwrap() });
        wait(other);
        wait(blocked);
        runtime.end();
    });
}

#[test]
fn tasks_of_a_vacant_slot_run() {
    large_model(|| {
        let runtime = Running::new(1);
        let (tx, rx) = crate::sync::oneshot::channel();
        let handle = runtime.handle.clone();
        let blocked = runtime.handle.spawn(async move {
            // Queued at the slot itself.
            handle.spawn(async move { tx.send(()).unwrap() });
            handle
                .shared
                .block_in_place(|| loom::future::block_on(rx).unwrap());
        });
        wait(blocked);
        runtime.end();
    });
}

#[test]
fn a_sleeping_worker_runs_the_tasks_of_a_vacant_slot() {
    large_model(|| {
        let runtime = Running::new(2);
        let (tx, rx) = crate::sync::oneshot::channel();
        let handle = runtime.handle.clone();
        let blocked = runtime.handle.spawn(async move {
            handle.spawn(async move { tx.send(()).unwrap() });
            handle
                .shared
                .block_in_place(|| loom::future::block_on(rx).unwrap());
        });
        wait(blocked);
        runtime.end();
    });
}

/// Loom reports two threads that push to one queue at once, since `Queue::owner` is an `UnsafeCell`.
#[test]
fn one_thread_takes_a_vacant_slot() {
    large_model(|| {
        let runtime = Running::new(1);
        let handle = runtime.handle.clone();
        let blocked = runtime.handle.spawn(async move {
            handle.shared.block_in_place(|| ());
            drop(handle.spawn(async {}));
        });
        let handle = runtime.handle.clone();
        let other = runtime.handle.spawn(async move {
            drop(handle.spawn(async {}));
        });
        wait(blocked);
        wait(other);
        runtime.end();
    });
}

#[test]
fn a_task_continues_without_its_slot() {
    large_model(|| {
        let runtime = Running::new(1);
        let (tx, rx) = crate::sync::oneshot::channel();
        let handle = runtime.handle.clone();
        let blocked = runtime.handle.spawn(async move {
            handle
                .shared
                .block_in_place(|| loom::future::block_on(rx).unwrap());
            yield_now().await;
            7
        });
        runtime.handle.spawn(async move { tx.send(()).unwrap() });
        assert_eq!(wait(blocked), 7);
        runtime.end();
    });
}

#[test]
fn a_runtime_shuts_down_while_a_slot_is_vacant() {
    large_model(|| {
        let runtime = Running::new(1);
        let drops = Drops::default();
        let (first, second) = (drops.witness(), drops.witness());
        let handle = runtime.handle.clone();
        let (tx, begun) = crate::sync::oneshot::channel();
        drop(runtime.handle.spawn(async move {
            let other = handle.spawn(async move {
                let _second = second;
                std::future::pending::<()>().await;
            });
            drop(first);
            tx.send(()).unwrap();
            // The shutdown cancels the task that is awaited.
            handle
                .shared
                .block_in_place(|| loom::future::block_on(other).unwrap_err());
        }));
        loom::future::block_on(begun).unwrap();
        runtime.end();
        assert_eq!(drops.count(), 2);
    });
}

#[test]
fn a_slot_that_becomes_vacant_during_the_shutdown_is_closed() {
    large_model(|| {
        let runtime = Arc::new(Running::new(1));
        let its_runtime = Arc::clone(&runtime);
        let (tx, ended) = crate::sync::oneshot::channel();
        drop(runtime.handle.spawn(async move {
            let other = its_runtime.handle.spawn(std::future::pending::<()>());
            its_runtime.begin_end();
            its_runtime
                .handle
                .shared
                .block_in_place(|| loom::future::block_on(other).unwrap_err());
            drop(its_runtime);
            tx.send(()).unwrap();
        }));
        loom::future::block_on(ended).unwrap();
        Arc::into_inner(runtime).unwrap().finish_end();
    });
}

#[test]
fn a_task_in_block_in_place_shuts_the_runtime_down() {
    large_model(|| {
        let runtime = Arc::new(Running::new(1));
        let other = runtime.handle.spawn(std::future::pending::<()>());
        let its_runtime = Arc::clone(&runtime);
        let (tx, ended) = crate::sync::oneshot::channel();
        drop(runtime.handle.spawn(async move {
            its_runtime.handle.shared.block_in_place(|| {
                its_runtime.begin_end();
                loom::future::block_on(other).unwrap_err();
            });
            drop(its_runtime);
            tx.send(()).unwrap();
        }));
        loom::future::block_on(ended).unwrap();
        Arc::into_inner(runtime).unwrap().finish_end();
    });
}

#[test]
fn a_runtime_shuts_down_while_a_task_blocks_in_place() {
    large_model(|| {
        let runtime = Running::new(1);
        let shared = Arc::clone(runtime.shared());
        let ending = thread::spawn(move || shared.begin_shutdown());
        let handle = runtime.handle.clone();
        drop(runtime.handle.spawn(async move {
            handle.shared.block_in_place(|| ());
            drop(handle.spawn(async {}));
        }));
        ending.join().unwrap();
        runtime.end();
    });
}
