//! `oneshot` through the public API.

use std::future::Future;
use std::sync::Arc;
use std::thread;

use pointsman::sync::oneshot::{self, error::TryRecvError};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready, assert_ready_eq, assert_ready_err};

#[test]
fn each_end_drops_remaining_values_once() {
    let value = Arc::new(());
    for order in 0..4 {
        let (tx, mut rx) = oneshot::channel();
        match order {
            0 => {
                tx.send(value.clone()).unwrap();
                drop(rx);
            }
            1 => {
                drop(rx);
                drop(tx.send(value.clone()).unwrap_err());
            }
            2 => {
                rx.close();
                drop(tx.send(value.clone()).unwrap_err());
                assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
            }
            _ => {
                tx.send(value.clone()).unwrap();
                rx.close();
                drop(rx.try_recv().unwrap());
            }
        }
        assert_eq!(Arc::strong_count(&value), 1, "order {order}");
    }
}

#[test]
fn a_wait_that_is_given_up_leaves_the_value() {
    let (tx, mut rx) = oneshot::channel();
    {
        let mut wait = spawn(&mut rx);
        assert_pending!(wait.poll());
        tx.send(1).unwrap();
        assert!(wait.is_woken());
    }
    assert_ready_eq!(spawn(&mut rx).poll(), Ok(1));
}

#[test]
fn closed_may_be_given_up_and_asked_again() {
    let (mut tx, rx) = oneshot::channel::<u32>();
    {
        let mut wait = spawn(tx.closed());
        assert_pending!(wait.poll());
    }
    let mut wait = spawn(tx.closed());
    assert_pending!(wait.poll());
    drop(rx);
    assert!(wait.is_woken());
    assert_ready!(wait.poll());
}

#[test]
fn a_receiver_keeps_no_waker_when_it_is_dropped() {
    let (tx, rx) = oneshot::channel::<u32>();
    let mut task = spawn(());
    let mut rx = Box::pin(rx);
    task.enter(|cx, _| assert_pending!(rx.as_mut().poll(cx)));
    assert_eq!(task.waker_ref_count(), 2);
    drop(rx);
    assert_eq!(task.waker_ref_count(), 1);
    drop(tx);
}

#[test]
fn a_sender_that_is_dropped_wakes() {
    let (tx, rx) = oneshot::channel::<u32>();
    let mut rx = spawn(rx);
    assert_pending!(rx.poll());
    drop(tx);
    assert!(rx.is_woken());
    assert_ready_err!(rx.poll());
}

#[test]
#[should_panic = "called after complete"]
fn a_receiver_must_not_be_polled_when_it_was_ready() {
    let (tx, rx) = oneshot::channel();
    tx.send(1).unwrap();
    let mut rx = spawn(rx);
    assert_ready_eq!(rx.poll(), Ok(1));
    let _ = rx.poll();
}

#[test]
fn threads_exchange_many_values() {
    let (sender, receiver) = std::sync::mpsc::channel::<oneshot::Sender<usize>>();
    let answers = thread::spawn(move || {
        for (number, tx) in receiver.into_iter().enumerate() {
            tx.send(number).unwrap();
        }
    });
    for number in 0..if cfg!(miri) { 20 } else { 5_000 } {
        let (tx, rx) = oneshot::channel();
        sender.send(tx).unwrap();
        assert_eq!(rx.blocking_recv(), Ok(number));
    }
    drop(sender);
    answers.join().unwrap();
}
