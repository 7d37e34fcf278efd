//! Models of notifications: every order in which threads can meet.

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
fn one_notification_is_received_with_what_was_before_it() {
    loom::model(|| {
        let shared = Arc::new((Notify::new(), UnsafeCell::new(0)));
        let notifying = shared.clone();
        let thread = thread::spawn(move || {
            // SAFETY: the model fails if another thread reaches it.
            notifying.1.with_mut(|value| unsafe { *value = 1 });
            notifying.0.notify_one();
        });
        block_on(shared.0.notified());
        // SAFETY: as above.
        assert_eq!(shared.1.with(|value| unsafe { *value }), 1);
        thread.join().unwrap();
    });
}

#[test]
fn a_notification_for_who_gives_up_goes_to_the_next() {
    loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut impatient = Box::pin(notify.notified());
        assert!(poll_once(impatient.as_mut()).is_pending());
        let notifying = notify.clone();
        let first = thread::spawn(move || notifying.notify_one());
        let patient = notify.clone();
        let second = thread::spawn(move || block_on(patient.notified()));
        drop(impatient);
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn two_notifications_wake_two() {
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
fn all_that_exist_receive_a_notification_for_all() {
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
fn who_gives_up_while_all_are_notified_is_not_touched_again() {
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
fn a_permit_is_not_used_up_by_who_was_notified_with_all() {
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
        // Whether it had the permit says whether one is left.
        let left = poll_once(Box::pin(notify.notified()).as_mut()).is_ready();
        if !waited {
            assert!(!left);
        }
    });
}
