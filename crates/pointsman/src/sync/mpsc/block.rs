//! A block: room for some messages that follow each other, linked with the blocks before and after it.
//!
//! Invariant: a block is one allocation, the header with its slots behind it, and is made where it stays. No
//! message, and no room for one, is moved over the stack to make it, and a slot is not written to before it
//! is used, but for its flag.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr;

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::Ordering::Relaxed;
use crate::loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

/// Messages of a block, if they are small.
#[cfg(not(all(test, loom)))]
const SLOTS: usize = 32;
/// Messages of a block: few, so that models see many blocks.
#[cfg(all(test, loom))]
const SLOTS: usize = 2;

/// How much room the messages of a block take at most, if they are more than one. With it Tokio's
/// `send/large`, whose messages are of 32 KiB, allocates those and not a megabyte.
const BYTES: usize = 16 << 10;

/// How much smaller the first block of a channel is than those that follow: many channels carry few messages.
#[cfg(not(all(test, loom)))]
const FIRST: usize = 8;
#[cfg(all(test, loom))]
const FIRST: usize = 2;

/// Stands for "not yet" in [`Block::passed`].
pub(super) const NOT_YET: u64 = u64::MAX;

pub(super) struct Slot<T> {
    /// The sender's until `is_ready`, then the receiver's.
    pub(super) message: UnsafeCell<MaybeUninit<T>>,
    pub(super) is_ready: AtomicBool,
}

#[repr(C)]
pub(super) struct Block<T> {
    /// The first of its messages. Fixed while the block is linked.
    start: u64,
    /// How many messages it holds.
    length: u64,
    /// The block before. Only looked at while that one is linked too. Fixed while the block is linked.
    pub(super) previous: *mut Block<T>,
    pub(super) next: AtomicPtr<Block<T>>,
    /// When the receiver has received this many messages, no sender can come by here any more.
    pub(super) passed: AtomicU64,
    /// Where the slots begin.
    slots: [Slot<T>; 0],
}

impl<T> Block<T> {
    const LENGTH: usize = {
        let fitting = BYTES / size_of::<Slot<T>>();
        if fitting >= SLOTS {
            SLOTS
        } else if fitting > 0 {
            fitting
        } else {
            1
        }
    };

    const FIRST_LENGTH: usize = Self::LENGTH.div_ceil(FIRST);

    fn layout(length: usize) -> Layout {
        let layout = Layout::array::<Slot<T>>(length).and_then(|slots| {
            let (layout, offset) = Layout::new::<Self>().extend(slots)?;
            debug_assert_eq!(offset, std::mem::offset_of!(Self, slots));
            Ok(layout.pad_to_align())
        });
        match layout {
            Ok(layout) => layout,
            Err(_) => panic!("a message is larger than memory can be"),
        }
    }

    /// A block for the first messages of a channel.
    pub(super) fn first() -> *mut Self {
        Self::allocate(Self::FIRST_LENGTH)
    }

    /// A block for the messages behind the first block.
    pub(super) fn further() -> *mut Self {
        Self::allocate(Self::LENGTH)
    }

    fn allocate(length: usize) -> *mut Self {
        let layout = Self::layout(length);
        // SAFETY: the header is not empty.
        let block = unsafe { alloc(layout) }.cast::<Self>();
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the memory is for this layout, so all that is written is inside, and nobody else has it. A
        // message's place needs nothing written, except in models, which watch it.
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

    /// # Safety
    /// The block is live.
    unsafe fn slots(block: *mut Self) -> *mut Slot<T> {
        // SAFETY: the caller's; no reference is made, which would reach no further than the header.
        unsafe { (&raw mut (*block).slots).cast() }
    }

    /// Puts a block that is not linked behind another, or first.
    ///
    /// # Safety
    /// Both are live, and the caller alone has the block.
    pub(super) unsafe fn place_behind(block: *mut Self, previous: *mut Self) {
        // SAFETY: the caller's. What is read of the other is fixed.
        unsafe {
            (*block).previous = previous;
            (*block).start = if previous.is_null() {
                0
            } else {
                (*previous).start + (*previous).length
            };
        }
    }

    /// Makes a block that was taken out ready to be linked again, if it is of a length to be used again. Its
    /// slots are empty.
    ///
    /// # Safety
    /// The block is linked nowhere, and the caller alone has it.
    pub(super) unsafe fn reset(block: *mut Self) -> bool {
        // SAFETY: the caller's.
        let block = unsafe { &mut *block };
        block.next.store(ptr::null_mut(), Relaxed);
        block.passed.store(NOT_YET, Relaxed);
        block.length == Self::LENGTH as u64
    }

    /// # Safety
    /// The caller alone has the block. Messages that are in it are not dropped.
    pub(super) unsafe fn free(block: *mut Self) {
        // SAFETY: the caller's. It was made for this layout.
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
    pub(super) fn is_behind(&self, index: u64) -> bool {
        self.start > index
    }

    #[inline]
    pub(super) fn holds(&self, index: u64) -> bool {
        index.wrapping_sub(self.start) < self.length
    }

    /// # Safety
    /// The block is live, stays so while the slot is used, and [`holds`](Self::holds) the message.
    #[inline]
    pub(super) unsafe fn slot<'a>(block: *mut Self, index: u64) -> &'a Slot<T> {
        // SAFETY: the caller's.
        unsafe { &*Self::slots(block).add((index - (*block).start) as usize) }
    }
}
