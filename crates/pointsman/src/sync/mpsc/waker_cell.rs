//! The cell in which the receiver stores its waker.
//!
//! Invariant: the queue's flag RECEIVER_WAITS says who owns the cell. While the flag is set, the waker
//! belongs to the thread that clears it. While it is clear, an empty cell belongs to the receiver, and a full
//! one to the thread that cleared the flag, which empties it at once. So neither side takes a lock, and no
//! code of a waker runs while a sender owns the cell.

use std::task::Waker;

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicBool;
use crate::loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub(super) struct WakerCell {
    is_full: AtomicBool,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: the cell has one owner at a time, and wakers are `Send`.
unsafe impl Sync for WakerCell {}

impl WakerCell {
    pub(super) fn new() -> Self {
        Self {
            is_full: AtomicBool::new(false),
            waker: UnsafeCell::new(None),
        }
    }

    /// Whether the cell has a waker. If not, it belongs to the receiver, which calls this.
    pub(super) fn is_full(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `take`: that thread does not use the cell any more.
        self.is_full.load(Acquire)
    }

    /// Stores a waker.
    ///
    /// # Safety
    /// The caller owns the cell, which is empty.
    pub(super) unsafe fn put(&self, waker: Waker) {
        // SAFETY: the caller owns the cell.
        self.waker.with_mut(|place| unsafe { *place = Some(waker) });
        // Relaxed, as only the receiver reads this flag. The queue's flag publishes the waker.
        self.is_full.store(true, Relaxed);
    }

    /// Takes the waker out.
    ///
    /// # Safety
    /// The caller owns the cell.
    pub(super) unsafe fn take(&self) -> Option<Waker> {
        // SAFETY: the caller owns the cell.
        let waker = self.waker.with_mut(|place| unsafe { (*place).take() });
        // ORDERING: Release pairs with the Acquire of `is_full`: the receiver writes the cell after this
        // thread emptied it.
        self.is_full.store(false, Release);
        waker
    }
}
