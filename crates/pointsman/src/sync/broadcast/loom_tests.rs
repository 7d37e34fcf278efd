//! Every order of what senders and receivers do.

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::channel;
use super::error::{RecvError, TryRecvError};

#[test]
fn a_receiver_that_waits_gets_all() {
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
fn two_receivers_wait_and_both_get_it() {
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
fn what_was_missed_and_what_was_received_add_up() {
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
fn a_message_is_dropped_with_the_last_receiver_that_is_to_have_it() {
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
fn a_sender_learns_that_the_last_receiver_has_gone() {
    loom::model(|| {
        let (tx, rx) = channel::<u32>(1);
        let receiver = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        receiver.join().unwrap();
    });
}
