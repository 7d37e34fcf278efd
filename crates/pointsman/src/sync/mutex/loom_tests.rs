//! Loom models of the mutex.

use std::future::Future;
use std::task::{Context, Waker};

use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use super::*;

#[test]
fn one_thread_at_a_time_accesses_the_value() {
    loom::model(|| {
        let mutex = Arc::new(Mutex::new(UnsafeCell::new(0)));
        let add = |mutex: &Mutex<UnsafeCell<u32>>| {
            let value = block_on(mutex.lock());
            // SAFETY: loom's cell fails the model if another thread accesses it at the same time.
            value.with_mut(|value| unsafe { *value += 1 });
        };
        let other = mutex.clone();
        let thread = thread::spawn(move || add(&other));
        add(&mutex);
        thread.join().unwrap();
        let value = mutex.try_lock().unwrap();
        // SAFETY: loom's cell fails the model if another thread writes it at the same time.
        assert_eq!(value.with(|value| unsafe { *value }), 2);
    });
}

#[test]
fn a_cancelled_lock_does_not_keep_the_permit() {
    loom::model(|| {
        let mutex = Arc::new(Mutex::new(()));
        let guard = mutex.try_lock().unwrap();
        let cancelled = mutex.clone();
        let thread = thread::spawn(move || {
            let mut lock = Box::pin(cancelled.lock());
            let mut cx = Context::from_waker(Waker::noop());
            let _ = lock.as_mut().poll(&mut cx);
        });
        drop(guard);
        drop(block_on(mutex.lock()));
        thread.join().unwrap();
        assert!(mutex.try_lock().is_ok());
    });
}
