//! The receiver's side of a queue: its position, and how it takes messages out.
//!
//! Invariant: a queue has one reader, which belongs to the receiver. [`clear`](QueueReader::clear) drops
//! every message that was sent and frees all blocks, whether senders remain or not.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;

use super::backoff::Backoff;
use super::block::Block;
use super::queue::Queue;
use crate::loom::hint;
use crate::loom::sync::atomic::Ordering::{Acquire, Relaxed};

/// How often the receiver checks a reserved position before it yields. Bounds its spinning to a few
/// microseconds, within which a sender that is not preempted fills its slot. In models 1, as loom switches
/// threads at each check.
const SPINS: u32 = if cfg!(all(test, loom)) { 1 } else { 64 };

/// The value of [`QueueReader::end`] while the queue is open.
const OPEN: u64 = u64::MAX;

pub(super) struct QueueReader<T> {
    /// The position of the next message.
    index: u64,
    /// The block of the last message. Null before the first message.
    block: *mut Block<T>,
    /// The first linked block.
    oldest: *mut Block<T>,
    /// The number of messages ever sent, once the receiver has closed the queue.
    end: u64,
}

// SAFETY: the reader owns the messages of the linked blocks together with the queue, hence `T: Send`. Blocks
// are not bound to a thread.
unsafe impl<T: Send> Send for QueueReader<T> {}
// SAFETY: a shared reader gives access to numbers only.
unsafe impl<T: Send> Sync for QueueReader<T> {}
// A panic leaves no broken state: messages are moved, not changed in place.
impl<T> UnwindSafe for QueueReader<T> {}
impl<T> RefUnwindSafe for QueueReader<T> {}

/// The state of the next position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PeekResult {
    /// A message is ready to be [read](QueueReader::read).
    Message,
    /// The position is not reserved yet.
    Empty,
    /// The position is reserved, and its message not ready yet.
    Busy,
    /// There are no more messages.
    Finished,
}

impl<T> QueueReader<T> {
    pub(super) fn new() -> Self {
        Self {
            index: 0,
            block: ptr::null_mut(),
            oldest: ptr::null_mut(),
            end: OPEN,
        }
    }

    /// Closes the queue: later messages are refused.
    pub(super) fn close(&mut self, queue: &Queue<T>) {
        let tail = queue.close();
        if self.end == OPEN {
            self.end = tail.positions();
        }
    }

    /// Returns the number of messages in the queue.
    pub(super) fn len(&self, queue: &Queue<T>) -> usize {
        (self.end.min(queue.tail().positions()) - self.index) as usize
    }

    /// Whether all of the first `positions` messages are received.
    pub(super) fn has_all(&self, positions: u64) -> bool {
        self.index == self.end.min(positions)
    }

    /// Looks for the next message.
    ///
    /// # Safety
    /// `queue` is the one that this reader belongs to.
    #[inline]
    pub(super) unsafe fn peek(&mut self, queue: &Queue<T>) -> PeekResult {
        for _ in 0..SPINS {
            // SAFETY: the caller passes this reader's queue.
            if unsafe { self.is_ready(queue) } {
                return PeekResult::Message;
            }
            let tail = queue.tail();
            if self.has_all(tail.positions()) {
                return if self.end != OPEN || tail.has_no_senders() {
                    PeekResult::Finished
                } else {
                    PeekResult::Empty
                };
            }
            hint::spin_loop();
        }
        PeekResult::Busy
    }

    /// Looks for the next message, and blocks while it is being sent.
    ///
    /// # Safety
    /// `queue` is the one that this reader belongs to.
    pub(super) unsafe fn peek_settled(&mut self, queue: &Queue<T>) -> PeekResult {
        let mut backoff = Backoff::new();
        loop {
            // SAFETY: the caller passes this reader's queue.
            match unsafe { self.peek(queue) } {
                PeekResult::Busy => backoff.wait(),
                found => return found,
            }
        }
    }

    /// # Safety
    /// `queue` is the one that this reader belongs to.
    #[inline]
    unsafe fn is_ready(&mut self, queue: &Queue<T>) -> bool {
        // SAFETY: only this reader unlinks blocks, and never the current one.
        if self.block.is_null() || !unsafe { (*self.block).holds(self.index) } {
            // SAFETY: the caller passes this reader's queue.
            if unsafe { !self.advance_block(queue) } {
                return false;
            }
        }
        // SAFETY: the current block is linked and holds the position.
        let slot = unsafe { Block::slot(self.block, self.index) };
        // ORDERING: Acquire pairs with the Release of `ReservedSlot::fill`: the message is visible.
        slot.is_ready.load(Acquire)
    }

