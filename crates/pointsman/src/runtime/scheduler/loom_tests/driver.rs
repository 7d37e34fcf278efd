//! Models of timers and the holder of the driver.

use std::sync::Arc;

use super::super::blockers::Blockers;
use super::super::idle::Idle;
use super::{Running, large_model, model, wait};
use crate::park::ThreadParker;
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

/// A worker begins a poll that is expected to block while the other falls asleep: that one holds the driver.
#[test]
fn a_driver_is_held_by_the_worker_that_is_not_expected_to_be_blocked() {
    model(|| {
        let state = Arc::new((Idle::new(2), Blockers::new()));
        state.0.inc_awake();
        state.0.inc_awake();
        let its_state = Arc::clone(&state);
        let sleeper = loom::thread::spawn(move || {
            let (idle, blockers) = &*its_state;
            let parker = ThreadParker::current();
            idle.sleep(1, &parker, None);
            // As in `may_hold`; an unpark asks for a holder.
            if idle.workers().awake > blockers.blocked() {
                parker.park(None);
            }
        });
        // As in `expect_block`.
        let (idle, blockers) = &*state;
        let blocked = blockers.begin();
        if !idle.unpark_one() && idle.workers().awake <= blocked {
            assert_eq!(
                idle.workers().sleeping,
                1,
                "the watchdog is armed in vain only"
            );
        }
        sleeper.join().unwrap();
    });
}
