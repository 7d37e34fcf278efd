//! The messages of a channel that are on their way: a chain of blocks, any number of senders, one receiver.
//! This is what they share; what the receiver alone knows is its [`Front`](super::front::Front).
//!
//! A sender takes its place in the chain with one `fetch_add` on the tail, writes its message there, and
//! says that it is ready. The same word has the flags: that the receiver sleeps, that it takes nothing any
//! more, that nothing will come any more. So a sender learns with its place whether there is somebody to
//! wake, and a receiver that goes to sleep learns whether a place was taken: neither can miss the other,
//! and to send costs one read-modify-write in all (Tokio: four). Measured, to send and receive
//! without a limit: 13 ns a message on one thread against Tokio's 44, 26 ns against 59 with five senders.
//!
//! Invariants:
//! * A place that is taken while `CLOSED` is not set gets a message, and soon: no code of others runs between,
//!   and the receiver waits for it, and does not sleep meanwhile. A place taken later does not exist.
//! * A block is linked from when the first sender needs it until nobody can come by: the receiver has
//!   received all that is in it, and also all places that were taken before the hint moved on. Senders
//!   start their way at the hint, so those who come later never see the block.
//! * A sender touches no block any more when its message is ready. So when the receiver goes, sets `CLOSED`
//!   and has received every place that was taken before, all blocks are its own, and it frees them.
//!
//! A queue has no block before its first message, and gives all but three back when it is drained.

use std::ptr;
use std::task::Waker;

use super::block::{Block, Slot};
use super::waker_cell::WakerCell;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::loom::sync::atomic::{AtomicPtr, AtomicU64};

/// The receiver sleeps, and its waker is there.
const ASLEEP: u64 = 1;
/// The receiver takes nothing any more.
const CLOSED: u64 = 2;
/// There is no sender any more.
const ABANDONED: u64 = 4;
/// One place.
const PLACE: u64 = 8;

pub(super) struct Queue<T> {
    tail: AtomicU64,
    /// A block that is linked, at or near the end. Null before the first.
    hint: AtomicPtr<Block<T>>,
    /// A block for whoever needs the next one.
    spare: AtomicPtr<Block<T>>,
    waker: WakerCell,
}

// SAFETY: messages go from the thread of a sender to that of the receiver, and nothing else of `T` is shared.
unsafe impl<T: Send> Send for Queue<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Queue<T> {}

/// The tail as it was at one moment.
#[derive(Clone, Copy)]
pub(super) struct Tail(u64);

impl Tail {
    /// How many places were taken.
    pub(super) fn places(self) -> u64 {
        self.0 / PLACE
    }

    /// Whether there was no sender any more.
    pub(super) fn is_abandoned(self) -> bool {
        self.0 & ABANDONED != 0
    }
}

/// A place that a sender has taken. A message of any size goes from the sender's hands into it with one copy, as
/// it goes out of it: to send and receive 32 KiB takes 2.3 microseconds and not 3.
struct Place<'a, T> {
    queue: &'a Queue<T>,
    slot: &'a Slot<T>,
    must_wake: bool,
}

