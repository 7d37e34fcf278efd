//! The queue of a channel: a linked list of blocks, with any number of senders and one receiver. This is the
//! state that both sides share; the receiver's own is in [`reader`](super::reader).
//!
//! A sender reserves a position with one `fetch_add` on the tail, writes its message to the slot of that
//! position and marks it ready. The tail also holds the flags RECEIVER_WAITS, CLOSED and SENDERS_GONE. So a
//! sender learns with its position whether to wake the receiver, and a receiver that registers its waker
//! learns whether a position was reserved. Neither misses the other, and a send is one read-modify-write in
//! all.
//!
//! # Invariants
//!
//! - A position reserved while CLOSED is clear gets a message soon: no foreign code runs in between, and the
//!   receiver waits for it without sleeping. A position reserved after CLOSED has no slot.
//! - A block is linked from when its first sender needs it until no sender can visit it: the receiver has
//!   received all its messages and all positions that were reserved before the hint passed the block. Senders
//!   start their search at the hint, so later ones do not visit it.
//! - A sender does not use any block after it marked its message as ready. So a receiver that has set CLOSED
//!   and received all positions reserved before owns all blocks, and frees them.
//!
//! A queue has no block before its first message, and a drained queue retains at most three.

use std::ptr;
use std::task::Waker;

use super::block::{Block, MessageSlot};
use super::waker_cell::WakerCell;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::loom::sync::atomic::{AtomicPtr, AtomicU64};

/// The receiver's waker is stored.
const RECEIVER_WAITS: u64 = 1;
/// The receiver accepts no further messages.
const CLOSED: u64 = 2;
/// All senders are dropped.
const SENDERS_GONE: u64 = 4;
/// The count of reserved positions is in units of this.
const POSITION: u64 = 8;

pub(super) struct Queue<T> {
    tail: AtomicU64,
    /// A linked block at or near the end, where senders start their search. Null before the first message.
    hint: AtomicPtr<Block<T>>,
    /// An empty block for the next sender that needs one.
    spare: AtomicPtr<Block<T>>,
    waker: WakerCell,
}

// SAFETY: a message moves from its sender's thread to the receiver's, hence `T: Send`. All other fields are
// atomics, but for the waker cell, which is `Sync`.
unsafe impl<T: Send> Send for Queue<T> {}
// SAFETY: each slot has one owner at a time, its sender until it is ready and the receiver after that; `T` is
// never shared.
unsafe impl<T: Send> Sync for Queue<T> {}

/// The value of the tail at one moment.
#[derive(Clone, Copy)]
pub(super) struct Tail(u64);

impl Tail {
    /// The number of reserved positions.
    pub(super) fn positions(self) -> u64 {
        self.0 / POSITION
    }

    /// Whether all senders were dropped.
    pub(super) fn has_no_senders(self) -> bool {
        self.0 & SENDERS_GONE != 0
    }
}

/// A reserved position and its slot. The message is copied once into the slot and once out of it.
struct ReservedSlot<'a, T> {
    queue: &'a Queue<T>,
    slot: &'a MessageSlot<T>,
    must_wake: bool,
}

