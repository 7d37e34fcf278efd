//! The receiver's side of a queue: what it alone knows, and how it takes messages out.
//!
//! Invariant: there is one front for a queue, and it goes with the receiver. When it is dropped, every message
//! that was sent is dropped with it, and all blocks are freed, whether senders are left or not.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;

use super::backoff::Backoff;
use super::block::Block;
use super::queue::Queue;
use crate::loom::hint;
use crate::loom::sync::atomic::Ordering::{Acquire, Relaxed};

/// How often the receiver looks again at a place that is taken before it lets others run.
#[cfg(not(all(test, loom)))]
const LOOKS: u32 = 64;
/// How often the receiver looks again: a model lets others run at each look.
#[cfg(all(test, loom))]
const LOOKS: u32 = 1;

/// Stands for "not yet" in [`Front::end`].
const OPEN: u64 = u64::MAX;

pub(super) struct Front<T> {
    /// The next message to be received.
    index: u64,
    /// The block that it was in last; null before the first message.
    block: *mut Block<T>,
    /// The first block that is still linked.
    oldest: *mut Block<T>,
    /// How many messages there are in all, if the receiver has closed the queue.
    end: u64,
}

// SAFETY: messages go with the receiver.
unsafe impl<T: Send> Send for Front<T> {}
// SAFETY: a shared front gives numbers only.
unsafe impl<T: Send> Sync for Front<T> {}
// A panic leaves nothing half done: messages are moved, never changed in place.
impl<T> UnwindSafe for Front<T> {}
impl<T> RefUnwindSafe for Front<T> {}

/// What the receiver finds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A message, which is there to be [read](Front::read).
    Message,
    /// Nothing now.
    Empty,
    /// A place is taken, but its message has not come yet.
    Busy,
    /// Nothing any more.
    Finished,
}

impl<T> Front<T> {
    pub(super) fn new() -> Self {
        Self {
            index: 0,
            block: ptr::null_mut(),
            oldest: ptr::null_mut(),
            end: OPEN,
        }
    }

    /// Refuses all messages from now on.
    pub(super) fn close(&mut self, queue: &Queue<T>) {
        let tail = queue.close();
        if self.end == OPEN {
            self.end = tail.places();
        }
    }

    /// How many messages are on their way.
    pub(super) fn len(&self, queue: &Queue<T>) -> usize {
        (self.end.min(queue.tail().places()) - self.index) as usize
    }

    /// Whether all that was sent up to this tail is received.
    pub(super) fn has_all(&self, places: u64) -> bool {
        self.index == self.end.min(places)
    }

    /// Looks for the next message.
    ///
    /// # Safety
    /// The queue is the one that this is the front of.
    #[inline]
    pub(super) unsafe fn find(&mut self, queue: &Queue<T>) -> Found {
        for _ in 0..LOOKS {
            // SAFETY: the caller's.
            if unsafe { self.is_ready(queue) } {
                return Found::Message;
            }
            let tail = queue.tail();
            if self.has_all(tail.places()) {
                return if self.end != OPEN || tail.is_abandoned() {
                    Found::Finished
                } else {
                    Found::Empty
                };
            }
            hint::spin_loop();
        }
        Found::Busy
    }

    /// Looks for the next message, and waits on the spot for one that is about to come.
    ///
    /// # Safety
    /// As of [`find`](Self::find).
    pub(super) unsafe fn find_settled(&mut self, queue: &Queue<T>) -> Found {
        let mut backoff = Backoff::new();
        loop {
            // SAFETY: the caller's.
            match unsafe { self.find(queue) } {
                Found::Busy => backoff.wait(),
                found => return found,
            }
        }
    }

