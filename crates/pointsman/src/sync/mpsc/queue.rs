//! The messages of a channel that are on their way: a chain of blocks, any number of senders, one receiver.
//!
//! A sender takes its place in the chain with one `fetch_add` on the tail, writes its message there, and
//! says that it is ready. The same word has the flags: that the receiver sleeps, that it takes nothing any
//! more, that nothing will come any more. So a sender learns with its place whether there is somebody to
//! wake, and a receiver that goes to sleep learns whether a place was taken: neither can miss the other,
//! and to send costs one read-modify-write in all (Tokio: four). Measured, to send and receive
//! without a limit: 13 ns a message on one thread against Tokio's 44, 26 ns against 59 with five senders.
//!
//! Invariants:
//! * A place that is taken while `CLOSED` is not set gets a message, and soon: the receiver waits for it,
//!   and does not sleep meanwhile. A place taken later does not exist.
//! * A block is linked from when the first sender needs it until nobody can come by: the receiver has
//!   received all that is in it, and also all places that were taken before the hint moved on. Senders
//!   start their way at the hint, so those who come later never see the block.
//! * The receiver's fields are used by the one receiver, and by the drop of the queue.
//!
//! A queue has no block before its first message, and gives all but three back when it is drained.

use std::ptr;
use std::task::Waker;

use super::block::{Block, SLOTS};
use crate::loom::cell::UnsafeCell;
use crate::loom::hint;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::loom::sync::atomic::{AtomicPtr, AtomicU64};
use crate::loom::thread;

/// The receiver sleeps, and its waker is there.
const ASLEEP: u64 = 1;
/// The receiver takes nothing any more.
const CLOSED: u64 = 2;
/// There is no sender any more.
const ABANDONED: u64 = 4;
/// One place.
const PLACE: u64 = 8;

/// How often the receiver looks again at a place that is taken before it lets others run.
#[cfg(not(loom))]
const LOOKS: u32 = 64;
/// How often the receiver looks again: a model lets others run at each look.
#[cfg(loom)]
const LOOKS: u32 = 1;

/// What the receiver alone knows.
struct Front<T> {
    /// The next message to be received.
    index: u64,
    /// The block that it was in last; null before the first message.
    block: *mut Block<T>,
    /// The first block that is still linked.
    oldest: *mut Block<T>,
    /// How many messages there are in all, if the receiver has closed the queue.
    end: Option<u64>,
}

/// Keeps what many write away from what others read.
#[repr(align(64))]
struct Apart<T>(T);

pub(super) struct Queue<T> {
    tail: Apart<AtomicU64>,
    /// A block that is linked, at or near the end.
    hint: AtomicPtr<Block<T>>,
    /// The first block of all, once there is one.
    anchor: AtomicPtr<Block<T>>,
    /// A block for whoever needs the next one.
    spare: AtomicPtr<Block<T>>,
    waker: Mutex<Option<Waker>>,
    front: Apart<UnsafeCell<Front<T>>>,
}

// SAFETY: messages go from the thread of a sender to that of the receiver, and nothing else of `T` is shared.
unsafe impl<T: Send> Send for Queue<T> {}
// SAFETY: as above; what only the receiver may do is unsafe to call.
unsafe impl<T: Send> Sync for Queue<T> {}