impl<T> ReservedSlot<'_, T> {
    #[inline(always)]
    fn fill(self, message: T) {
        // SAFETY: the position was reserved by this sender, which owns the slot until it is ready.
        self.slot.message.with_mut(|place| unsafe {
            (*place).write(message);
        });
        // ORDERING: Release pairs with the Acquire of `QueueReader::is_ready`, which then sees the message.
        self.slot.is_ready.store(true, Release);
        if self.must_wake {
            self.queue.wake();
        }
    }
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self {
            tail: AtomicU64::new(0),
            hint: AtomicPtr::new(ptr::null_mut()),
            spare: AtomicPtr::new(ptr::null_mut()),
            waker: WakerCell::new(),
        }
    }

    /// Sends a message. Returns it if the queue is closed.
    #[inline(always)]
    pub(super) fn push(&self, message: T) -> Result<(), T> {
        match self.reserve() {
            Some(place) => {
                place.fill(message);
                Ok(())
            }
            None => Err(message),
        }
    }

    /// Reserves the next position, which must be filled at once. `None` if the queue is closed.
    #[inline]
    fn reserve(&self) -> Option<ReservedSlot<'_, T>> {
        // ORDERING: Acquire pairs with the Release of `advance_hint`: a sender with a position beyond the
        // number read there sees the new hint.
        let tail = self.tail.fetch_add(POSITION, Acquire);
        if tail & CLOSED != 0 {
            return None;
        }
        let index = tail / POSITION;
        Some(ReservedSlot {
            queue: self,
            // SAFETY: the position is not received yet, so its block stays linked. `block_of` returns the
            // block that holds it.
            slot: unsafe { Block::slot(self.block_of(index), index) },
            must_wake: tail & RECEIVER_WAITS != 0,
        })
    }

    /// Returns the block of a position that was just reserved.
    #[inline]
    fn block_of(&self, index: u64) -> *mut Block<T> {
        // ORDERING: Acquire pairs with the Release exchanges of `first_block` and `advance_hint`: the block
        // is initialised.
        let hint = self.hint.load(Acquire);
        // SAFETY: a block that the hint points to after a position was reserved stays linked until that
        // position is received.
        if !hint.is_null() && unsafe { (*hint).holds(index) } {
            return hint;
        }
        self.find_block(hint, index)
    }

    #[cold]
    fn find_block(&self, hint: *mut Block<T>, index: u64) -> *mut Block<T> {
        let start = if hint.is_null() {
            self.first_block()
        } else {
            hint
        };
        let mut block = start;
        // SAFETY: until this position is received, all blocks from the hint on and all between this
        // position's block and the hint stay linked. Only their fixed fields and atomics are read.
        unsafe {
            while (*block).starts_after(index) {
                block = (*block).previous;
            }
            while !(*block).holds(index) {
                block = self.next_block(block);
            }
            if (*start).starts_after(index) || start == block {
                return block;
            }
        }
        self.advance_hint(start, block);
        block
    }

    /// Links the first block, unless another sender did. Returns the hint.
    fn first_block(&self) -> *mut Block<T> {
        let new = Block::first();
        // ORDERING: Release pairs with the Acquire loads of the hint: the block is initialised. Acquire on
        // failure pairs with the Release of the sender that was first.
        match self
            .hint
            .compare_exchange(ptr::null_mut(), new, AcqRel, Acquire)
        {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: the exchange failed, so no other thread has seen the new block.
                unsafe { Block::free(new) };
                other
            }
        }
    }

    /// Returns the block after a linked one. Links a new one, unless another sender did.
    ///
    /// # Safety
    /// `block` stays linked during the call.
    unsafe fn next_block(&self, block: *mut Block<T>) -> *mut Block<T> {
        // SAFETY: the caller promises that the block is linked, hence live.
        let link = unsafe { &(*block).next };
        // ORDERING: Acquire pairs with the Release exchange below: the block is initialised.
        let next = link.load(Acquire);
        if !next.is_null() {
            return next;
        }
        let new = self.unlinked_block();
        // SAFETY: `new` is not linked, so this thread owns it. The caller keeps `block` linked.
        unsafe { Block::follow(new, block) };
        // ORDERING: Release pairs with the Acquire loads of `next`: the block is initialised. Acquire on
        // failure pairs with the Release of the sender that was first.
        match link.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: the exchange failed, so the block is not linked and this thread owns it.
                unsafe { self.keep_spare(new) };
                other
            }
        }
    }

    /// Moves the hint forward, and sets in the blocks that it passes when they may be unlinked.
    fn advance_hint(&self, from: *mut Block<T>, to: *mut Block<T>) {
        // ORDERING: Release pairs with the Acquire loads of the hint: the block is initialised.
        if self
            .hint
            .compare_exchange(from, to, Release, Relaxed)
            .is_err()
        {
            return;
        }
        // ORDERING: Release pairs with the Acquire of `reserve`: senders with a later position see the new
        // hint, and all earlier positions are below `passed`. Acquire pairs with the Release of other calls
        // of this function, which moved the hint before.
        let passed = self.tail.fetch_add(0, AcqRel) / POSITION;
        let mut block = from;
        while block != to {
            // SAFETY: a block is not unlinked before its `passed` is set, and blocks are unlinked in order.
            // So `block` and those after it are live.
            unsafe {
                // ORDERING: Acquire pairs with the Release exchange of `next_block`: the block is
                // initialised.
                let next = (*block).next.load(Acquire);
                // ORDERING: Release pairs with the Acquire of `QueueReader::unlink_blocks`: this is the last
                // access of this sender to the block.
                (*block).passed.store(passed, Release);
                block = next;
            }
        }
    }

    fn unlinked_block(&self) -> *mut Block<T> {
        // ORDERING: Acquire pairs with the Release of `keep_spare`: the block is reset.
        let spare = self.spare.swap(ptr::null_mut(), Acquire);
        if spare.is_null() {
            Block::later()
        } else {
            spare
        }
    }

    /// Stores a block as the spare one, and frees the previous spare block. Frees a small first block
    /// instead.
    ///
    /// # Safety
    /// The block is not linked, and the caller owns it.
    pub(super) unsafe fn keep_spare(&self, block: *mut Block<T>) {
        let mut unneeded = block;
        // SAFETY: the caller owns the block, which is not linked.
        if unsafe { Block::reset(block) } {
            // ORDERING: Release pairs with the Acquire of `unlinked_block`: the block is reset. Acquire pairs
            // with the Release of the thread that stored the previous one, which is freed below.
            unneeded = self.spare.swap(block, AcqRel);
        }
        if !unneeded.is_null() {
            // SAFETY: the block is the caller's, or was swapped out of `spare`; either way this thread owns
            // it.
            unsafe { Block::free(unneeded) };
        }
    }

    /// Wakes the receiver if its waker is stored.
    pub(super) fn wake(&self) {
        // ORDERING: Release pairs with the Acquire of the receiver's next `register_waker`: it sees what the
        // caller did before. Acquire pairs with the Release of `register_waker`: the thread that clears the
        // flag sees the waker.
        if self.tail.fetch_and(!RECEIVER_WAITS, AcqRel) & RECEIVER_WAITS != 0 {
            // SAFETY: this thread cleared the flag, so it owns the cell.
            if let Some(waker) = unsafe { self.waker.take() } {
                waker.wake();
            }
        }
    }

    /// Called when the last sender is dropped.
    pub(super) fn close_by_senders(&self) {
        // ORDERING: Release pairs with the Acquire of `tail` and `register_waker`: a receiver that sees the
        // flag sees all messages. Acquire pairs with the Release of `register_waker`.
        if self.tail.fetch_or(SENDERS_GONE, AcqRel) & RECEIVER_WAITS != 0 {
            self.wake();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `close`: the caller sees what the receiver did before.
        self.tail.load(Acquire) & CLOSED != 0
    }
}

