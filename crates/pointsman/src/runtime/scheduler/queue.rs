//! The tasks of a slot that are ready to run, the oldest first.
//!
//! The owner puts in at one end without any exchange; everyone, the owner too, takes out at the other with
//! one. So whatever the owner does, all that waits here can be taken by somebody else: a task that blocks its
//! thread strands nobody. There is no place for the newest task that goes first, as that could not be shared
//! as cheaply, and would let two tasks keep all others waiting.
//!
//! Invariants:
//! - Entries `head..tail` are in the buffer. Only the owner moves `tail`; whoever moves `head` has what was
//!   there.
//! - Both count on beyond the largest number and begin anew: only their difference says something.
//! - A buffer that is too small is replaced by one of twice the size. The old one is kept until the queue
//!   goes, as others may be reading: what they read is still there, and their exchange fails if it is too old.
//!   All old ones together are smaller than the present one.
//!
//! Cost: in 1 ns, out 8 ns (one exchange).

use std::ptr::{self, NonNull};

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::{AtomicPtr, AtomicUsize};
use crate::task::{Header, Notified, RawTask};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Entries of the first buffer.
const CAPACITY: usize = if cfg!(all(test, loom)) { 2 } else { 64 };
/// Entries that are stolen at once.
const MOST_STOLEN: usize = if cfg!(all(test, loom)) { 2 } else { 128 };

/// In the lowest bit of a task's address: it is running still.
const IS_RUNNING: usize = 1;

#[inline]
fn pack(entry: Notified) -> *mut Header {
    entry
        .task
        .as_ptr()
        .cast_mut()
        .map_addr(|address| address | usize::from(entry.is_running))
}

/// # Safety
/// What was packed, and the entry is the caller's.
#[inline]
unsafe fn unpack(packed: *mut Header) -> Notified {
    // SAFETY: an entry has the address of a task.
    let header =
        unsafe { NonNull::new_unchecked(packed.map_addr(|address| address & !IS_RUNNING)) };
    Notified {
        // SAFETY: the entry's reference is the caller's.
        task: unsafe { RawTask::from_raw(header) },
        is_running: packed.addr() & IS_RUNNING != 0,
    }
}

struct Buffer {
    slots: Box<[AtomicPtr<Header>]>,
}

impl Buffer {
    fn new(capacity: usize) -> NonNull<Self> {
        let slots = (0..capacity)
            .map(|_| AtomicPtr::new(ptr::null_mut()))
            .collect();
        NonNull::from(Box::leak(Box::new(Self { slots })))
    }

    #[inline]
    fn slot(&self, index: usize) -> &AtomicPtr<Header> {
        // The capacity is a power of two.
        &self.slots[index & (self.slots.len() - 1)]
    }
}

/// How many wait. Of two that were read one after the other the tail may seem to be before the head.
#[inline]
fn between(head: usize, tail: usize) -> usize {
    (tail.wrapping_sub(head) as isize).max(0) as usize
}

struct Owner {
    /// `head` when it was last looked at.
    head: usize,
    old: Vec<NonNull<Buffer>>,
}

/// See the module. What the owner does is unsafe, as there must be one.
pub(crate) struct Queue {
    head: Aligned<AtomicUsize>,
    tail: Aligned<AtomicUsize>,
    buffer: AtomicPtr<Buffer>,
    owner: UnsafeCell<Owner>,
}

/// On cache lines of its own.
#[repr(align(128))]
struct Aligned<T>(T);

