//! Loom models of the oneshot channel.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::{Receiver, channel};

fn poll_with<T>(receiver: &mut Receiver<T>, waker: &Waker) -> Poll<Option<T>> {
    Pin::new(receiver)
        .poll(&mut Context::from_waker(waker))
        .map(Result::ok)
}

#[test]
fn a_value_is_received_or_returned() {
    loom::model(|| {
        let value = Arc::new(());
        let (tx, mut rx) = channel();
        let sent = value.clone();
        let sender = thread::spawn(move || tx.send(sent).is_ok());
        rx.close();
        let received = rx.try_recv();
        drop(rx);
        assert_eq!(sender.join().unwrap(), received.is_ok());
        drop(received);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn a_waiting_receiver_is_woken() {
    loom::model(|| {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || tx.send(1));
        assert_eq!(block_on(rx), Ok(1));
        assert_eq!(sender.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_waker_replaced_during_a_send_is_not_lost() {
    loom::model(|| {
        let value = Arc::new(());
        let (tx, mut rx) = channel();
        let sent = value.clone();
        let sender = thread::spawn(move || tx.send(sent).unwrap());
        if poll_with(&mut rx, Waker::noop()).is_pending() {
            drop(block_on(&mut rx).unwrap());
        }
        drop(rx);
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn dropping_the_sender_wakes_the_receiver() {
    loom::model(|| {
        let (tx, rx) = channel::<u32>();
        let sender = thread::spawn(move || drop(tx));
        assert!(block_on(rx).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn a_dropped_receiver_drops_the_value_once() {
    loom::model(|| {
        let value = Arc::new(());
        let (tx, mut rx) = channel();
        let sent = value.clone();
        let sender = thread::spawn(move || drop(tx.send(sent)));
        let _ = poll_with(&mut rx, Waker::noop());
        drop(rx);
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn closed_wakes_the_replaced_waker() {
    loom::model(|| {
        let (mut tx, rx) = channel::<u32>();
        let receiver = thread::spawn(move || drop(rx));
        if tx
            .poll_closed(&mut Context::from_waker(Waker::noop()))
            .is_pending()
        {
            block_on(tx.closed());
        }
        assert_eq!(tx.send(1), Err(1));
        receiver.join().unwrap();
    });
}
