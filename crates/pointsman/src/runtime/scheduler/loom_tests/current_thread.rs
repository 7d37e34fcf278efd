//! Models of the only slot of a current-thread runtime, which passes between threads in `block_on`.

use std::sync::Arc;

use loom::thread;

use super::{Running, block_on, large_model, model};
use crate::task::yield_now;

#[test]
fn a_thread_in_block_on_runs_tasks_and_is_woken() {
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
fn a_released_slot_goes_to_a_waiting_thread() {
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
fn a_thread_that_declines_the_slot_passes_it_on() {
    model(|| {
        let runtime = Running::new(0);
        let shared = runtime.shared();
        // This thread holds the slot; two others wait for it or are about to.
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
fn a_runtime_shuts_down_while_a_thread_holds_the_slot() {
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
fn a_runtime_shuts_down_while_a_thread_waits_for_the_slot() {
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
