//! Loom models of the mpsc channels.

use std::future::Future;
use std::task::{Context, Poll, Waker};

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::error::TryRecvError;
use super::{channel, unbounded_channel};

/// In models a block has two slots, so three messages need a second one.
#[test]
fn messages_of_two_senders_arrive_in_order() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let other = tx.clone();
        let first = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        other.send(10).unwrap();
        drop(other);
        let mut received = Vec::new();
        while let Some(message) = block_on(rx.recv()) {
            received.push(message);
        }
        first.join().unwrap();
        received.retain(|&message| message != 10);
        assert_eq!(received, [1, 2]);
    });
}

#[test]
fn blocks_are_unlinked_while_senders_search() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        for message in 0..2 {
            tx.send(message).unwrap();
        }
        let other = tx.clone();
        let sender = thread::spawn(move || other.send(2).unwrap());
        assert_eq!(rx.try_recv(), Ok(0));
        assert_eq!(rx.try_recv(), Ok(1));
        tx.send(3).unwrap();
        drop(tx);
        let mut rest = [block_on(rx.recv()), block_on(rx.recv())];
        rest.sort();
        assert_eq!(rest, [Some(2), Some(3)]);
        assert_eq!(block_on(rx.recv()), None);
        sender.join().unwrap();
    });
}

#[test]
fn a_waiting_receiver_is_woken() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let sender = thread::spawn(move || tx.send(1).unwrap());
        assert_eq!(block_on(rx.recv()), Some(1));
        assert_eq!(block_on(rx.recv()), None);
        sender.join().unwrap();
    });
}

#[test]
fn a_waker_replaced_during_a_send_is_not_lost() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx
        });
        match rx.poll_recv(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(message) => assert_eq!(message, Some(1)),
            Poll::Pending => assert_eq!(block_on(rx.recv()), Some(1)),
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_message_sent_during_close_is_received_or_returned() {
    loom::model(|| {
        let value = Arc::new(());
        let (tx, mut rx) = unbounded_channel();
        let sent = value.clone();
        let sender = thread::spawn(move || tx.send(sent).is_ok());
        rx.close();
        let received = block_on(rx.recv());
        assert_eq!(sender.join().unwrap(), received.is_some());
        drop(rx);
        drop(received);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn a_dropped_receiver_drops_its_messages() {
    loom::model(|| {
        let value = Arc::new(());
        let (tx, rx) = unbounded_channel();
        let sent = value.clone();
        let sender = thread::spawn(move || drop(tx.send(sent)));
        drop(rx);
        sender.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn a_dropped_receiver_leaks_no_message_while_senders_remain() {
    loom::model(|| {
        let value = Arc::new(());
        let (tx, rx) = unbounded_channel();
        let senders = [(); 2].map(|()| {
            let (tx, sent) = (tx.clone(), value.clone());
            thread::spawn(move || drop(tx.send(sent)))
        });
        drop(rx);
        for sender in senders {
            sender.join().unwrap();
        }
        assert_eq!(Arc::strong_count(&value), 1);
        drop(tx);
    });
}

/// The receiver is polled with a second waker while a sender takes the first.
#[test]
fn a_wake_up_while_the_waker_is_replaced_is_not_lost() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let first = rx.poll_recv(&mut Context::from_waker(Waker::noop()));
        assert!(first.is_pending());
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        assert_eq!(block_on(rx.recv()), Some(1));
        assert_eq!(block_on(rx.recv()), Some(2));
        assert_eq!(block_on(rx.recv()), None);
        sender.join().unwrap();
    });
}

#[test]
fn a_waiting_sender_gets_capacity() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || {
            block_on(tx.send(1)).unwrap();
            block_on(tx.send(2)).unwrap();
        });
        assert_eq!(block_on(rx.recv()), Some(1));
        assert_eq!(block_on(rx.recv()), Some(2));
        assert_eq!(block_on(rx.recv()), None);
        sender.join().unwrap();
    });
}

#[test]
fn capacity_of_a_cancelled_reservation_goes_to_the_next() {
    loom::model(|| {
        let (tx, _rx) = channel::<u32>(1);
        let permit = tx.clone().try_reserve_owned().unwrap();
        let mut cancelled = Box::pin(tx.reserve());
        let waits = cancelled
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(waits.is_pending());
        let other = tx.clone();
        let next = thread::spawn(move || drop(block_on(other.reserve()).unwrap()));
        let holder = thread::spawn(move || drop(permit));
        drop(cancelled);
        next.join().unwrap();
        holder.join().unwrap();
        assert_eq!(tx.capacity(), 1);
    });
}

#[test]
fn close_wakes_a_waiting_sender() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        tx.try_send(1).unwrap();
        let sender = thread::spawn(move || block_on(tx.send(2)).is_ok());
        rx.close();
        assert_eq!(block_on(rx.recv()), Some(1));
        assert_eq!(block_on(rx.recv()), None);
        assert!(!sender.join().unwrap());
    });
}

#[test]
fn the_last_permit_of_a_closed_channel_wakes_the_receiver() {
    loom::model(|| {
        let (tx, mut rx) = channel::<u32>(2);
        let permits = [tx.clone(), tx.clone()].map(|tx| tx.try_reserve_owned().unwrap());
        rx.close();
        let [first, second] = permits;
        let sender = thread::spawn(move || drop(first.send(1)));
        let other = thread::spawn(move || drop(second));
        assert_eq!(block_on(rx.recv()), Some(1));
        assert_eq!(block_on(rx.recv()), None);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        sender.join().unwrap();
        other.join().unwrap();
        drop(tx);
    });
}

#[test]
fn dropping_the_receiver_wakes_closed() {
    loom::model(|| {
        let (tx, rx) = unbounded_channel::<u32>();
        let receiver = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        assert!(tx.is_closed());
        receiver.join().unwrap();
    });
}
