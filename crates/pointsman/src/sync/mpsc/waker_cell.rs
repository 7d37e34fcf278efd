//! The place where a receiver leaves its waker for the senders.
//!
//! Invariant: the queue's word says who owns the place. While its bit `ASLEEP` is set, the waker in it belongs
//! to whoever clears the bit. While the bit is not set, the place is the receiver's if it is empty, and
//! otherwise belongs to the one that has cleared the bit, who empties it at once. So nobody waits for it, no
//! code of a waker runs while it is owned by a sender, and neither side takes a lock.

use std::task::Waker;

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicBool;
use crate::loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub(super) struct WakerCell {
    is_full: AtomicBool,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: wakers may go from thread to thread, and the place has one owner at a time.
unsafe impl Sync for WakerCell {}

impl WakerCell {
    pub(super) fn new() -> Self {
        Self {
            is_full: AtomicBool::new(false),
            waker: UnsafeCell::new(None),
        }
    }

    /// Whether there is a waker. For the receiver: if not, the place is its own.
    pub(super) fn is_full(&self) -> bool {
        // ORDERING: pairs with the Release of `take`: who emptied the place touches it no more.
        self.is_full.load(Acquire)
    }

    /// Puts a waker in.
    ///
    /// # Safety
    /// The place is the caller's, and empty.
    pub(super) unsafe fn put(&self, waker: Waker) {
        // SAFETY: the caller's.
        self.waker.with_mut(|place| unsafe { *place = Some(waker) });
        // The word's bit shows it to senders.
        self.is_full.store(true, Relaxed);
    }

    /// Takes the waker out.
    ///
    /// # Safety
    /// The place is the caller's.
    pub(super) unsafe fn take(&self) -> Option<Waker> {
        // SAFETY: the caller's.
        let waker = self.waker.with_mut(|place| unsafe { (*place).take() });
        // ORDERING: as in `is_full`.
        self.is_full.store(false, Release);
        waker
    }
}