// SAFETY: all but `owner` is atomic, and that is the owner's.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    pub(crate) fn new() -> Self {
        Self::starting_at(0)
    }

    fn starting_at(first: usize) -> Self {
        Self {
            head: Aligned(AtomicUsize::new(first)),
            tail: Aligned(AtomicUsize::new(first)),
            buffer: AtomicPtr::new(Buffer::new(CAPACITY).as_ptr()),
            owner: UnsafeCell::new(Owner {
                head: first,
                old: Vec::new(),
            }),
        }
    }

    #[inline]
    fn buffer(&self) -> &Buffer {
        // ORDERING: Acquire pairs with the release in `grow`: the entries were copied before.
        // SAFETY: buffers stay until the queue goes.
        unsafe { &*self.buffer.load(Acquire) }
    }

    /// How many wait; right for the owner, a guess for others.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let head = self.head.0.load(Relaxed);
        between(head, self.tail.0.load(Relaxed))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many were taken out in all.
    pub(crate) fn taken(&self) -> usize {
        self.head.0.load(Relaxed)
    }

    /// Puts an entry at the end, and says how many wait.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn push(&self, entry: Notified) -> usize {
        let tail = self.tail.0.load(Relaxed);
        // SAFETY: the owner's.
        let mut buffer = unsafe { &*self.buffer.load(Relaxed) };
        let waiting = self.owner.with_mut(|owner| {
            // SAFETY: the owner's.
            let owner = unsafe { &mut *owner };
            if tail != owner.head {
                // ORDERING: Acquire pairs with the release of whoever took: it has read the slot.
                owner.head = self.head.0.load(Acquire);
                if tail.wrapping_sub(owner.head) >= buffer.slots.len() {
                    buffer = self.grow(owner, tail, buffer);
                }
            }
            tail.wrapping_sub(owner.head)
        });
        buffer.slot(tail).store(pack(entry), Relaxed);
        // ORDERING: Release pairs with the acquire of whoever takes: the slot and the task are seen.
        self.tail.0.store(tail.wrapping_add(1), Release);
        waiting + 1
    }

    fn grow<'a>(&'a self, owner: &mut Owner, tail: usize, buffer: &'a Buffer) -> &'a Buffer {
        let larger = Buffer::new(2 * buffer.slots.len());
        for offset in 0..tail.wrapping_sub(owner.head) {
            let index = owner.head.wrapping_add(offset);
            let entry = buffer.slot(index).load(Relaxed);
            // SAFETY: just made.
            unsafe { larger.as_ref() }.slot(index).store(entry, Relaxed);
        }
        // The pointer as it was made: what is borrowed could not be freed.
        owner.old.extend(NonNull::new(self.buffer.load(Relaxed)));
        // ORDERING: Release: see `buffer`.
        self.buffer.store(larger.as_ptr(), Release);
        // SAFETY: buffers stay until the queue goes.
        unsafe { &*larger.as_ptr() }
    }

    /// Takes out the oldest.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Notified> {
        // ORDERING: Acquire: what the one before has done in taking is done.
        let mut head = self.head.0.load(Acquire);
        loop {
            // ORDERING: Acquire pairs with the release in `push`.
            let tail = self.tail.0.load(Acquire);
            if between(head, tail) == 0 {
                return None;
            }
            let packed = self.buffer().slot(head).load(Relaxed);
            // ORDERING: Release, so that the owner does not overwrite the slot before it was read.
            match self
                .head
                .0
                .compare_exchange_weak(head, head.wrapping_add(1), AcqRel, Acquire)
            {
                // SAFETY: the entry belongs to whoever has moved `head`.
                Ok(_) => return Some(unsafe { unpack(packed) }),
                Err(seen) => head = seen,
            }
        }
    }

    /// The owner's [`pop`](Self::pop) where nobody else takes: without an exchange.
    ///
    /// # Safety
    /// The caller is the owner, and nobody else takes from this queue.
    #[inline]
    pub(crate) unsafe fn pop_alone(&self) -> Option<Notified> {
        let head = self.head.0.load(Relaxed);
        if head == self.tail.0.load(Relaxed) {
            return None;
        }
        // SAFETY: the owner's.
        let packed = unsafe { &*self.buffer.load(Relaxed) }
            .slot(head)
            .load(Relaxed);
        self.head.0.store(head.wrapping_add(1), Relaxed);
        // SAFETY: as above.
        Some(unsafe { unpack(packed) })
    }

    /// Takes half of what waits here, at most [`MOST_STOLEN`], the oldest first. All but the first go to `into`.
    ///
    /// # Safety
    /// The caller is the owner of `into`.
    pub(crate) unsafe fn steal(&self, into: &Queue) -> Option<Notified> {
        let mut stolen = [ptr::null_mut(); MOST_STOLEN];
        // ORDERING: as in `pop`.
        let mut head = self.head.0.load(Acquire);
        let count = loop {
            // ORDERING: as in `pop`.
            let waiting = between(head, self.tail.0.load(Acquire));
            let count = waiting.div_ceil(2).min(MOST_STOLEN);
            if count == 0 {
                return None;
            }
            let buffer = self.buffer();
            for (offset, place) in stolen[..count].iter_mut().enumerate() {
                *place = buffer.slot(head.wrapping_add(offset)).load(Relaxed);
            }
            // ORDERING: as in `pop`.
            match self
                .head
                .0
                .compare_exchange(head, head.wrapping_add(count), AcqRel, Acquire)
            {
                Ok(_) => break count,
                Err(seen) => head = seen,
            }
        };
        for &packed in &stolen[1..count] {
            // SAFETY: the entries belong to whoever has moved `head`; `into` is the caller's.
            unsafe { into.push(unpack(packed)) };
        }
        // SAFETY: as above.
        Some(unsafe { unpack(stolen[0]) })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        debug_assert!(self.is_empty(), "a queue is emptied before it goes");
        self.owner.with_mut(|owner| {
            // SAFETY: nobody else is left.
            let owner = unsafe { &mut *owner };
            let present = NonNull::new(self.buffer.load(Relaxed));
            for buffer in owner.old.drain(..).chain(present) {
                // SAFETY: from Box::leak, once.
                drop(unsafe { Box::from_raw(buffer.as_ptr()) });
            }
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::task::test_util::Workbench;

    #[test]
    fn a_queue_grows_and_keeps_its_order() {
        grows_and_keeps_its_order(Queue::new());
    }

    #[test]
    fn a_queue_goes_on_when_its_counts_begin_anew() {
        grows_and_keeps_its_order(Queue::starting_at(usize::MAX - CAPACITY / 2));
    }

    fn grows_and_keeps_its_order(queue: Queue) {
        let bench = Workbench::new();
        let entries = bench.entries(3 * CAPACITY);
        let ids: Vec<_> = entries.iter().map(|entry| entry.task.id()).collect();
        let mut seen = Vec::new();
        for entry in entries {
            // SAFETY: the queue is this thread's.
            unsafe { queue.push(entry) };
            if queue.len() % 5 == 0 {
                // SAFETY: as above, and nobody else takes.
                let entry = unsafe { queue.pop_alone() }.unwrap();
                seen.push(entry.task.id());
                entry.give_up();
            }
        }
        while let Some(entry) = queue.pop() {
            seen.push(entry.task.id());
            entry.give_up();
        }
        assert_eq!(seen, ids);
        bench.close().check();
    }

    #[test]
    fn others_steal_half_of_it_while_it_grows() {
        let bench = Workbench::new();
        let queue = Arc::new(Queue::new());
        let count = if cfg!(miri) { 150 } else { 10_000 };
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    let own = Queue::new();
                    let mut stolen = 0;
                    for _ in 0..count {
                        // SAFETY: the queue is this thread's.
                        let first = unsafe { queue.steal(&own) };
                        for entry in first.into_iter().chain(std::iter::from_fn(|| own.pop())) {
                            stolen += 1;
                            entry.give_up();
                        }
                        thread::yield_now();
                    }
                    stolen
                })
            })
            .collect();
        let mut taken = 0;
        for entry in bench.entries(count) {
            // SAFETY: only this thread puts in.
            unsafe { queue.push(entry) };
        }
        while let Some(entry) = queue.pop() {
            taken += 1;
            entry.give_up();
        }
        let stolen: usize = thieves.into_iter().map(|thief| thief.join().unwrap()).sum();
        assert_eq!(taken + stolen, count);
        bench.close().check();
    }
}
