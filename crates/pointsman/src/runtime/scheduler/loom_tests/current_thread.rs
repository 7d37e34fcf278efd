//! The only slot of a runtime of the current thread, which passes from one thread to another.

use std::sync::Arc;

use loom::thread;

use super::{Running, block_on, large_model, model};
use crate::task::yield_now;

#[test]
fn whoever_blocks_on_a_future_runs_tasks_and_is_woken() {
    model(|| {
        let runtime = Running::new(0);
        let handle = runtime.handle.clone();
        let outside = thread::spawn(move || drop(handle.spawn(async {})));
        let (tx, rx) = crate::sync::oneshot::channel();
        let handle = runtime.handle.clone();
        let result = block_on(runtime.shared(), async move {
            handle.spawn(async move { tx.send(7).unwrap() });
            rx.await.unwrap()
        });
        assert_eq!(result, 7);
        outside.join().unwrap();
        runtime.end();
    });
}

#[test]
fn a_slot_that_is_left_goes_to_one_that_waits_for_it() {
    model(|| {
        let runtime = Running::new(0);
        let shared = Arc::clone(runtime.shared());
        let (tx, rx) = crate::sync::oneshot::channel();
        let task = runtime.handle.spawn(rx);
        let other = thread::spawn(move || block_on(&shared, task).unwrap().unwrap());
        block_on(runtime.shared(), async move {
            yield_now().await;
            tx.send(7).unwrap();
        });
        assert_eq!(other.join().unwrap(), 7);
        runtime.end();
    });
}

#[test]
fn one_that_is_offered_the_slot_and_leaves_passes_it_on() {
    model(|| {
        let runtime = Running::new(0);
        let shared = runtime.shared();
        // The slot is held by this thread, and two wait for it or are about to.
        let held = shared.take_only_slot().unwrap();
        let (tx, rx) = crate::sync::oneshot::channel::<()>();
        let on = Arc::clone(shared);
        let leaving = thread::spawn(move || block_on(&on, rx).unwrap());
        let task = runtime.handle.spawn(async { 7 });
        let on = Arc::clone(shared);
        let last = thread::spawn(move || block_on(&on, task).unwrap());
        drop(held);
        tx.send(()).unwrap();
        leaving.join().unwrap();
        assert_eq!(last.join().unwrap(), 7);
        runtime.end();
    });
}

#[test]
fn a_runtime_ends_while_a_thread_has_the_slot() {
    large_model(|| {
        let runtime = Running::new(0);
        let shared = Arc::clone(runtime.shared());
        let task = runtime.handle.spawn(std::future::pending::<()>());
        let other = thread::spawn(move || block_on(&shared, task).unwrap_err());
        runtime.begin_end();
        assert!(other.join().unwrap().is_cancelled());
        runtime.finish_end();
    });
}

#[test]
fn a_runtime_ends_while_a_thread_waits_for_the_slot() {
    large_model(|| {
        let runtime = Running::new(0);
        let held = runtime.shared().take_only_slot().unwrap();
        let shared = Arc::clone(runtime.shared());
        let task = runtime.handle.spawn(std::future::pending::<()>());
        let other = thread::spawn(move || block_on(&shared, task).unwrap_err());
        let shared = Arc::clone(runtime.shared());
        let ending = thread::spawn(move || {
            shared.begin_shutdown();
            shared.finish_shutdown(false);
        });
        drop(held);
        ending.join().unwrap();
        assert!(other.join().unwrap().is_cancelled());
        runtime.end();
    });
}
