//! Loom models of notifications.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::thread;

use super::*;

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_notified_task_sees_what_came_before() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), UnsafeCell::new(0)));
        let notifying = shared.clone();
        let thread = thread::spawn(move || {
            // SAFETY: loom's cell fails the model if another thread accesses it at the same time.
            notifying.1.with_mut(|value| unsafe { *value = 1 });
            notifying.0.notify_one();
        });
        block_on(shared.0.notified());
        // SAFETY: loom's cell fails the model if another thread writes it at the same time.
        assert_eq!(shared.1.with(|value| unsafe { *value }), 1);
        thread.join().unwrap();
    });
}

#[test]
fn a_notification_of_a_cancelled_waiter_goes_to_the_next() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut cancelled = Box::pin(notify.notified());
        assert!(poll_once(cancelled.as_mut()).is_pending());
        let notifying = notify.clone();
        let first = thread::spawn(move || notifying.notify_one());
        let waiter = notify.clone();
        let second = thread::spawn(move || block_on(waiter.notified()));
        drop(cancelled);
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn two_notifications_wake_two_waiters() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let notify = notify.clone();
                let mut notified = Box::pin(notify.clone().notified_owned());
                assert!(poll_once(notified.as_mut()).is_pending());
                thread::spawn(move || {
                    notify.notify_one();
                    block_on(notified);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn notify_waiters_notifies_all_existing_futures() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let polled = {
            let mut notified = Box::pin(notify.clone().notified_owned());
            assert!(poll_once(notified.as_mut()).is_pending());
            thread::spawn(move || block_on(notified))
        };
        let fresh = notify.notified();
        let notifying = notify.clone();
        let thread = thread::spawn(move || notifying.notify_waiters());
        block_on(fresh);
        polled.join().unwrap();
        thread.join().unwrap();
        assert!(poll_once(Box::pin(notify.notified()).as_mut()).is_pending());
    });
}

#[test]
fn a_waiter_dropped_during_notify_waiters_is_not_used_again() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut first = Box::pin(notify.clone().notified_owned());
        let mut second = Box::pin(notify.clone().notified_owned());
        assert!(poll_once(first.as_mut()).is_pending());
        assert!(poll_once(second.as_mut()).is_pending());
        let dropping = thread::spawn(move || drop(second));
        let notifying = notify.clone();
        let thread = thread::spawn(move || notifying.notify_waiters());
        block_on(first);
        dropping.join().unwrap();
        thread.join().unwrap();
        assert!(poll_once(Box::pin(notify.notified()).as_mut()).is_pending());
    });
}

#[test]
fn a_future_notified_by_notify_waiters_leaves_the_permit() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let one = notify.clone();
        let first = thread::spawn(move || one.notify_one());
        let mut notified = Box::pin(notify.notified());
        let waited = poll_once(notified.as_mut()).is_pending();
        notify.notify_waiters();
        assert!(poll_once(notified.as_mut()).is_ready());
        first.join().unwrap();
        drop(notified);
        // A future that took the permit at its first poll left none.
        let left = poll_once(Box::pin(notify.notified()).as_mut()).is_ready();
        if !waited {
            assert!(!left);
        }
    });
}
