//! `watch` through the public API.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use pointsman::sync::watch::{Sender, channel};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready, assert_ready_err, assert_ready_ok};

#[test]
fn a_cancelled_waiter_is_removed_and_the_others_are_woken() {
    let (tx, rx) = channel(0);
    let mut receivers: Vec<_> = (0..100).map(|_| rx.clone()).collect();
    let mut waits: Vec<_> = receivers.iter_mut().map(|rx| spawn(rx.changed())).collect();
    waits
        .iter_mut()
        .for_each(|wait| assert_pending!(wait.poll()));
    for index in [99, 50, 0] {
        drop(waits.remove(index));
    }
    tx.send(1).unwrap();
    for wait in &mut waits {
        assert!(wait.is_woken());
        assert_ready_ok!(wait.poll());
    }
}

#[test]
fn each_change_is_reported_once() {
    let (tx, mut rx) = channel(0);
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    assert_ready_ok!(spawn(rx.changed()).poll());
    assert_eq!(*rx.borrow(), 2);
    let mut wait = spawn(rx.changed());
    assert_pending!(wait.poll());
    drop(tx);
    assert!(wait.is_woken());
    assert_ready_err!(wait.poll());
}

#[test]
fn a_wait_that_is_given_up_marks_nothing() {
    let (tx, mut rx) = channel(0);
    {
        let mut wait = spawn(rx.changed());
        assert_pending!(wait.poll());
        tx.send(1).unwrap();
    }
    assert!(rx.has_changed().unwrap());
    assert_ready_ok!(spawn(rx.changed()).poll());
}

#[test]
fn wait_for_skips_rejected_values() {
    let (tx, mut rx) = channel(0);
    let mut asked = Vec::new();
    {
        let mut wait = spawn(rx.wait_for(|&value| {
            asked.push(value);
            value == 2
        }));
        for value in [1, 2] {
            assert_pending!(wait.poll());
            tx.send(value).unwrap();
            assert!(wait.is_woken());
        }
        let value = assert_ready_ok!(wait.poll());
        assert_eq!(*value, 2);
    }
    assert_eq!(asked, [0, 1, 2]);
}

#[test]
fn a_panic_in_a_closure_leaves_the_channel_usable() {
    let (tx, mut rx) = channel(0);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        tx.send_modify(|value| {
            *value = 1;
            panic!("in the middle");
        });
    }));
    assert!(panicked.is_err());
    assert!(!rx.has_changed().unwrap());
    assert_eq!(*rx.borrow(), 1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = spawn(rx.wait_for(|_| panic!("in the middle"))).poll();
    }));
    assert!(panicked.is_err());
    tx.send(2).unwrap();
    assert_eq!(*rx.borrow_and_update(), 2);
}

#[test]
fn values_are_dropped_once() {
    let value = Arc::new(());
    let (tx, rx) = channel(value.clone());
    drop(tx.send_replace(value.clone()));
    assert_eq!(Arc::strong_count(&value), 2);
    drop(rx);
    assert!(tx.send(value.clone()).is_err());
    assert_eq!(Arc::strong_count(&value), 2);
    drop(tx);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn closed_waits_for_the_last_receiver_each_time() {
    let tx = Sender::new(0);
    assert_ready!(spawn(tx.closed()).poll());
    let rx = tx.subscribe();
    let mut closed = spawn(tx.closed());
    assert_pending!(closed.poll());
    drop(rx);
    let rx = tx.subscribe();
    assert!(closed.is_woken());
    assert_pending!(closed.poll());
    drop(rx);
    assert_ready!(closed.poll());
}

#[test]
fn threads_see_values_in_order_and_the_last() {
    let count = if cfg!(miri) { 50 } else { 20_000 };
    let (tx, rx) = channel(0);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let mut rx = rx.clone();
            thread::spawn(move || {
                let mut last = 0;
                while futures::executor::block_on(rx.changed()).is_ok() {
                    let value = *rx.borrow();
                    assert!(value >= last);
                    last = value;
                }
                last
            })
        })
        .collect();
    for number in 1..=count {
        tx.send(number).unwrap();
    }
    drop(tx);
    for thread in threads {
        assert_eq!(thread.join().unwrap(), count);
    }
}