    /// Receives the message, with one copy from its slot to the caller.
    ///
    /// # Safety
    /// [`peek`](Self::peek) has just returned `Message`.
    #[inline(always)]
    pub(super) unsafe fn read(&mut self) -> T {
        // SAFETY: `peek` made the block of this position the current one, which is linked.
        let slot = unsafe { Block::slot(self.block, self.index) };
        // Resets the slot for the next use of the block. Relaxed, as `keep_spare` publishes it later.
        slot.is_ready.store(false, Relaxed);
        self.index += 1;
        // SAFETY: the slot was ready, so it holds a message that the receiver owns. The position moved on, so
        // it is read once.
        slot.message
            .with(|place| unsafe { (*place).assume_init_read() })
    }

    /// Moves to the block of the next message, if it is linked.
    ///
    /// # Safety
    /// `queue` is the one that this reader belongs to.
    #[cold]
    unsafe fn advance_block(&mut self, queue: &Queue<T>) -> bool {
        let next = if self.block.is_null() {
            self.oldest = queue.first_linked_block();
            self.oldest
        } else {
            // ORDERING: Acquire pairs with the Release exchange of `Queue::next_block`: the block is
            // initialised.
            // SAFETY: only this reader unlinks blocks, and never the current one.
            unsafe { (*self.block).next.load(Acquire) }
        };
        if next.is_null() {
            return false;
        }
        self.block = next;
        // SAFETY: the caller passes this reader's queue.
        unsafe { self.unlink_blocks(queue) };
        true
    }

    /// Unlinks the blocks that no sender visits any more.
    ///
    /// # Safety
    /// `queue` is the one that this reader belongs to.
    unsafe fn unlink_blocks(&mut self, queue: &Queue<T>) {
        while self.oldest != self.block {
            // SAFETY: the oldest block is linked. Once `passed` is reached no sender visits it, so this
            // thread owns it.
            unsafe {
                // ORDERING: Acquire pairs with the Release of `advance_hint`, the last access of the sender
                // that passed the block. The senders of its messages are done since `is_ready` was seen.
                if (*self.oldest).passed.load(Acquire) > self.index {
                    return;
                }
                let next = (*self.oldest).next.load(Relaxed);
                queue.keep_spare(self.oldest);
                self.oldest = next;
            }
        }
    }

    /// Closes the queue, drops all messages, also those being sent, and frees all blocks. `received` is
    /// called before each message is dropped.
    ///
    /// # Safety
    /// `queue` is the one that this reader belongs to. Neither is used for receiving afterwards.
    pub(super) unsafe fn clear(&mut self, queue: &Queue<T>, received: impl Fn()) {
        /// Continues if the drop of a message panics.
        struct Rest<'a, T, F: Fn()> {
            reader: &'a mut QueueReader<T>,
            queue: &'a Queue<T>,
            received: F,
        }

        impl<T, F: Fn()> Rest<'_, T, F> {
            fn drain(&mut self) {
                // SAFETY: the caller of `clear` passes the reader's queue.
                while unsafe { self.reader.peek_settled(self.queue) } == PeekResult::Message {
                    (self.received)();
                    // SAFETY: `peek_settled` has just returned `Message`, and the reader is borrowed
                    // exclusively.
                    drop(unsafe { self.reader.read() });
                }
            }
        }

        impl<T, F: Fn()> Drop for Rest<'_, T, F> {
            fn drop(&mut self) {
                self.drain();
                let reader = &mut *self.reader;
                if reader.block.is_null() {
                    reader.oldest = self.queue.first_linked_block();
                }
                // SAFETY: the queue is closed and every position reserved before is received. `oldest` is the
                // first linked block.
                unsafe { self.queue.free_blocks(reader.oldest) };
                reader.block = ptr::null_mut();
                reader.oldest = ptr::null_mut();
            }
        }

        self.close(queue);
        let mut rest = Rest {
            reader: self,
            queue,
            received,
        };
        rest.drain();
    }
}
