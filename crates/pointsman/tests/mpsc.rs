//! `mpsc` through the public API.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::thread;

use pointsman::sync::mpsc::error::{TryRecvError, TrySendError};
use pointsman::sync::mpsc::{channel, unbounded_channel};
use proptest::prelude::*;
use tokio_test::task::spawn;
use tokio_test::{
    assert_pending, assert_ready, assert_ready_eq, assert_ready_err, assert_ready_ok,
};

#[derive(Clone, Copy, Debug)]
enum Act {
    Send,
    Receive,
    ReceiveMany(usize),
    Reserve(usize),
    Release,
    UseReserved,
    Close,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        12 => Just(Act::Send),
        6 => Just(Act::Receive),
        2 => (0..40_usize).prop_map(Act::ReceiveMany),
        2 => (0..4_usize).prop_map(Act::Reserve),
        2 => Just(Act::Release),
        3 => Just(Act::UseReserved),
        1 => Just(Act::Close),
    ];
    prop::collection::vec(act, 0..if cfg!(miri) { 30 } else { 400 })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_bounded_channel_is_a_queue_with_room(acts in acts(), bound in 1..50_usize) {
        let (tx, mut rx) = channel(bound);
        let mut model = VecDeque::new();
        let mut permits = Vec::new();
        let mut closed = false;
        for (number, act) in acts.into_iter().enumerate() {
            let free = bound - model.len() - permits.len();
            match act {
                Act::Send => {
                    let expected = if closed {
                        Err(TrySendError::Closed(number))
                    } else if free == 0 {
                        Err(TrySendError::Full(number))
                    } else {
                        model.push_back(number);
                        Ok(())
                    };
                    prop_assert_eq!(tx.try_send(number), expected);
                }
                Act::Receive => {
                    let expected = model.pop_front().ok_or(if closed && permits.is_empty() {
                        TryRecvError::Disconnected
                    } else {
                        TryRecvError::Empty
                    });
                    prop_assert_eq!(rx.try_recv(), expected);
                }
                Act::ReceiveMany(limit) => {
                    let mut received = Vec::new();
                    let expected: Vec<_> = model.drain(..limit.min(model.len())).collect();
                    let poll = spawn(rx.recv_many(&mut received, limit)).poll();
                    if limit == 0 || !expected.is_empty() || closed && permits.is_empty() {
                        assert_ready_eq!(poll, expected.len());
                    } else {
                        assert_pending!(poll);
                    }
                    prop_assert_eq!(received, expected);
                }
                Act::Reserve(count) => match tx.try_reserve_many(count) {
                    Ok(new) => {
                        prop_assert!(!closed && count <= free);
                        permits.extend(new);
                    }
                    Err(TrySendError::Closed(())) => prop_assert!(closed),
                    Err(TrySendError::Full(())) => prop_assert!(!closed && count > free),
                },
                Act::Release => drop(permits.pop()),
                Act::UseReserved => {
                    if let Some(permit) = permits.pop() {
                        permit.send(number);
                        model.push_back(number);
                    }
                }
                Act::Close => {
                    closed = true;
                    rx.close();
                }
            }
            prop_assert_eq!(rx.len(), model.len());
            prop_assert_eq!(tx.capacity(), bound - model.len() - permits.len());
        }
    }

    #[test]
    fn an_unbounded_channel_is_a_queue(acts in acts()) {
        let (tx, mut rx) = unbounded_channel();
        let mut model = VecDeque::new();
        let mut closed = false;
        for (number, act) in acts.into_iter().enumerate() {
            match act {
                Act::Send | Act::UseReserved => {
                    prop_assert_eq!(tx.send(number).is_ok(), !closed);
                    if !closed {
                        model.push_back(number);
                    }
                }
                Act::ReceiveMany(limit) if limit > 0 && !model.is_empty() => {
                    let mut received = Vec::new();
                    let expected: Vec<_> = model.drain(..limit.min(model.len())).collect();
                    let count = spawn(rx.recv_many(&mut received, limit)).poll();
                    assert_ready_eq!(count, expected.len());
                    prop_assert_eq!(received, expected);
                }
                Act::Close => {
                    closed = true;
                    rx.close();
                }
                _ => {
                    let expected = model.pop_front().ok_or(if closed {
                        TryRecvError::Disconnected
                    } else {
                        TryRecvError::Empty
                    });
                    prop_assert_eq!(rx.try_recv(), expected);
                }
            }
            prop_assert_eq!(rx.len(), model.len());
        }
    }
}

