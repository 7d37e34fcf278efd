//! Models of the semaphore: every order in which threads can meet.

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
fn no_more_than_the_permits_are_out() {
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
fn many_permits_come_one_by_one() {
    loom::model(|| {
        let shared = Arc::new((Semaphore::new(0), [UnsafeCell::new(0), UnsafeCell::new(0)]));
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let shared = shared.clone();
                thread::spawn(move || {
                    // SAFETY: the model fails if another thread reaches it.
                    shared.1[number].with_mut(|cell| unsafe { *cell = 1 });
                    shared.0.add_permits(1);
                })
            })
            .collect();
        block_on(shared.0.acquire_many(2)).unwrap().forget();
        for cell in &shared.1 {
            // SAFETY: as above.
            assert_eq!(cell.with(|cell| unsafe { *cell }), 1);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(shared.0.available_permits(), 0);
    });
}

#[test]
fn closing_lets_all_go() {
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
fn who_gives_up_leaves_its_permits_to_the_next() {
    loom::model(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let mut cx = Context::from_waker(Waker::noop());
        let releasing = semaphore.clone();
        let mut impatient = Box::pin(semaphore.acquire_many(2));
        let has_all = impatient.as_mut().poll(&mut cx).is_ready();
        assert!(!has_all);
        let patient = semaphore.clone();
        let next = thread::spawn(move || block_on(patient.acquire()).unwrap().forget());
        let thread = thread::spawn(move || releasing.add_permits(1));
        drop(impatient);
        next.join().unwrap();
        thread.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn permits_are_not_lost_between_trying_and_joining() {
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
