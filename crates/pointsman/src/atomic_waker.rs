//! A lock-free cell for the waker of one task.
//!
//! # Invariants
//!
//! - The thread that moves the state away from `WAITING` has exclusive access to the waker until it moves the state back.
//!   A concurrent [`take`](AtomicWaker::take) sets `WAKING`, and the registering thread then wakes its own waker.
//! - If `take` misses the waker that a task registers, the task sees after [`register`](AtomicWaker::register) what
//!   happened before `take`.
//!
//! The algorithm is that of `AtomicWaker` in the futures crate. If two tasks register at once, one of them is woken and
//! registers again.

use std::task::Waker;

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

const WAITING: u8 = 0;
const REGISTERING: u8 = 1;
const WAKING: u8 = 2;

pub(crate) struct AtomicWaker {
    state: AtomicU8,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: `Waker` is `Send`, and so is the atomic.
unsafe impl Send for AtomicWaker {}
// SAFETY: `waker` is used only by the thread that has moved `state` away from `WAITING`, and `Waker` is `Send` and `Sync`.
unsafe impl Sync for AtomicWaker {}

/// Exclusive access to the waker of a registering thread, until it is dropped.
struct Registering<'a>(&'a AtomicWaker);

impl AtomicWaker {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU8::new(WAITING),
            waker: UnsafeCell::new(None),
        }
    }

    /// Stores a waker in place of the previous one.
    pub(crate) fn register(&self, waker: &Waker) {
        let state = self
            .state
            // ORDERING: Acquire pairs with the release of the previous thread that had access to the waker; on failure,
            // with that of the `take` that has set `WAKING`, whose event the next poll must see.
            .compare_exchange(WAITING, REGISTERING, Acquire, Acquire);
        if state.is_err() {
            // Another thread takes the waker, or another task registers: this task must poll again.
            waker.wake_by_ref();
            return;
        }
        let registering = Registering(self);
        let is_same = self.waker.with(|cell| {
            // SAFETY: this thread has moved `state` from `WAITING` to `REGISTERING`, so no other thread uses the waker.
            let before = unsafe { &*cell };
            before
                .as_ref()
                .is_some_and(|before| before.will_wake(waker))
        });
        let before = match is_same {
            true => None,
            false => {
                let new = waker.clone();
                // SAFETY: `state` is `REGISTERING` until `registering` is dropped, so no other thread uses the waker.
                self.waker
                    .with_mut(|waker| unsafe { &mut *waker }.replace(new))
            }
        };
        drop(registering);
        // Runs user code, so not before access has ended.
        drop(before);
    }

    /// Takes the waker, which the caller wakes.
    pub(crate) fn take(&self) -> Option<Waker> {
        // ORDERING: Release pairs with the acquire of `register` and `Registering::drop`, whose task then sees what
        // happened before. Acquire pairs with the release of `Registering::drop`, which has stored the waker.
        if self.state.fetch_or(WAKING, AcqRel) != WAITING {
            return None;
        }
        // SAFETY: this thread has moved `state` from `WAITING` to `WAKING`, so no other thread uses the waker.
        let waker = self.waker.with_mut(|waker| unsafe { &mut *waker }.take());
        // ORDERING: Release pairs with the acquire of the next thread that moves `state` away from `WAITING`.
        self.state.fetch_and(!WAKING, Release);
        waker
    }
}

impl Drop for Registering<'_> {
    fn drop(&mut self) {
        let left = self
            .0
            .state
            // ORDERING: Release pairs with the acquire of `take`: the waker is stored. Acquire, on failure, pairs with the
            // release of the `take` that has set `WAKING`.
            .compare_exchange(REGISTERING, WAITING, Release, Acquire);
        if left.is_ok() {
            return;
        }
        // SAFETY: `take` leaves the waker alone if it finds `REGISTERING`, so this thread still has exclusive access.
        let waker = self.0.waker.with_mut(|waker| unsafe { &mut *waker }.take());
        // ORDERING: Release pairs with the acquire of the next thread that moves `state` away from `WAITING`; Acquire with
        // the release of a later `take` that has also set `WAKING`.
        self.0.state.swap(WAITING, AcqRel);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