#[test]
fn messages_of_each_thread_stay_in_order() {
    let each = if cfg!(miri) { 50 } else { 20_000 };
    let (tx, mut rx) = unbounded_channel();
    let threads: Vec<_> = (0..4)
        .map(|sender| {
            let tx = tx.clone();
            thread::spawn(move || (0..each).for_each(|n| tx.send((sender, n)).unwrap()))
        })
        .collect();
    drop(tx);
    let mut next = [0; 4];
    while let Some((sender, number)) = rx.blocking_recv() {
        assert_eq!(number, next[sender]);
        next[sender] += 1;
    }
    assert_eq!(next, [each; 4]);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn threads_share_little_room() {
    let each = if cfg!(miri) { 20 } else { 2_000 };
    let (tx, mut rx) = channel(2);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let tx = tx.clone();
            thread::spawn(move || (0..each).for_each(|n| tx.blocking_send(n).unwrap()))
        })
        .collect();
    drop(tx);
    let mut count = 0;
    while rx.blocking_recv().is_some() {
        assert!(rx.len() <= 2);
        count += 1;
    }
    assert_eq!(count, 4 * each);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(rx.capacity(), 2);
}

#[test]
fn remaining_values_are_dropped_once_with_the_last_handle() {
    let value = Arc::new(());
    for count in [0, 1, 31, 32, 33, 100] {
        for receiver_first in [false, true] {
            let (tx, mut rx) = unbounded_channel();
            for _ in 0..count {
                tx.send(value.clone()).unwrap();
            }
            let _ = rx.try_recv();
            if receiver_first {
                drop(rx);
                assert_eq!(Arc::strong_count(&value), 1);
                drop(tx.send(value.clone()).unwrap_err());
            } else {
                drop(tx);
                drop(rx);
            }
            assert_eq!(Arc::strong_count(&value), 1);
        }
    }
}

