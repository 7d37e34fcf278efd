//! `broadcast` through the public API.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use pointsman::sync::broadcast::error::{RecvError, TryRecvError};
use pointsman::sync::broadcast::{Sender, channel};
use proptest::prelude::*;
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready, assert_ready_eq, assert_ready_ok};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A model: each receiver is a queue that loses its oldest messages when it exceeds the channel's capacity.
    #[test]
    fn receivers_are_queues_that_lose_the_oldest(
        capacity in 1..20_usize,
        acts in prop::collection::vec(0..6_u8, 0..if cfg!(miri) { 30 } else { 300 }),
    ) {
        let kept = capacity.next_power_of_two();
        let tx = Sender::new(capacity);
        let mut receivers = Vec::new();
        for (number, act) in acts.into_iter().enumerate() {
            match act {
                0..=2 => {
                    let sent = tx.send(number);
                    prop_assert_eq!(sent.ok(), Some(receivers.len()).filter(|&count| count > 0));
                    for (_, model) in &mut receivers {
                        let model: &mut VecDeque<_> = model;
                        model.push_back(number);
                    }
                }
                3 if receivers.len() < 4 => receivers.push((tx.subscribe(), VecDeque::new())),
                4 if receivers.len() > 1 => drop(receivers.swap_remove(number % receivers.len())),
                _ => {
                    let count = receivers.len().max(1);
                    let Some((receiver, model)) = receivers.get_mut(number % count) else { continue };
                    let missed = model.len().saturating_sub(kept);
                    let expected = if missed > 0 {
                        model.drain(..missed);
                        Err(TryRecvError::Lagged(missed as u64))
                    } else {
                        model.pop_front().ok_or(TryRecvError::Empty)
                    };
                    prop_assert_eq!(receiver.try_recv(), expected);
                }
            }
            for (receiver, model) in &receivers {
                prop_assert_eq!(receiver.len(), model.len());
            }
            let longest = receivers.iter().map(|(_, model)| model.len()).max();
            prop_assert_eq!(tx.len(), longest.unwrap_or(0).min(kept));
            prop_assert_eq!(tx.is_empty(), longest.unwrap_or(0) == 0);
        }
    }
}

#[test]
fn threads_receive_or_learn_how_much_they_missed() {
    let count = if cfg!(miri) { 100 } else { 20_000 };
    let (tx, rx) = channel(8);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let mut rx = rx.resubscribe();
            thread::spawn(move || {
                let mut next = 0;
                loop {
                    match rx.blocking_recv() {
                        Ok(number) => {
                            assert_eq!(number, next);
                            next += 1;
                        }
                        Err(RecvError::Lagged(missed)) => next += missed,
                        Err(RecvError::Closed) => return next,
                    }
                }
            })
        })
        .collect();
    drop(rx);
    for number in 0..count {
        tx.send(number).unwrap();
    }
    drop(tx);
    for thread in threads {
        assert_eq!(thread.join().unwrap(), count);
    }
}

#[test]
fn a_cancelled_waiter_is_removed_and_the_others_are_woken() {
    let (tx, rx) = channel(4);
    let mut receivers: Vec<_> = (0..100).map(|_| rx.resubscribe()).collect();
    let mut waits: Vec<_> = receivers.iter_mut().map(|rx| spawn(rx.recv())).collect();
    waits
        .iter_mut()
        .for_each(|wait| assert_pending!(wait.poll()));
    for index in [99, 50, 0] {
        drop(waits.remove(index));
    }
    tx.send(1).unwrap();
    for wait in &mut waits {
        assert!(wait.is_woken());
        assert_ready_eq!(wait.poll(), Ok(1));
    }
}

#[test]
fn a_second_wait_waits_for_the_next_round() {
    let (tx, mut rx) = channel(4);
    for number in 0..3 {
        let mut wait = spawn(rx.recv());
        assert_pending!(wait.poll());
        assert_pending!(wait.poll());
        tx.send(number).unwrap();
        assert!(wait.is_woken());
        assert_ready_eq!(wait.poll(), Ok(number));
    }
}

#[test]
fn a_message_is_dropped_after_its_last_receiver() {
    let value = Arc::new(());
    let (tx, mut first) = channel(4);
    let second = tx.subscribe();
    tx.send(value.clone()).unwrap();
    drop(first.try_recv().unwrap());
    assert_eq!(Arc::strong_count(&value), 2);
    drop(second);
    assert_eq!(Arc::strong_count(&value), 1);
    tx.send(value.clone()).unwrap();
    drop(tx);
    drop(first);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// A message that uses the channel when it is dropped.
#[test]
fn messages_are_dropped_without_a_lock() {
    #[derive(Clone)]
    struct Echo(Option<Sender<Echo>>);

    impl Drop for Echo {
        fn drop(&mut self) {
            if let Some(tx) = self.0.take() {
                assert!(tx.receiver_count() < 2);
                let _ = (tx.len(), tx.send(Echo(None)));
            }
        }
    }

    let (tx, mut rx) = channel(1);
    let _ = tx.send(Echo(Some(tx.clone())));
    let _ = tx.send(Echo(Some(tx.clone())));
    while !matches!(rx.try_recv(), Err(TryRecvError::Empty)) {}
    let _ = tx.send(Echo(Some(tx.clone())));
    drop(rx);
}

#[test]
fn closed_waits_for_the_last_receiver_each_time() {
    let (tx, rx) = channel::<u32>(1);
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
fn sent_values_are_received_after_closing() {
    let (tx, mut rx) = channel(2);
    tx.send(1).unwrap();
    drop(tx);
    assert_eq!(assert_ready_ok!(spawn(rx.recv()).poll()), 1);
    assert_ready_eq!(spawn(rx.recv()).poll(), Err(RecvError::Closed));
}
