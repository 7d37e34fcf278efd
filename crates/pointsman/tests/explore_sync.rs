//! The primitives in many orders of their tasks: each test gives up some of its waits, and then needs every permit,
//! notification and message that is left.
//!
//! Mistakes put into the primitives one at a time show what these tests find; docs/how-to/deterministic-tests.md has the
//! figures.
#![cfg(feature = "test-util")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use pointsman::sync::{self, Notify, Semaphore, broadcast, mpsc, oneshot, watch};
use pointsman::task::{JoinSet, yield_now};
use pointsman::{join, select};

async fn yields(count: u32) {
    for _ in 0..count {
        yield_now().await;
    }
}

#[pointsman::test(seeds = 300)]
async fn a_notified_consumer_that_is_aborted_passes_the_notification_on() {
    let queue = Arc::new(Mutex::new(VecDeque::new()));
    let notify = Arc::new(Notify::new());
    let (handled, all_handled) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let consumers = [(); 3].map(|()| {
        let (queue, notify) = (queue.clone(), notify.clone());
        let (handled, all_handled) = (handled.clone(), all_handled.clone());
        pointsman::spawn(async move {
            loop {
                notify.notified().await;
                while queue.lock().unwrap().pop_front().is_some() {
                    if handled.fetch_add(1, Relaxed) == 3 {
                        all_handled.notify_one();
                    }
                }
            }
        })
    });
    yields(2).await;
    let producer = pointsman::spawn({
        let (queue, notify) = (queue.clone(), notify.clone());
        async move {
            for item in 0..4 {
                queue.lock().unwrap().push_back(item);
                notify.notify_one();
                yields(2).await;
            }
        }
    });
    yields(3).await;
    consumers[0].abort();
    producer.await.unwrap();
    all_handled.notified().await;
    for consumer in consumers {
        consumer.abort();
    }
}

#[pointsman::test(seeds = 300)]
async fn notify_waiters_reaches_a_future_that_was_created_and_not_polled() {
    let notify = Arc::new(Notify::new());
    let (is_ready, waits) = (
        Arc::new(sync::Mutex::new(false)),
        Arc::new(sync::Mutex::new(0)),
    );
    let waiting = [(); 2].map(|()| {
        let (notify, is_ready, waits) = (notify.clone(), is_ready.clone(), waits.clone());
        pointsman::spawn(async move {
            loop {
                let notified = notify.notified();
                if *is_ready.lock().await {
                    break;
                }
                *waits.lock().await += 1;
                notified.await;
            }
        })
    });
    yield_now().await;
    *is_ready.lock().await = true;
    notify.notify_waiters();
    for task in waiting {
        task.await.unwrap();
    }
}

#[pointsman::test(seeds = 300)]
async fn requests_that_are_given_up_leave_all_permits() {
    let semaphore = Arc::new(Semaphore::new(2));
    let mut set = JoinSet::new();
    for number in 0..4 {
        let semaphore = semaphore.clone();
        set.spawn(async move {
            for round in 0..3 {
                select! {
                    permit = semaphore.acquire_many(1 + (number + round) % 2) => {
                        let _permit = permit.unwrap();
                        yields(number).await;
                    }
                    () = yields(2 + round) => {}
                }
            }
        });
    }
    set.join_all().await;
    drop(semaphore.acquire_many(2).await.unwrap());
    assert_eq!(semaphore.available_permits(), 2);
}

#[pointsman::test(seeds = 300)]
async fn two_permits_that_are_given_up_together_are_returned() {
    let both = Arc::new([Semaphore::new(1), Semaphore::new(1)]);
    let mut set = JoinSet::new();
    for number in 0..3 {
        let both = both.clone();
        set.spawn(async move {
            for round in 0..3 {
                select! {
                    permits = async { join!(both[0].acquire(), both[1].acquire()) } => {
                        yields(number).await;
                        drop(permits);
                    }
                    () = yields(1 + round) => {}
                }
            }
        });
    }
    set.join_all().await;
    assert_eq!(both.each_ref().map(Semaphore::available_permits), [1, 1]);
}

