//! Tests of the semaphore with a spent task budget.

use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready_ok};

use super::*;
use crate::task::coop::{budget, has_budget_remaining, poll_proceed};

/// Runs `run` with a spent budget.
fn with_spent_budget<R>(run: impl FnOnce() -> R) -> R {
    budget(|| {
        let mut spender = spawn(());
        while has_budget_remaining() {
            spender.enter(|cx, _| match poll_proceed(cx) {
                std::task::Poll::Ready(proceed) => proceed.made_progress(),
                std::task::Poll::Pending => unreachable!("there was budget"),
            });
        }
        run()
    })
}

#[test]
fn a_spent_budget_delays_an_acquired_permit_to_the_next_poll() {
    let semaphore = Semaphore::new(1);
    let mut acquire = spawn(semaphore.acquire());
    with_spent_budget(|| assert_pending!(acquire.poll()));
    assert!(acquire.is_woken());
    assert_eq!(semaphore.available_permits(), 0);
    let permit = assert_ready_ok!(acquire.poll());
    drop(permit);
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn a_permit_delayed_by_a_spent_budget_is_released_on_drop() {
    let semaphore = Semaphore::new(1);
    let mut acquire = spawn(semaphore.acquire());
    with_spent_budget(|| assert_pending!(acquire.poll()));
    drop(acquire);
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn each_acquire_costs_one_unit_of_the_budget() {
    let semaphore = Semaphore::new(1000);
    let taken = budget(|| {
        let mut taken = 0;
        while spawn(semaphore.acquire()).poll().is_ready() {
            taken += 1;
        }
        taken
    });
    assert_eq!(taken, 128);
}

#[test]
fn waiting_costs_no_budget() {
    let semaphore = Semaphore::new(0);
    let mut acquire = spawn(semaphore.acquire());
    budget(|| {
        for _ in 0..200 {
            assert_pending!(acquire.poll());
        }
        assert!(has_budget_remaining());
    });
}
