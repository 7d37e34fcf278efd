//! Models of timers and the holder of the driver.

use std::sync::Arc;

use super::{Running, large_model, model, wait};
use crate::time;

fn with_time(workers: usize) -> Running {
    Running::with_time(workers, |shared| Some(time::Driver::of_model(shared)))
}

#[test]
fn a_timer_registered_while_the_last_worker_falls_asleep_fires() {
    model(|| {
        let runtime = with_time(1);
        let time = Arc::clone(runtime.shared().time().unwrap());
        loom::future::block_on(time.wait_for_one_that_is_due());
        drop(time);
        runtime.end();
    });
}

#[test]
fn a_timer_registered_by_a_task_fires() {
    large_model(|| {
        let runtime = with_time(1);
        let time = Arc::clone(runtime.shared().time().unwrap());
        wait(
            runtime
                .handle
                .spawn(async move { time.wait_for_one_that_is_due().await }),
        );
        runtime.end();
    });
}

/// The task blocks until the timer fires: if its worker held the driver, the other worker must take it.
#[test]
fn a_blocked_holder_is_replaced() {
    large_model(|| {
        let runtime = with_time(2);
        let (tx, rx) = crate::sync::oneshot::channel::<()>();
        let blocked = runtime
            .handle
            .spawn(async move { loom::future::block_on(rx).unwrap() });
        let time = Arc::clone(runtime.shared().time().unwrap());
        loom::future::block_on(time.wait_for_one_that_is_due());
        tx.send(()).unwrap();
        wait(blocked);
        drop(time);
        runtime.end();
    });
}

#[test]
fn the_holder_of_the_only_slot_fires_timers() {
    model(|| {
        let runtime = with_time(0);
        let time = Arc::clone(runtime.shared().time().unwrap());
        let (tx, rx) = crate::sync::oneshot::channel();
        let other = loom::thread::spawn(move || {
            loom::future::block_on(time.wait_for_one_that_is_due());
            tx.send(()).unwrap();
        });
        super::block_on(runtime.shared(), rx).unwrap();
        other.join().unwrap();
        runtime.end();
    });
}
