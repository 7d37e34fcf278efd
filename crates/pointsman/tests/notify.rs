//! `Notify`.

#![cfg(not(loom))]

use std::panic::catch_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use futures::executor::block_on;
use pointsman::sync::Notify;
use pointsman::sync::futures::{Notified, OwnedNotified};
use tokio_test::task::{Spawn, spawn};
use tokio_test::{assert_pending, assert_ready};

/// How often threads meet; fewer times where each step is checked (miri).
const ROUNDS: usize = if cfg!(miri) { 10 } else { 500 };

/// This many waiters, each polled once.
fn waiting(notify: &Notify, count: usize) -> Vec<Spawn<Notified<'_>>> {
    (0..count)
        .map(|_| {
            let mut notified = spawn(notify.notified());
            assert_pending!(notified.poll());
            notified
        })
        .collect()
}

fn woken(waiting: &[Spawn<Notified<'_>>]) -> Vec<usize> {
    let places = waiting.iter().enumerate();
    places
        .filter(|(_, notified)| notified.is_woken())
        .map(|(place, _)| place)
        .collect()
}

#[test]
fn one_permit_is_stored_however_often() {
    let notify = Notify::new();
    notify.notify_one();
    notify.notify_one();
    let mut first = spawn(notify.notified());
    assert_ready!(first.poll());
    assert_ready!(first.poll());
    assert_pending!(spawn(notify.notified()).poll());
}

#[test]
fn the_oldest_and_the_newest_are_notified() {
    let notify = Notify::new();
    let mut waiting = waiting(&notify, 4);
    notify.notify_one();
    notify.notify_last();
    notify.notify_last();
    assert_eq!(woken(&waiting), [0, 2, 3]);
    for place in [0, 2, 3] {
        assert_ready!(waiting[place].poll());
    }
    assert_pending!(waiting[1].poll());
}

#[test]
fn all_that_exist_are_notified_and_none_later() {
    let notify = Notify::new();
    let fresh = notify.notified();
    // More than one batch of wakeups.
    let mut polled = waiting(&notify, 100);
    notify.notify_waiters();
    assert_eq!(woken(&polled).len(), 100);
    assert_ready!(spawn(fresh).poll());
    for notified in &mut polled {
        assert_ready!(notified.poll());
    }
    assert_pending!(spawn(notify.notified()).poll());
}

#[test]
fn a_stored_permit_outlives_a_notification_for_all() {
    let notify = Notify::new();
    let mut fresh = spawn(notify.notified());
    notify.notify_one();
    notify.notify_waiters();
    assert_ready!(fresh.poll());
    assert_ready!(spawn(notify.notified()).poll());
    assert_pending!(spawn(notify.notified()).poll());
}

#[test]
fn a_cancelled_waiter_passes_on_notify_one() {
    let notify = Notify::new();
    for last in [false, true] {
        let mut waiting = waiting(&notify, 3);
        let taken = if last {
            notify.notify_last();
            2
        } else {
            notify.notify_one();
            0
        };
        drop(waiting.remove(taken));
        assert_eq!(woken(&waiting), [if last { 1 } else { 0 }]);
        drop(waiting);
        assert_ready!(spawn(notify.notified()).poll());
    }
}

#[test]
fn a_cancelled_waiter_does_not_pass_on_notify_waiters() {
    let notify = Notify::new();
    let waiting = waiting(&notify, 2);
    notify.notify_waiters();
    drop(waiting);
    assert_pending!(spawn(notify.notified()).poll());
}

#[test]
fn a_waiter_cancelled_before_a_notification_is_skipped() {
    let notify = Notify::new();
    for left in 0..3 {
        let mut waiting = waiting(&notify, 3);
        drop(waiting.remove(left));
        notify.notify_one();
        notify.notify_one();
        assert_eq!(woken(&waiting), [0, 1]);
        waiting
            .iter_mut()
            .for_each(|notified| assert_ready!(notified.poll()));
    }
    drop(waiting(&notify, 3));
    notify.notify_one();
    assert_ready!(spawn(notify.notified()).poll());
}

#[test]
fn an_enabled_waiter_is_in_the_queue() {
    let notify = Notify::new();
    let mut enabled = Box::pin(notify.notified());
    assert!(!enabled.as_mut().enable());
    assert!(!enabled.as_mut().enable());
    let mut polled = spawn(notify.notified());
    assert_pending!(polled.poll());
    notify.notify_one();
    assert!(!polled.is_woken());
    assert!(enabled.as_mut().enable());
    assert_ready!(spawn(enabled).poll());
    notify.notify_one();
    assert!(polled.is_woken());
    notify.notify_one();
    drop(polled);
    assert!(Box::pin(notify.notified()).as_mut().enable());
}

#[test]
fn a_waiter_wakes_the_task_that_polled_last() {
    let notify = Notify::new();
    let mut notified = Box::pin(notify.notified());
    let mut tasks = [spawn(()), spawn(())];
    for task in &mut tasks {
        task.enter(|cx, _| assert_pending!(notified.as_mut().poll(cx)));
    }
    notify.notify_one();
    assert!(!tasks[0].is_woken());
    assert!(tasks[1].is_woken());
}

struct Act(Box<dyn Fn() + Send + Sync>);

impl Wake for Act {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn poll_with(notified: Pin<&mut impl Future<Output = ()>>, act: impl Fn() + Send + Sync + 'static) {
    let waker = Waker::from(Arc::new(Act(Box::new(act))));
    assert_pending!(notified.poll(&mut Context::from_waker(&waker)));
}

#[test]
fn a_waker_that_panics_keeps_no_other_from_waking() {
    let notify = Notify::new();
    let mut bad = Box::pin(notify.notified());
    poll_with(bad.as_mut(), || panic!("this waker fails"));
    let mut good = waiting(&notify, 70);
    assert!(catch_unwind(|| notify.notify_waiters()).is_err());
    assert_eq!(woken(&good).len(), 70);
    good.iter_mut()
        .for_each(|notified| assert_ready!(notified.poll()));
    assert_ready!(spawn(bad).poll());
}

#[test]
fn a_waker_may_drop_and_notify_others() {
    let notify = Arc::new(Notify::new());
    // The first waiter of more than a batch drops the last, which was not yet woken.
    let last = Arc::new(std::sync::Mutex::new(None::<Pin<Box<OwnedNotified>>>));
    let mut first = Box::pin(notify.clone().notified_owned());
    poll_with(first.as_mut(), {
        let (notify, last) = (notify.clone(), last.clone());
        move || {
            drop(last.lock().unwrap().take());
            notify.notify_one();
            notify.notify_waiters();
        }
    });
    let mut between = waiting(&notify, 50);
    let mut dropped = Box::pin(notify.clone().notified_owned());
    poll_with(dropped.as_mut(), || panic!("it was dropped"));
    *last.lock().unwrap() = Some(dropped);
    notify.notify_waiters();
    between
        .iter_mut()
        .for_each(|notified| assert_ready!(notified.poll()));
    assert_ready!(spawn(first).poll());
    assert_ready!(spawn(notify.notified()).poll());
    assert_pending!(spawn(notify.notified()).poll());
}

#[test]
fn a_waiter_not_yet_woken_is_ready_when_polled() {
    let notify = Arc::new(Notify::new());
    let last = Arc::new(std::sync::Mutex::new(Box::pin(
        notify.clone().notified_owned(),
    )));
    let mut first = Box::pin(notify.clone().notified_owned());
    poll_with(first.as_mut(), {
        let last = last.clone();
        move || assert_ready!(spawn(last.lock().unwrap().as_mut()).poll())
    });
    let between = waiting(&notify, 50);
    assert_pending!(spawn(last.lock().unwrap().as_mut()).poll());
    notify.notify_waiters();
    assert_eq!(woken(&between).len(), 50);
    assert_ready!(spawn(first).poll());
}

#[test]
fn threads_lose_no_notification() {
    let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let thread = std::thread::spawn({
        let (there, back) = (there.clone(), back.clone());
        move || {
            for _ in 0..ROUNDS {
                block_on(there.notified());
                back.notify_one();
            }
        }
    });
    for _ in 0..ROUNDS {
        there.notify_one();
        block_on(back.clone().notified_owned());
    }
    thread.join().unwrap();
}

#[test]
fn threads_drop_futures_that_are_being_notified() {
    let notify = Arc::new(Notify::new());
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (notify, stop) = (notify.clone(), stop.clone());
            std::thread::spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let mut pinned: Vec<_> = (0..40).map(|_| spawn(notify.notified())).collect();
                    for notified in &mut pinned {
                        let _ = notified.poll();
                    }
                    pinned.truncate(20);
                    for notified in &mut pinned {
                        let _ = notified.poll();
                    }
                }
            })
        })
        .collect();
    for round in 0..4 * ROUNDS {
        match round % 3 {
            0 => notify.notify_one(),
            1 => notify.notify_last(),
            _ => notify.notify_waiters(),
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    notify.notify_one();
    block_on(notify.notified());
}

/// Notifies when it is dropped.
struct Last(Arc<Notify>);

impl Wake for Last {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Last {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[test]
fn a_waker_may_notify_when_it_is_replaced() {
    let notify = Arc::new(Notify::new());
    let mut notified = Box::pin(notify.notified());
    let waker = Waker::from(Arc::new(Last(notify.clone())));
    assert_pending!(notified.as_mut().poll(&mut Context::from_waker(&waker)));
    drop(waker);
    let mut task = spawn(notified);
    assert_pending!(task.poll());
    assert!(task.is_woken());
    assert_ready!(task.poll());
}