/// What the receiver finds.
pub(super) enum Popped<T> {
    Message(T),
    /// Nothing now.
    Empty,
    /// A place is taken, but its message has not come yet.
    Busy,
    /// Nothing any more.
    Finished,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        Self {
            tail: Apart(AtomicU64::new(0)),
            hint: AtomicPtr::new(ptr::null_mut()),
            anchor: AtomicPtr::new(ptr::null_mut()),
            spare: AtomicPtr::new(ptr::null_mut()),
            waker: Mutex::new(None),
            front: Apart(UnsafeCell::new(Front {
                index: 0,
                block: ptr::null_mut(),
                oldest: ptr::null_mut(),
                end: None,
            })),
        }
    }

    /// Sends. Gives the message back if the queue is closed.
    #[inline]
    pub(super) fn push(&self, message: T) -> Result<(), T> {
        // ORDERING: Acquire pairs with the Release of `advance_hint`: a place behind the number that was
        // read there implies the hint that was set before.
        let tail = self.tail.0.fetch_add(PLACE, Acquire);
        if tail & CLOSED != 0 {
            return Err(message);
        }
        let index = tail / PLACE;
        let block = self.block_of(index);
        // SAFETY: this place is not received, so its block is linked.
        let slot = unsafe { &*block }.slot(index);
        // SAFETY: the place is this sender's until it is ready.
        slot.message.with_mut(|place| unsafe {
            (*place).write(message);
        });
        // ORDERING: gives the message to the receiver's Acquire in `pop`.
        slot.is_ready.store(true, Release);
        if tail & ASLEEP != 0 {
            self.wake();
        }
        Ok(())
    }

    /// The block with a place that was just taken.
    #[inline]
    fn block_of(&self, index: u64) -> *mut Block<T> {
        // ORDERING: pairs with the Release that set the hint: the block is seen whole.
        let hint = self.hint.load(Acquire);
        // SAFETY: what the hint shows after a place was taken stays linked until that place is received.
        if !hint.is_null() && unsafe { (*hint).number } == index / SLOTS {
            return hint;
        }
        self.find_block(hint, index / SLOTS)
    }

    #[cold]
    fn find_block(&self, hint: *mut Block<T>, number: u64) -> *mut Block<T> {
        let start = if hint.is_null() {
            self.first_block()
        } else {
            hint
        };
        let mut block = start;
        // SAFETY: all blocks from the hint forward, and all from this place's block to the hint, are linked
        // until the place is received. `number` and `previous` are fixed meanwhile.
        unsafe {
            while (*block).number > number {
                block = (*block).previous;
            }
            if (*block).number == number {
                return block;
            }
            while (*block).number < number {
                block = self.next_block(block);
            }
        }
        self.advance_hint(start, block);
        block
    }

    /// Links the first block, if nobody has.
    fn first_block(&self) -> *mut Block<T> {
        // ORDERING: the block is seen whole.
        let mut first = self.anchor.load(Acquire);
        if first.is_null() {
            let new = self.unlinked_block();
            // SAFETY: not linked yet.
            unsafe {
                (*new).number = 0;
                (*new).previous = ptr::null_mut();
            }
            // ORDERING: Release shows the block whole; Acquire if another was first.
            first = match self
                .anchor
                .compare_exchange(ptr::null_mut(), new, AcqRel, Acquire)
            {
                Ok(_) => new,
                Err(other) => {
                    self.keep_spare(new);
                    other
                }
            };
        }
        // ORDERING: Release shows the block whole. If the hint is set already, it is at least as far.
        let _ = self
            .hint
            .compare_exchange(ptr::null_mut(), first, Release, Relaxed);
        first
    }

    /// The block behind a linked one; links it, if nobody has.
    ///
    /// # Safety
    /// `block` stays linked meanwhile.
    unsafe fn next_block(&self, block: *mut Block<T>) -> *mut Block<T> {
        // SAFETY: the caller's.
        let linked = unsafe { &*block };
        // ORDERING: the block is seen whole.
        let next = linked.next.load(Acquire);
        if !next.is_null() {
            return next;
        }
        let new = self.unlinked_block();
        // SAFETY: not linked yet.
        unsafe {
            (*new).number = linked.number + 1;
            (*new).previous = block;
        }
        // ORDERING: Release shows the block whole; Acquire if another was first.
        match linked
            .next
            .compare_exchange(ptr::null_mut(), new, AcqRel, Acquire)
        {
            Ok(_) => new,
            Err(other) => {
                self.keep_spare(new);
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
        let passed = self.tail.0.fetch_add(0, AcqRel) / PLACE;
        let mut block = from;
        while block != to {
            // SAFETY: no block goes before its `passed` is set, nor those behind it before it has gone.
            unsafe {
                // ORDERING: Acquire, the block is seen whole.
                let next = (*block).next.load(Acquire);
                // ORDERING: pairs with `release_blocks`: this sender touches the block no more.
                (*block).passed.store(passed, Release);
                block = next;
            }
        }
    }

    fn unlinked_block(&self) -> *mut Block<T> {
        // ORDERING: pairs with the Release of `keep_spare`.
        let spare = self.spare.swap(ptr::null_mut(), Acquire);
        if spare.is_null() {
            Block::allocate()
        } else {
            spare
        }
    }

    /// Keeps a block that is not linked for the next need, or frees it if one is kept already.
    fn keep_spare(&self, block: *mut Block<T>) {
        // SAFETY: the caller's alone.
        unsafe { Block::reset(block) };
        // ORDERING: Release gives it to whoever takes it; Acquire takes the one that was there.
        let other = self.spare.swap(block, AcqRel);
        if !other.is_null() {
            // SAFETY: taken out, so this thread's alone.
            unsafe { Block::free(other) };
        }
    }

    /// Wakes the receiver if it sleeps.
    pub(super) fn wake(&self) {
        // ORDERING: Release shows what was done before to the receiver that goes to sleep next; Acquire,
        // whoever takes the flag sees the waker.
        if self.tail.0.fetch_and(!ASLEEP, AcqRel) & ASLEEP != 0 {
            let waker = lock(&self.waker).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Says that no sender is left.
    pub(super) fn abandon(&self) {
        // ORDERING: Release, the receiver that sees the end sees what senders did before.
        if self.tail.0.fetch_or(ABANDONED, AcqRel) & ASLEEP != 0 {
            self.wake();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: whoever learns that the receiver has closed sees what it did before.
        self.tail.0.load(Acquire) & CLOSED != 0
    }
}

/// For the receiver.
impl<T> Queue<T> {
    /// Refuses all messages from now on.
    ///
    /// # Safety
    /// Called by the one receiver.
    pub(super) unsafe fn close(&self) {
        // ORDERING: Release, a sender that is refused sees what the receiver did before.
        let tail = self.tail.0.fetch_or(CLOSED, AcqRel);
        // SAFETY: the receiver's.
        self.front.0.with_mut(|front| unsafe {
            (*front).end.get_or_insert(tail / PLACE);
        });
    }

    /// How many messages are on their way.
    ///
    /// # Safety
    /// Called for the one receiver.
    pub(super) unsafe fn len(&self) -> usize {
        // ORDERING: as of `pop`, which may be called next.
        let tail = self.tail.0.load(Acquire) / PLACE;
        // SAFETY: the receiver's, which changes nothing now.
        self.front
            .0
            .with(|front| unsafe { (*front).end.unwrap_or(tail) - (*front).index }) as usize
    }

    /// Receives.
    ///
    /// # Safety
    /// Called by the one receiver, or by the last to have the queue.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Popped<T> {
        self.front.0.with_mut(|front| {
            // SAFETY: the receiver's.
            let front = unsafe { &mut *front };
            for _ in 0..LOOKS {
                if let Some(message) = self.take(front) {
                    return Popped::Message(message);
                }
                // ORDERING: pairs with the Release of `abandon`.
                let tail = self.tail.0.load(Acquire);
                if front.index == front.end.unwrap_or(tail / PLACE) {
                    return if front.end.is_some() || tail & ABANDONED != 0 {
                        Popped::Finished
                    } else {
                        Popped::Empty
                    };
                }
                hint::spin_loop();
            }
            Popped::Busy
        })
    }

    #[inline]
    fn take(&self, front: &mut Front<T>) -> Option<T> {
        if front.index % SLOTS == 0 {
            self.enter_block(front)?;
        }
        // SAFETY: the receiver has not received all that is in the block, so it is linked.
        let slot = unsafe { &*front.block }.slot(front.index);
        // ORDERING: pairs with the Release of `push`.
        if !slot.is_ready.load(Acquire) {
            return None;
        }
        // SAFETY: ready, so there is a message, and it is the receiver's.
        let message = slot
            .message
            .with(|place| unsafe { (*place).assume_init_read() });
        // For whoever uses the block again.
        slot.is_ready.store(false, Relaxed);
        front.index += 1;
        Some(message)
    }

    /// Goes to the block of the next message, if it is linked. May be called again in that block.
    #[cold]
    fn enter_block(&self, front: &mut Front<T>) -> Option<()> {
        if front.block.is_null() {
            // ORDERING: the block is seen whole.
            let first = self.anchor.load(Acquire);
            if first.is_null() {
                return None;
            }
            front.block = first;
            front.oldest = first;
        }
        // SAFETY: the block that the receiver was in last is linked.
        unsafe {
            if (*front.block).number != front.index / SLOTS {
                // ORDERING: the block is seen whole.
                let next = (*front.block).next.load(Acquire);
                if next.is_null() {
                    return None;
                }
                front.block = next;
            }
        }
        self.release_blocks(front);
        Some(())
    }

    /// Takes out the blocks that nobody can come by any more.
    fn release_blocks(&self, front: &mut Front<T>) {
        while front.oldest != front.block {
            // SAFETY: linked.
            unsafe {
                // ORDERING: pairs with the Release of `advance_hint`, and that of the last message: nobody
                // touches the block any more.
                if (*front.oldest).passed.load(Acquire) > front.index {
                    return;
                }
                let next = (*front.oldest).next.load(Relaxed);
                self.keep_spare(front.oldest);
                front.oldest = next;
            }
        }
    }

    /// Receives, and waits on the spot for a message that is about to come.
    ///
    /// # Safety
    /// As of [`pop`](Self::pop).
    pub(super) unsafe fn pop_settled(&self) -> Popped<T> {
        loop {
            // SAFETY: the caller's.
            match unsafe { self.pop() } {
                Popped::Busy => thread::yield_now(),
                popped => return popped,
            }
        }
    }

    /// Goes to sleep: the next sender wakes. `false` if there is something to look at first.
    ///
    /// # Safety
    /// Called by the one receiver.
    pub(super) unsafe fn sleep(&self, waker: &Waker) -> bool {
        let mut place = lock(&self.waker);
        let same = place.as_ref().is_some_and(|stored| stored.will_wake(waker));
        let replaced = if same {
            None
        } else {
            place.replace(waker.clone())
        };
        drop(place);
        drop(replaced);
        // ORDERING: Release gives the waker to whoever takes the flag; Acquire sees what was done by who
        // came first and found nobody asleep.
        let tail = self.tail.0.fetch_or(ASLEEP, AcqRel);
        // SAFETY: the receiver's.
        self.front
            .0
            .with(|front| unsafe { (*front).end.unwrap_or(tail / PLACE) == (*front).index })
            && tail & ABANDONED == 0
    }

    /// Forgets the waker.
    ///
    /// # Safety
    /// Called by the one receiver.
    pub(super) unsafe fn forget_waker(&self) {
        let waker = lock(&self.waker).take();
        drop(waker);
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        /// Frees the blocks, also if the drop of a message panics.
        struct Rest<'a, T>(&'a Queue<T>);

        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                // SAFETY: nobody else has the queue.
                while let Popped::Message(message) = unsafe { self.0.pop() } {
                    drop(message);
                }
                let queue = self.0;
                // ORDERING: Acquire, those who had the queue have gone.
                let first = queue.front.0.with(|front| {
                    // SAFETY: as above.
                    let oldest = unsafe { (*front).oldest };
                    if oldest.is_null() {
                        queue.anchor.load(Acquire)
                    } else {
                        oldest
                    }
                });
                let mut block = first;
                while !block.is_null() {
                    // SAFETY: linked, and used by nobody.
                    unsafe {
                        let next = (*block).next.load(Relaxed);
                        Block::free(block);
                        block = next;
                    }
                }
                let spare = queue.spare.load(Relaxed);
                if !spare.is_null() {
                    // SAFETY: used by nobody.
                    unsafe { Block::free(spare) };
                }
            }
        }

        let rest = Rest(self);
        // SAFETY: nobody else has the queue.
        while let Popped::Message(message) = unsafe { rest.0.pop() } {
            drop(message);
        }
    }
}
