//! Loom models of the semaphore.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::*;

#[test]
fn at_most_the_permits_are_acquired() {
    loom::model(|| {
        let shared = Arc::new((Semaphore::new(1), AtomicUsize::new(0)));
        let work = |shared: &(Semaphore, AtomicUsize)| {
            let permit = block_on(shared.0.acquire()).unwrap();
            assert_eq!(shared.1.fetch_add(1, Ordering::Relaxed), 0);
            shared.1.fetch_sub(1, Ordering::Relaxed);
            drop(permit);
        };
        let other = shared.clone();
        let thread = thread::spawn(move || work(&other));
        work(&shared);
        thread.join().unwrap();
        assert_eq!(shared.0.available_permits(), 1);
    });
}

#[test]
fn a_request_for_many_permits_collects_them_one_by_one() {
    loom::model(|| {
        let shared = Arc::new((Semaphore::new(0), [UnsafeCell::new(0), UnsafeCell::new(0)]));
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let shared = shared.clone();
                thread::spawn(move || {
                    // SAFETY: loom's cell fails the model if another thread accesses it at the same time.
                    shared.1[number].with_mut(|cell| unsafe { *cell = 1 });
                    shared.0.add_permits(1);
                })
            })
            .collect();
        block_on(shared.0.acquire_many(2)).unwrap().forget();
        for cell in &shared.1 {
            // SAFETY: loom's cell fails the model if another thread writes it at the same time.
            assert_eq!(cell.with(|cell| unsafe { *cell }), 1);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(shared.0.available_permits(), 0);
    });
}

#[test]
fn close_wakes_all_waiters() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let waiting = semaphore.clone();
        let thread = thread::spawn(move || assert!(block_on(waiting.acquire_many(2)).is_err()));
        semaphore.add_permits(1);
        semaphore.close();
        thread.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn a_cancelled_request_passes_its_permits_on() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let mut cx = Context::from_waker(Waker::noop());
        let releasing = semaphore.clone();
        let mut cancelled = Box::pin(semaphore.acquire_many(2));
        let has_all = cancelled.as_mut().poll(&mut cx).is_ready();
        assert!(!has_all);
        let waiter = semaphore.clone();
        let next = thread::spawn(move || block_on(waiter.acquire()).unwrap().forget());
        let thread = thread::spawn(move || releasing.add_permits(1));
        drop(cancelled);
        next.join().unwrap();
        thread.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn a_permit_released_between_try_and_enqueue_is_not_lost() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let releasing = semaphore.clone();
        let thread = thread::spawn(move || {
            releasing.add_permits(1);
            releasing.forget_permits(1)
        });
        let mut acquire = pin!(semaphore.acquire());
        let mut acquired = || match acquire
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(permit) => {
                permit.unwrap().forget();
                true
            }
            Poll::Pending => false,
        };
        let at_once = acquired();
        let forgotten = thread.join().unwrap();
        let later = at_once || acquired();
        assert_eq!(usize::from(later) + forgotten, 1);
    });
}
