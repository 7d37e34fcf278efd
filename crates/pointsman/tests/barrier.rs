//! `Barrier`.

#![cfg(not(loom))]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use pointsman::sync::Barrier;
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};

/// How often threads meet; fewer times where each step is checked (miri).
const ROUNDS: usize = if cfg!(miri) { 10 } else { 500 };

#[test]
fn no_task_continues_before_all_have_arrived() {
    let barrier = Barrier::new(3);
    for _ in 0..2 {
        let mut first = spawn(barrier.wait());
        let mut second = spawn(barrier.wait());
        assert_pending!(first.poll());
        assert_pending!(second.poll());
        assert!(assert_ready!(spawn(barrier.wait()).poll()).is_leader());
        assert!(first.is_woken() && second.is_woken());
        assert!(!assert_ready!(first.poll()).is_leader());
        assert!(!assert_ready!(second.poll()).is_leader());
    }
}

#[test]
fn waiters_for_the_next_round_are_not_released_with_this_one() {
    let barrier = Barrier::new(2);
    let mut slow = spawn(barrier.wait());
    assert_pending!(slow.poll());
    assert!(assert_ready!(spawn(barrier.wait()).poll()).is_leader());
    let mut next = spawn(barrier.wait());
    assert_pending!(next.poll());
    assert!(!assert_ready!(slow.poll()).is_leader());
    assert_pending!(next.poll());
}

#[test]
fn a_cancelled_waiter_counts_as_arrived_once_polled() {
    let barrier = Barrier::new(2);
    drop(barrier.wait());
    let mut given_up = spawn(barrier.wait());
    assert_pending!(given_up.poll());
    drop(given_up);
    assert!(assert_ready!(spawn(barrier.wait()).poll()).is_leader());
}

#[test]
fn barriers_of_zero_and_one_do_not_wait() {
    for size in [0, 1] {
        let barrier = Barrier::new(size);
        assert!(block_on(barrier.wait()).is_leader());
        assert!(block_on(barrier.wait()).is_leader());
    }
}

#[test]
fn threads_meet_in_each_round() {
    let barrier = Arc::new(Barrier::new(3));
    let arrived = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (barrier, arrived) = (barrier.clone(), arrived.clone());
            std::thread::spawn(move || {
                let mut led = 0;
                for round in 1..=ROUNDS {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    led += usize::from(block_on(barrier.wait()).is_leader());
                    assert!(arrived.load(Ordering::Relaxed) >= 3 * round);
                }
                led
            })
        })
        .collect();
    let led: usize = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    assert_eq!(led, ROUNDS);
}
