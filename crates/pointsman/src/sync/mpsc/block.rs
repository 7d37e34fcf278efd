//! A block: room for some messages that follow each other, linked with the blocks before and after it.

use std::mem::MaybeUninit;
use std::ptr;

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::Ordering::Relaxed;
use crate::loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

/// Messages of a block.
#[cfg(not(loom))]
pub(super) const SLOTS: u64 = 32;
/// Messages of a block: few, so that models see many blocks.
#[cfg(loom)]
pub(super) const SLOTS: u64 = 2;

/// Stands for "not yet" in [`Block::passed`].
pub(super) const NOT_YET: u64 = u64::MAX;

pub(super) struct Slot<T> {
    /// The sender's until `is_ready`, then the receiver's.
    pub(super) message: UnsafeCell<MaybeUninit<T>>,
    pub(super) is_ready: AtomicBool,
}

pub(super) struct Block<T> {
    /// Which block of the channel it is: it holds the messages from `number * SLOTS` on. Fixed while the
    /// block is linked.
    pub(super) number: u64,
    /// The block before. Only looked at while that one is linked too. Fixed while the block is linked.
    pub(super) previous: *mut Block<T>,
    pub(super) next: AtomicPtr<Block<T>>,
    /// When the receiver has received this many messages, no sender can come by here any more.
    pub(super) passed: AtomicU64,
    pub(super) slots: [Slot<T>; SLOTS as usize],
}

impl<T> Block<T> {
    pub(super) fn allocate() -> *mut Self {
        Box::into_raw(Box::new(Self {
            number: 0,
            previous: ptr::null_mut(),
            next: AtomicPtr::new(ptr::null_mut()),
            passed: AtomicU64::new(NOT_YET),
            slots: std::array::from_fn(|_| Slot {
                message: UnsafeCell::new(MaybeUninit::uninit()),
                is_ready: AtomicBool::new(false),
            }),
        }))
    }

    /// Makes a block that was taken out ready to be linked again. Its slots are empty.
    ///
    /// # Safety
    /// The block is linked nowhere, and the caller alone has it.
    pub(super) unsafe fn reset(block: *mut Self) {
        // SAFETY: the caller's.
        let block = unsafe { &mut *block };
        block.next.store(ptr::null_mut(), Relaxed);
        block.passed.store(NOT_YET, Relaxed);
    }

    /// # Safety
    /// Made by [`allocate`](Self::allocate), and the caller alone has it. Messages that are in it are not
    /// dropped.
    pub(super) unsafe fn free(block: *mut Self) {
        // SAFETY: the caller's.
        drop(unsafe { Box::from_raw(block) });
    }

    pub(super) fn slot(&self, index: u64) -> &Slot<T> {
        &self.slots[(index % SLOTS) as usize]
    }
}