#[pointsman::test(seeds = 300)]
async fn the_next_request_is_served_when_a_larger_one_is_aborted() {
    let semaphore = Arc::new(Semaphore::new(2));
    let [first, second] = [(); 2].map(|()| semaphore.clone().try_acquire_owned().unwrap());
    let request = |permits| {
        let semaphore = semaphore.clone();
        pointsman::spawn(async move { drop(semaphore.acquire_many(permits).await) })
    };
    let (large, small) = (request(2), request(1));
    yield_now().await;
    drop(second);
    yield_now().await;
    large.abort();
    small.await.unwrap();
    drop(first);
    let _ = large.await;
    drop(semaphore.acquire_many(2).await.unwrap());
    assert_eq!(semaphore.available_permits(), 2);
}

#[pointsman::test(seeds = 300)]
async fn broadcast_messages_are_received_or_counted_as_missed() {
    let (tx, rx) = broadcast::channel(2);
    let receivers = [rx, tx.subscribe()].map(|mut rx| {
        pointsman::spawn(async move {
            let mut count = 0;
            loop {
                match rx.recv().await {
                    Ok(_) => count += 1,
                    Err(broadcast::error::RecvError::Lagged(missed)) => count += missed,
                    Err(broadcast::error::RecvError::Closed) => return count,
                }
            }
        })
    });
    for message in 0..6 {
        tx.send(message).unwrap();
        yield_now().await;
    }
    drop(tx);
    for receiver in receivers {
        assert_eq!(receiver.await.unwrap(), 6);
    }
}

#[pointsman::test(seeds = 300)]
async fn watch_receivers_see_the_last_value_and_the_end() {
    let (tx, rx) = watch::channel(0);
    let receivers = [rx.clone(), rx].map(|mut rx| {
        pointsman::spawn(async move {
            let mut last = 0;
            while rx.changed().await.is_ok() {
                last = *rx.borrow_and_update();
            }
            last
        })
    });
    for value in 1..4 {
        tx.send(value).unwrap();
        yield_now().await;
    }
    drop(tx);
    for receiver in receivers {
        assert_eq!(receiver.await.unwrap(), 3);
    }
}

#[pointsman::test(seeds = 300)]
async fn a_oneshot_receiver_can_move_to_another_task() {
    let (tx, mut rx) = oneshot::channel();
    let sender = pointsman::spawn(async move {
        yields(3).await;
        tx.send(7).unwrap();
    });
    let value = select! {
        biased;
        value = &mut rx => value.unwrap(),
        () = yields(3) => pointsman::spawn(async move { rx.await.unwrap() }).await.unwrap(),
    };
    assert_eq!(value, 7);
    sender.await.unwrap();
}

#[pointsman::test(seeds = 300)]
async fn a_join_set_can_move_to_another_task() {
    let mut set = JoinSet::new();
    for number in 0..3 {
        set.spawn(async move {
            yields(number + 2).await;
            number
        });
    }
    let mut sum = 0;
    select! {
        biased;
        Some(number) = set.join_next() => sum += number.unwrap(),
        () = yields(2) => {}
    }
    let rest = pointsman::spawn(async move { set.join_all().await.into_iter().sum::<u32>() });
    assert_eq!(sum + rest.await.unwrap(), 3);
}

#[pointsman::test(seeds = 300)]
async fn a_closed_mpsc_receiver_waits_for_permits_and_no_longer() {
    let (tx, mut rx) = mpsc::channel(2);
    let mut senders = JoinSet::new();
    for number in 0..2 {
        let tx = tx.clone();
        senders.spawn(async move {
            let Ok(permit) = tx.reserve().await else {
                return;
            };
            yields(number).await;
            if number == 0 {
                permit.send(number);
                // Keeps its sender.
                std::future::pending::<()>().await;
            }
        });
    }
    yield_now().await;
    rx.close();
    while rx.recv().await.is_some() {}
}
