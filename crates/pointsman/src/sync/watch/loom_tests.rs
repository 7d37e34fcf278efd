//! Loom models of the watch channel.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use loom::future::block_on;
use loom::thread;

use super::channel;

#[test]
fn a_waiting_receiver_sees_the_last_value() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        let mut last = 0;
        while block_on(rx.changed()).is_ok() {
            let value = *rx.borrow();
            assert!(value >= last);
            last = value;
        }
        assert_eq!(last, 2);
        sender.join().unwrap();
    });
}

#[test]
fn two_waiting_receivers_are_woken() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        let mut other = rx.clone();
        let receiver = thread::spawn(move || block_on(other.changed()).unwrap());
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx
        });
        block_on(rx.changed()).unwrap();
        receiver.join().unwrap();
        drop(sender.join().unwrap());
    });
}

#[test]
fn a_cancelled_wait_does_not_affect_other_waiters() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        let mut other = rx.clone();
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx
        });
        {
            let cancelled = pin!(other.changed());
            let _ = cancelled.poll(&mut Context::from_waker(Waker::noop()));
        }
        block_on(rx.changed()).unwrap();
        drop(sender.join().unwrap());
    });
}

#[test]
fn dropping_all_senders_wakes_the_receiver() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        let other = tx.clone();
        let senders = [
            thread::spawn(move || drop(tx)),
            thread::spawn(move || drop(other)),
        ];
        assert!(block_on(rx.changed()).is_err());
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

#[test]
fn dropping_the_last_receiver_wakes_closed() {
    loom::model(|| {
        let (tx, rx) = channel(0);
        let other = rx.clone();
        let receivers = [
            thread::spawn(move || drop(rx)),
            thread::spawn(move || drop(other)),
        ];
        block_on(tx.closed());
        for receiver in receivers {
            receiver.join().unwrap();
        }
    });
}
