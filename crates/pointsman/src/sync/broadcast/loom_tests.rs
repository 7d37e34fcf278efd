//! Loom models of the broadcast channel.

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::channel;
use super::error::{RecvError, TryRecvError};

#[test]
fn a_waiting_receiver_gets_all_messages() {
    loom::model(|| {
        let (tx, mut rx) = channel(2);
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        assert_eq!(block_on(rx.recv()), Ok(1));
        assert_eq!(block_on(rx.recv()), Ok(2));
        assert_eq!(block_on(rx.recv()), Err(RecvError::Closed));
        sender.join().unwrap();
    });
}

#[test]
fn two_waiting_receivers_get_the_message() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        let mut other = tx.subscribe();
        let sender = thread::spawn(move || tx.send(1).unwrap());
        let both = async { crate::join!(rx.recv(), other.recv()) };
        assert_eq!(block_on(both), (Ok(1), Ok(1)));
        sender.join().unwrap();
    });
}

#[test]
fn missed_and_received_messages_add_up() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || {
            for message in 0..3 {
                tx.send(message).unwrap();
            }
        });
        let mut next = 0;
        loop {
            match rx.try_recv() {
                Ok(message) => {
                    assert_eq!(message, next);
                    next += 1;
                }
                Err(TryRecvError::Lagged(missed)) => {
                    assert!(missed > 0);
                    next += missed;
                }
                Err(TryRecvError::Closed) => break,
                Err(TryRecvError::Empty) => thread::yield_now(),
            }
        }
        assert_eq!(next, 3);
        sender.join().unwrap();
    });
}

#[test]
fn a_message_is_dropped_by_its_last_receiver() {
    loom::model(|| {
        let value = Arc::new(());
        let (tx, mut rx) = channel(2);
        let other = tx.subscribe();
        tx.send(value.clone()).unwrap();
        let leaver = thread::spawn(move || drop(other));
        drop(rx.try_recv().unwrap());
        leaver.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
        drop(tx);
    });
}

#[test]
fn dropping_the_last_receiver_wakes_closed() {
    loom::model(|| {
        let (tx, rx) = channel::<u32>(1);
        let receiver = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        receiver.join().unwrap();
    });
}