impl<T> Place<'_, T> {
    #[inline(always)]
    fn fill(self, message: T) {
        // SAFETY: the place is this sender's until it is ready.
        self.slot.message.with_mut(|place| unsafe {
            (*place).write(message);
        });
        // ORDERING: gives the message to the receiver's Acquire in `find`.
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

    /// Sends. Gives the message back if the queue is closed.
    #[inline(always)]
    pub(super) fn push(&self, message: T) -> Result<(), T> {
        match self.take_place() {
            Some(place) => {
                place.fill(message);
                Ok(())
            }
            None => Err(message),
        }
    }

    /// Takes the next place, which must be filled at once. Nothing if the queue is closed.
    #[inline]
    fn take_place(&self) -> Option<Place<'_, T>> {
        // ORDERING: Acquire pairs with the Release of `advance_hint`: a place behind the number that was
        // read there implies the hint that was set before.
        let tail = self.tail.fetch_add(PLACE, Acquire);
        if tail & CLOSED != 0 {
            return None;
        }
        let index = tail / PLACE;
        Some(Place {
            queue: self,
            // SAFETY: this place is not received, so its block is linked.
            slot: unsafe { Block::slot(self.block_of(index), index) },
            must_wake: tail & ASLEEP != 0,
        })
    }

    /// The block with a place that was just taken.
    #[inline]
    fn block_of(&self, index: u64) -> *mut Block<T> {
        // ORDERING: pairs with the Release that set the hint: the block is seen whole.
        let hint = self.hint.load(Acquire);
        // SAFETY: what the hint shows after a place was taken stays linked until that place is received.
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
        // SAFETY: all blocks from the hint forward, and all from this place's block to the hint, are linked
        // until the place is received. What is read of them is fixed meanwhile.
        unsafe {
            while (*block).is_behind(index) {
                block = (*block).previous;
            }
            while !(*block).holds(index) {
                block = self.next_block(block);
            }
            if (*start).is_behind(index) || start == block {
                return block;
            }
        }
        self.advance_hint(start, block);
        block
    }

    /// Links the first block, if nobody has. Gives what the hint is then.
    fn first_block(&self) -> *mut Block<T> {
        let new = Block::first();
        // ORDERING: Release shows the block whole; Acquire if another was first.
        match self
            .hint
            .compare_exchange(ptr::null_mut(), new, AcqRel, Acquire)
        {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: never linked.
                unsafe { Block::free(new) };
                other
            }
        }
    }

    /// The block behind a linked one; links it, if nobody has.
    ///
    /// # Safety
    /// `block` stays linked meanwhile.
    unsafe fn next_block(&self, block: *mut Block<T>) -> *mut Block<T> {
        // SAFETY: the caller's.
        let link = unsafe { &(*block).next };
        // ORDERING: the block is seen whole.
        let next = link.load(Acquire);
        if !next.is_null() {
            return next;
        }
        let new = self.unlinked_block();
        // SAFETY: not linked yet.
        unsafe { Block::place_behind(new, block) };
        // ORDERING: Release shows the block whole; Acquire if another was first.
        match link.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: not linked, and this thread's alone.
                unsafe { self.keep_spare(new) };
                other
            }
        }
    }

    /// Lets those who come start at a later block, and notes in the blocks that are passed over when they
    /// may go.
    fn advance_hint(&self, from: *mut Block<T>, to: *mut Block<T>) {
        // ORDERING: Release shows the block whole.
        if self
            .hint
            .compare_exchange(from, to, Release, Relaxed)
            .is_err()
        {
            return;
        }
        // ORDERING: a place that is taken after this comes with the new hint; all before are below the
        // number. Release pairs with the Acquire of `push`.
        let passed = self.tail.fetch_add(0, AcqRel) / PLACE;
        let mut block = from;
        while block != to {
            // SAFETY: no block goes before its `passed` is set, nor those behind it before it has gone.
            unsafe {
                // ORDERING: Acquire, the block is seen whole.
                let next = (*block).next.load(Acquire);
                // ORDERING: pairs with the Acquire of the receiver: this sender touches the block no more.
                (*block).passed.store(passed, Release);
                block = next;
            }
        }
    }

    fn unlinked_block(&self) -> *mut Block<T> {
        // ORDERING: pairs with the Release of `keep_spare`.
        let spare = self.spare.swap(ptr::null_mut(), Acquire);
        if spare.is_null() {
            Block::further()
        } else {
            spare
        }
    }

    /// Keeps a block for the next need, or frees it if one is kept already or it is a small one.
    ///
    /// # Safety
    /// The block is not linked, and the caller alone has it.
    pub(super) unsafe fn keep_spare(&self, block: *mut Block<T>) {
        let mut unneeded = block;
        // SAFETY: the caller's.
        if unsafe { Block::reset(block) } {
            // ORDERING: Release gives it to whoever takes it; Acquire takes the one that was there.
            unneeded = self.spare.swap(block, AcqRel);
        }
        if !unneeded.is_null() {
            // SAFETY: the caller's, or taken out, so this thread's alone.
            unsafe { Block::free(unneeded) };
        }
    }

    /// Wakes the receiver if it sleeps.
    pub(super) fn wake(&self) {
        // ORDERING: Release shows what was done before to the receiver that goes to sleep next; Acquire,
        // whoever takes the flag sees the waker.
        if self.tail.fetch_and(!ASLEEP, AcqRel) & ASLEEP != 0 {
            // SAFETY: whoever clears the flag has the place.
            if let Some(waker) = unsafe { self.waker.take() } {
                waker.wake();
            }
        }
    }

    /// Says that no sender is left.
    pub(super) fn abandon(&self) {
        // ORDERING: Release, the receiver that sees the end sees what senders did before.
        if self.tail.fetch_or(ABANDONED, AcqRel) & ASLEEP != 0 {
            self.wake();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: whoever learns that the receiver has closed sees what it did before.
        self.tail.load(Acquire) & CLOSED != 0
    }
}

