//! A block: an array of message slots, linked with the blocks before and after it.
//!
//! Invariant: a block is one allocation, a header with its slots behind it, initialised in place. Neither
//! messages nor empty slots are moved over the stack to make it. Of a new slot only the ready flag is
//! written.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr;

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::Ordering::Relaxed;
use crate::loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

/// The number of slots of a block, if messages are small: one allocation and one search of the list per 32
/// messages. Bounds what a drained channel retains. In models 2, so that they see many blocks.
const MAX_SLOTS: usize = if cfg!(all(test, loom)) { 2 } else { 32 };

/// The maximum size of a block's slots, if they are more than one. Bounds what a channel of large messages
/// allocates: a block of 32 messages of 32 KiB, as in Tokio's bench `send/large`, would be a megabyte.
const MAX_BYTES: usize = 16 << 10;

/// The factor by which the first block of a channel is smaller than later ones. Bounds the memory of channels
/// with few messages: four slots instead of 32.
const FIRST_DIVISOR: usize = if cfg!(all(test, loom)) { 2 } else { 8 };

/// The value of [`Block::passed`] while the hint has not passed the block.
pub(super) const NOT_YET: u64 = u64::MAX;

pub(super) struct MessageSlot<T> {
    /// Owned by its sender until `is_ready` is set, then by the receiver.
    pub(super) message: UnsafeCell<MaybeUninit<T>>,
    pub(super) is_ready: AtomicBool,
}

#[repr(C)]
pub(super) struct Block<T> {
    /// The position of the first slot. Fixed while the block is linked.
    start: u64,
    /// The number of slots.
    length: u64,
    /// The previous block. Fixed while this block is linked, and used only while the previous one is linked
    /// too.
    pub(super) previous: *mut Block<T>,
    pub(super) next: AtomicPtr<Block<T>>,
    /// Once the receiver has received this many messages, no sender visits the block any more.
    pub(super) passed: AtomicU64,
    /// The start of the slots.
    slots: [MessageSlot<T>; 0],
}

impl<T> Block<T> {
    const LENGTH: usize = {
        let fitting = MAX_BYTES / size_of::<MessageSlot<T>>();
        if fitting >= MAX_SLOTS {
            MAX_SLOTS
        } else if fitting > 0 {
            fitting
        } else {
            1
        }
    };

    const FIRST_LENGTH: usize = Self::LENGTH.div_ceil(FIRST_DIVISOR);

    fn layout(length: usize) -> Layout {
        let layout = Layout::array::<MessageSlot<T>>(length).and_then(|slots| {
            let (layout, offset) = Layout::new::<Self>().extend(slots)?;
            debug_assert_eq!(offset, std::mem::offset_of!(Self, slots));
            Ok(layout.pad_to_align())
        });
        match layout {
            Ok(layout) => layout,
            Err(_) => panic!("a block of this message type exceeds isize::MAX bytes"),
        }
    }

    /// Allocates the first block of a channel.
    pub(super) fn first() -> *mut Self {
        Self::allocate(Self::FIRST_LENGTH)
    }

    /// Allocates a later block.
    pub(super) fn later() -> *mut Self {
        Self::allocate(Self::LENGTH)
    }

    fn allocate(length: usize) -> *mut Self {
        let layout = Self::layout(length);
        // SAFETY: the layout begins with a header, so its size is not zero.
        let block = unsafe { alloc(layout) }.cast::<Self>();
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the memory was allocated with this layout, so all writes are within it, and no other thread
        // knows it. A message's cell needs no write, except in models, where loom tracks it.
        unsafe {
            (&raw mut (*block).start).write(0);
            (&raw mut (*block).length).write(length as u64);
            (&raw mut (*block).previous).write(ptr::null_mut());
            (&raw mut (*block).next).write(AtomicPtr::new(ptr::null_mut()));
            (&raw mut (*block).passed).write(AtomicU64::new(NOT_YET));
            for place in 0..length {
                let slot = Self::slots(block).add(place);
                #[cfg(all(test, loom))]
                (&raw mut (*slot).message).write(UnsafeCell::new(MaybeUninit::uninit()));
                (&raw mut (*slot).is_ready).write(AtomicBool::new(false));
            }
        }
        block
    }

    /// Returns a pointer to the first slot.
    ///
    /// # Safety
    /// The block is live.
    unsafe fn slots(block: *mut Self) -> *mut MessageSlot<T> {
        // SAFETY: the caller promises a live block. The pointer is derived without a reference to the header,
        // so it may be used for the slots behind it.
        unsafe { (&raw mut (*block).slots).cast() }
    }

    /// Sets the position of an unlinked block to follow `previous`.
    ///
    /// # Safety
    /// Both blocks are live, and the caller owns `block`.
    pub(super) unsafe fn follow(block: *mut Self, previous: *mut Self) {
        // SAFETY: the caller owns `block`. The fields read of `previous` are fixed while it is linked.
        unsafe {
            (*block).previous = previous;
            (*block).start = if previous.is_null() {
                0
            } else {
                (*previous).start + (*previous).length
            };
        }
    }

    /// Resets an unlinked block whose slots are empty. Returns whether it has the length of a later block and
    /// can be used again.
    ///
    /// # Safety
    /// The block is not linked, and the caller owns it.
    pub(super) unsafe fn reset(block: *mut Self) -> bool {
        // SAFETY: the caller owns the block, so the reference is exclusive.
        let block = unsafe { &mut *block };
        block.next.store(ptr::null_mut(), Relaxed);
        block.passed.store(NOT_YET, Relaxed);
        block.length == Self::LENGTH as u64
    }

    /// Frees a block. Messages in it are not dropped.
    ///
    /// # Safety
    /// The caller owns the block.
    pub(super) unsafe fn free(block: *mut Self) {
        // SAFETY: the caller owns the block, which was allocated with the layout of its length.
        unsafe {
            let length = (*block).length as usize;
            for place in 0..length {
                ptr::drop_in_place(Self::slots(block).add(place));
            }
            ptr::drop_in_place(block);
            dealloc(block.cast(), Self::layout(length));
        }
    }

    #[inline]
    pub(super) fn starts_after(&self, index: u64) -> bool {
        self.start > index
    }

    #[inline]
    pub(super) fn holds(&self, index: u64) -> bool {
        index.wrapping_sub(self.start) < self.length
    }

    /// # Safety
    /// The block is live while the slot is used, and [`holds`](Self::holds) the position.
    #[inline]
    pub(super) unsafe fn slot<'a>(block: *mut Self, index: u64) -> &'a MessageSlot<T> {
        // SAFETY: the caller promises a live block that holds the position, so the slot is within it.
        unsafe { &*Self::slots(block).add((index - (*block).start) as usize) }
    }
}