/// The receiver's operations.
impl<T> Queue<T> {
    pub(super) fn tail(&self) -> Tail {
        // ORDERING: Acquire pairs with the Release of `close_by_senders`: a receiver that sees the flag sees
        // all positions.
        Tail(self.tail.load(Acquire))
    }

    /// Closes the queue: later messages are refused. Returns the previous tail.
    pub(super) fn close(&self) -> Tail {
        // ORDERING: Release pairs with the Acquire of `reserve` and `is_closed`: a refused sender sees what
        // the receiver did before. Acquire pairs with the Release of the other operations on the tail.
        Tail(self.tail.fetch_or(CLOSED, AcqRel))
    }

    /// Returns the first block, for a receiver that has received nothing. Null if there is none yet.
    pub(super) fn first_linked_block(&self) -> *mut Block<T> {
        // ORDERING: Acquire pairs with the Release exchanges of `first_block` and `advance_hint`: the block
        // is initialised.
        let mut block = self.hint.load(Acquire);
        // SAFETY: nothing was received, so no block was unlinked. The first block starts at 0, so the loop
        // ends there.
        unsafe {
            while !block.is_null() && (*block).starts_after(0) {
                block = (*block).previous;
            }
        }
        block
    }

    /// Registers the receiver's waker for the next sender. Returns the tail, which may show messages to look
    /// at first, or `None` if a sender is waking the receiver now.
    ///
    /// # Safety
    /// Called by the receiver.
    pub(super) unsafe fn register_waker(&self, waker: &Waker) -> Option<Tail> {
        let mut stored = None;
        if self.waker.is_full() {
            // SAFETY: the caller is the one receiver.
            stored = unsafe { self.unregister_waker()? };
        }
        let same = stored.take_if(|stored| stored.will_wake(waker));
        // Cloning or dropping a custom waker runs foreign code, which may use the channel. The flag is clear
        // and the cell empty meanwhile, and the exchange below shows what was sent.
        let waker = same.unwrap_or_else(|| waker.clone());
        drop(stored);
        // SAFETY: the flag is clear and the cell empty, so it belongs to the receiver.
        unsafe { self.waker.put(waker) };
        // ORDERING: Release pairs with the Acquire of `wake`, which then sees the waker. Acquire pairs with
        // the Release of `wake`, `close_by_senders` and `advance_hint`: the receiver sees what came before
        // this exchange.
        Some(Tail(self.tail.fetch_or(RECEIVER_WAITS, AcqRel)))
    }

    /// Takes the waker back. `None` if a sender is taking it now.
    ///
    /// # Safety
    /// Called by the receiver.
    unsafe fn unregister_waker(&self) -> Option<Option<Waker>> {
        // ORDERING: Acquire pairs with the Release of the senders' operations on the tail.
        if self.tail.fetch_and(!RECEIVER_WAITS, Acquire) & RECEIVER_WAITS == 0 {
            return None;
        }
        // SAFETY: this thread cleared the flag, so it owns the cell.
        Some(unsafe { self.waker.take() })
    }

    /// Drops the waker.
    ///
    /// # Safety
    /// Called by the receiver.
    pub(super) unsafe fn drop_waker(&self) {
        if self.waker.is_full() {
            // SAFETY: the caller is the one receiver.
            drop(unsafe { self.unregister_waker() });
        }
    }

    /// Frees all blocks.
    ///
    /// # Safety
    /// Called by the receiver, after it closed the queue and received every position reserved before.
    /// `oldest` is the first linked block. The queue is not used afterwards.
    pub(super) unsafe fn free_blocks(&self, oldest: *mut Block<T>) {
        // ORDERING: Acquire pairs with the Release of `keep_spare`.
        let spare = self.spare.swap(ptr::null_mut(), Acquire);
        if !spare.is_null() {
            // SAFETY: the block was swapped out of `spare`, so this thread owns it.
            unsafe { Block::free(spare) };
        }
        let mut block = oldest;
        while !block.is_null() {
            // SAFETY: all messages are received, and a sender does not use any block after it marked its
            // message as ready. So the receiver owns the linked blocks.
            unsafe {
                let next = (*block).next.load(Relaxed);
                Block::free(block);
                block = next;
            }
        }
    }
}