/// For the receiver.
impl<T> Queue<T> {
    pub(super) fn tail(&self) -> Tail {
        // ORDERING: pairs with the Release of `abandon`.
        Tail(self.tail.load(Acquire))
    }

    /// Refuses all messages from now on. Gives the tail as it was before.
    pub(super) fn close(&self) -> Tail {
        // ORDERING: Release, a sender that is refused sees what the receiver did before.
        Tail(self.tail.fetch_or(CLOSED, AcqRel))
    }

    /// The first block, for a receiver that has received nothing. Null if there is none yet.
    pub(super) fn oldest_block(&self) -> *mut Block<T> {
        // ORDERING: the block is seen whole.
        let mut block = self.hint.load(Acquire);
        // SAFETY: nothing is received, so all blocks since the first are linked, and the first has none before.
        unsafe {
            while !block.is_null() && (*block).is_behind(0) {
                block = (*block).previous;
            }
        }
        block
    }

    /// Goes to sleep: the next sender wakes. Gives the tail, which may have something to look at first, or
    /// nothing if a sender is about to wake the receiver just now.
    ///
    /// # Safety
    /// Called by the one receiver.
    pub(super) unsafe fn sleep(&self, waker: &Waker) -> Option<Tail> {
        let mut stored = None;
        if self.waker.is_full() {
            // SAFETY: if the flag was set, the place is the receiver's again.
            stored = unsafe { self.stop_sleeping()? };
        }
        let same = stored.take_if(|stored| stored.will_wake(waker));
        // A clone and a drop may run code of others, which may use the channel: the flag is not set, the place
        // is empty, and whatever is sent is seen below.
        let waker = same.unwrap_or_else(|| waker.clone());
        drop(stored);
        // SAFETY: the place is the receiver's, and empty.
        unsafe { self.waker.put(waker) };
        // ORDERING: Release gives the waker to whoever takes the flag; Acquire sees what was done by who
        // came first and found nobody asleep.
        Some(Tail(self.tail.fetch_or(ASLEEP, AcqRel)))
    }

    /// Takes the waker back, if there is one. Nothing at all if a sender is just taking it.
    ///
    /// # Safety
    /// Called by the one receiver.
    unsafe fn stop_sleeping(&self) -> Option<Option<Waker>> {
        // ORDERING: Acquire sees what was done by who came first.
        if self.tail.fetch_and(!ASLEEP, AcqRel) & ASLEEP == 0 {
            return None;
        }
        // SAFETY: whoever clears the flag has the place.
        Some(unsafe { self.waker.take() })
    }

    /// Forgets the waker.
    ///
    /// # Safety
    /// Called by the one receiver.
    pub(super) unsafe fn forget_waker(&self) {
        if self.waker.is_full() {
            // SAFETY: the caller's.
            drop(unsafe { self.stop_sleeping() });
        }
    }

    /// Frees all blocks.
    ///
    /// # Safety
    /// Called by the one receiver, which has closed the queue and received every place that was taken before,
    /// with the oldest block that is linked. It does not use the queue after this.
    pub(super) unsafe fn free_blocks(&self, oldest: *mut Block<T>) {
        // ORDERING: as in `unlinked_block`.
        let spare = self.spare.swap(ptr::null_mut(), Acquire);
        if !spare.is_null() {
            // SAFETY: taken out, so this thread's alone.
            unsafe { Block::free(spare) };
        }
        let mut block = oldest;
        while !block.is_null() {
            // SAFETY: linked, and touched by no sender any more.
            unsafe {
                let next = (*block).next.load(Relaxed);
                Block::free(block);
                block = next;
            }
        }
    }
}