    /// # Safety
    /// As of [`find`](Self::find).
    #[inline]
    unsafe fn is_ready(&mut self, queue: &Queue<T>) -> bool {
        // SAFETY: the block that the receiver was in last is linked.
        if self.block.is_null() || !unsafe { (*self.block).holds(self.index) } {
            // SAFETY: the caller's.
            if unsafe { !self.enter_block(queue) } {
                return false;
            }
        }
        // SAFETY: the receiver has not received all that is in the block, so it is linked.
        let slot = unsafe { Block::slot(self.block, self.index) };
        // ORDERING: pairs with the Release of `fill`.
        slot.is_ready.load(Acquire)
    }

    /// Receives what was found, with one copy from its place to where the caller wants it.
    ///
    /// # Safety
    /// [`find`](Self::find) has just found a message.
    #[inline(always)]
    pub(super) unsafe fn read(&mut self) -> T {
        // SAFETY: the receiver has not received all that is in the block, so it is linked.
        let slot = unsafe { Block::slot(self.block, self.index) };
        // For whoever uses the block again, which is only given on when the receiver comes back.
        slot.is_ready.store(false, Relaxed);
        self.index += 1;
        // SAFETY: ready, so there is a message, and it is the receiver's.
        slot.message
            .with(|place| unsafe { (*place).assume_init_read() })
    }

    /// Goes to the block of the next message, if it is linked.
    ///
    /// # Safety
    /// As of [`find`](Self::find).
    #[cold]
    unsafe fn enter_block(&mut self, queue: &Queue<T>) -> bool {
        let next = if self.block.is_null() {
            self.oldest = queue.oldest_block();
            self.oldest
        } else {
            // ORDERING: the block is seen whole.
            // SAFETY: the block that the receiver was in last is linked.
            unsafe { (*self.block).next.load(Acquire) }
        };
        if next.is_null() {
            return false;
        }
        self.block = next;
        // SAFETY: the caller's.
        unsafe { self.release_blocks(queue) };
        true
    }

    /// Takes out the blocks that nobody can come by any more.
    ///
    /// # Safety
    /// As of [`find`](Self::find).
    unsafe fn release_blocks(&mut self, queue: &Queue<T>) {
        while self.oldest != self.block {
            // SAFETY: linked.
            unsafe {
                // ORDERING: pairs with the Release of `advance_hint`, and that of the last message: nobody
                // touches the block any more.
                if (*self.oldest).passed.load(Acquire) > self.index {
                    return;
                }
                let next = (*self.oldest).next.load(Relaxed);
                queue.keep_spare(self.oldest);
                self.oldest = next;
            }
        }
    }

    /// Closes the queue, drops every message that was sent, and frees all memory. Waits for the messages that
    /// are just being sent, so that none is left behind. `received` is called before each is dropped.
    ///
    /// # Safety
    /// As of [`find`](Self::find), and neither is used for receiving after this.
    pub(super) unsafe fn clear(&mut self, queue: &Queue<T>, received: impl Fn()) {
        /// Goes on also if the drop of a message panics.
        struct Rest<'a, T, F: Fn()> {
            front: &'a mut Front<T>,
            queue: &'a Queue<T>,
            received: F,
        }

        impl<T, F: Fn()> Rest<'_, T, F> {
            fn drain(&mut self) {
                // SAFETY: the caller's.
                while unsafe { self.front.find_settled(self.queue) } == Found::Message {
                    (self.received)();
                    // SAFETY: found.
                    drop(unsafe { self.front.read() });
                }
            }
        }

        impl<T, F: Fn()> Drop for Rest<'_, T, F> {
            fn drop(&mut self) {
                self.drain();
                let front = &mut *self.front;
                if front.block.is_null() {
                    front.oldest = self.queue.oldest_block();
                }
                // SAFETY: closed, and every place is received.
                unsafe { self.queue.free_blocks(front.oldest) };
                front.block = ptr::null_mut();
                front.oldest = ptr::null_mut();
            }
        }

        self.close(queue);
        let mut rest = Rest {
            front: self,
            queue,
            received,
        };
        rest.drain();
    }
}