#[test]
fn a_permit_drops_its_message_if_the_receiver_is_dropped() {
    let value = Arc::new(());
    let (tx, rx) = channel(1);
    let permit = tx.try_reserve().unwrap();
    drop(rx);
    permit.send(value.clone());
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn senders_are_served_in_fifo_order() {
    let (tx, mut rx) = channel(2);
    tx.try_send(0).unwrap();
    let mut many = spawn(tx.reserve_many(2));
    assert_pending!(many.poll());
    let mut one = spawn(tx.reserve());
    assert_pending!(one.poll());
    // The one free slot is already assigned to the first sender.
    assert!(tx.try_send(9).is_err());
    assert_eq!(rx.try_recv(), Ok(0));
    assert!(many.is_woken() && !one.is_woken());
    drop(assert_ready_ok!(many.poll()));
    assert!(one.is_woken());
    assert_ready_ok!(one.poll()).send(1);
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn a_cancelled_sender_passes_its_slot_on() {
    let (tx, _rx) = channel::<u32>(3);
    let permits = tx.try_reserve_many(2).unwrap();
    let mut first = spawn(tx.reserve_many(3));
    assert_pending!(first.poll());
    let mut second = spawn(tx.reserve());
    assert_pending!(second.poll());
    drop(first);
    assert!(second.is_woken());
    drop(assert_ready_ok!(second.poll()));
    drop(permits);
    assert_eq!(tx.capacity(), 3);
}

#[test]
fn a_cancelled_sender_loses_no_message_of_others() {
    let (tx, mut rx) = channel(1);
    tx.try_send(1).unwrap();
    let mut given_up = spawn(tx.send(2));
    let mut other = spawn(tx.send(3));
    assert_pending!(given_up.poll());
    assert_pending!(other.poll());
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(given_up.is_woken());
    drop(given_up);
    assert!(other.is_woken());
    assert_ready_ok!(other.poll());
    assert_eq!(rx.try_recv(), Ok(3));
    assert_eq!(tx.capacity(), 1);
}

#[test]
fn waiters_with_another_waker_wake_that() {
    let (tx, mut rx) = channel(1);
    tx.try_send(1).unwrap();
    let mut reserve = Box::pin(tx.reserve());
    let mut old = spawn(());
    let mut new = spawn(());
    old.enter(|cx, _| assert_pending!(reserve.as_mut().poll(cx)));
    new.enter(|cx, _| assert_pending!(reserve.as_mut().poll(cx)));
    assert_eq!(old.waker_ref_count(), 1);
    rx.try_recv().unwrap();
    assert!(!old.is_woken() && new.is_woken());
}

#[test]
fn all_waiters_learn_that_the_receiver_was_dropped() {
    let (tx, rx) = channel(1);
    tx.try_send(0).unwrap();
    let mut senders: Vec<_> = (0..100).map(|n| spawn(tx.send(n))).collect();
    senders
        .iter_mut()
        .for_each(|sender| assert_pending!(sender.poll()));
    let mut closed = spawn(tx.closed());
    assert_pending!(closed.poll());
    drop(rx);
    for (number, sender) in senders.iter_mut().enumerate() {
        assert!(sender.is_woken());
        assert_eq!(assert_ready_err!(sender.poll()).0, number);
    }
    assert!(closed.is_woken());
    assert_ready!(closed.poll());
}

#[test]
fn a_receive_that_is_given_up_loses_nothing() {
    let (tx, mut rx) = unbounded_channel();
    {
        let mut given_up = spawn(rx.recv());
        assert_pending!(given_up.poll());
        tx.send(1).unwrap();
        assert!(given_up.is_woken());
    }
    assert_ready_eq!(spawn(rx.recv()).poll(), Some(1));
    let mut again = spawn(rx.recv());
    assert_pending!(again.poll());
    drop(tx);
    assert!(again.is_woken());
    assert_ready_eq!(again.poll(), None);
}

#[test]
#[should_panic = "mpsc bounded channel requires buffer > 0"]
fn a_bound_is_at_least_one() {
    drop(channel::<u32>(0));
}

#[test]
#[should_panic = "a semaphore may not have more than MAX_PERMITS permits"]
fn a_bound_has_a_limit() {
    drop(channel::<u32>(usize::MAX));
}

#[test]
#[cfg_attr(miri, ignore = "moves many megabytes")]
fn large_messages_need_no_more_stack_than_themselves() {
    const LARGE: usize = 50_000;
    let small_stack = thread::Builder::new().stack_size(4 << 20);
    let thread = small_stack.spawn(|| {
        let (tx, mut rx) = unbounded_channel();
        for number in 0..3 {
            tx.send([number; LARGE]).unwrap();
        }
        (0..3).all(|number| {
            rx.try_recv()
                .is_ok_and(|message| message == [number; LARGE])
        })
    });
    assert!(thread.unwrap().join().unwrap());
}

#[test]
fn messages_of_every_size_arrive() {
    fn pass<T: Copy + PartialEq + std::fmt::Debug>(make: impl Fn(u8) -> T) {
        let (tx, mut rx) = unbounded_channel();
        for round in 0..3_u8 {
            for number in 0..70 {
                tx.send(make(number + round)).unwrap();
            }
            for number in 0..70 {
                assert_eq!(rx.try_recv(), Ok(make(number + round)));
            }
        }
        tx.send(make(1)).unwrap();
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(128))]
    struct Aligned(u8);

    pass(|_| ());
    pass(|number| number);
    pass(|number| [number; 100]);
    pass(|number| [number; 5_000]);
    pass(Aligned);
}
