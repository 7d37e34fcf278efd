//! The queue of a slot: tasks that are ready to run, oldest first.
//!
//! The owner pushes at the tail without an atomic exchange. Every thread, including the owner, takes from the head with
//! one exchange; only the worker of a current-thread runtime needs none. So other workers can take all queued tasks while
//! the owner is blocked. There is no LIFO slot for the newest task: it could not be shared as cheaply, and would let two
//! tasks starve all others.
//!
//! # Invariants
//!
//! - Entries `head..tail` are in the buffer. Only the owner moves `tail`. The thread that moves `head` past an entry owns
//!   the entry.
//! - `head` and `tail` wrap around; only their difference is meaningful.
//! - A full buffer is replaced by one of twice the size. Old buffers are kept until the queue is dropped, since another
//!   thread may be reading from one: the entries are still there, and the exchange of `head` fails if they are stale. All
//!   old buffers together are smaller than the current one.

use std::ptr::{self, NonNull};

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::{AtomicPtr, AtomicUsize};
use crate::task::raw::{Header, Notified, RawTask};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The capacity of the first buffer, a power of two. No lab row depends on it, since a full queue grows.
const CAPACITY: usize = if cfg!(all(test, loom)) { 2 } else { 64 };
/// The maximum number of tasks per steal, which are copied through the stack.
///
/// Simulated (`make policy CORES=64`): at 95 % load with tasks of 10 µs the 99th percentile waits 1.9 ms, and 3.1 ms with 16.
/// Without a limit it is 1.8 ms.
const MAX_STOLEN: usize = if cfg!(all(test, loom)) { 2 } else { 128 };

/// Set in the lowest bit of a task's address if the task is still running; see [`Notified`].
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
/// `packed` comes from [`pack`], and the caller owns the entry.
#[inline]
unsafe fn unpack(packed: *mut Header) -> Notified {
    // SAFETY: `pack` made the pointer from the address of a task, which is not null.
    let header =
        unsafe { NonNull::new_unchecked(packed.map_addr(|address| address & !IS_RUNNING)) };
    Notified {
        // SAFETY: the caller owns the entry, and with it one reference to the task.
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

/// The length of a queue. If the two were read at different times, the tail may seem to be before the head.
#[inline]
fn between(head: usize, tail: usize) -> usize {
    (tail.wrapping_sub(head) as isize).max(0) as usize
}

struct Owner {
    /// `head` when the owner last read it.
    head: usize,
    old: Vec<NonNull<Buffer>>,
}

/// The methods of the owner are unsafe, since there must be only one.
pub(crate) struct Queue {
    head: Aligned<AtomicUsize>,
    tail: Aligned<AtomicUsize>,
    buffer: AtomicPtr<Buffer>,
    owner: UnsafeCell<Owner>,
}

/// Aligned to two cache lines, which processors prefetch together.
#[repr(align(128))]
struct Aligned<T>(T);

// SAFETY: only the owner uses `owner`, by the contract of the unsafe methods; its buffers are plain memory that any thread
// may free. All other fields are atomic.
unsafe impl Send for Queue {}
// SAFETY: only the owner uses `owner`, by the contract of the unsafe methods. All other fields are atomic.
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
        // ORDERING: Acquire pairs with the release of `grow`, which has copied the entries before.
        // SAFETY: `buffer` always points to a live buffer: `grow` keeps the old ones until the queue is dropped.
        unsafe { &*self.buffer.load(Acquire) }
    }

    /// The number of queued tasks: exact for the owner, an estimate for other threads.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let head = self.head.0.load(Relaxed);
        between(head, self.tail.0.load(Relaxed))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of tasks taken so far; it wraps around.
    pub(crate) fn taken(&self) -> usize {
        self.head.0.load(Relaxed)
    }

    /// The number of tasks pushed so far; it wraps around.
    pub(crate) fn pushed(&self) -> usize {
        self.tail.0.load(Relaxed)
    }

    /// Adds an entry at the end. Returns the number of queued tasks.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn push(&self, entry: Notified) -> usize {
        let tail = self.tail.0.load(Relaxed);
        // SAFETY: `buffer` always points to a live buffer, and the owner itself has stored it last.
        let mut buffer = unsafe { &*self.buffer.load(Relaxed) };
        let waiting = self.owner.with_mut(|owner| {
            // SAFETY: only the owner uses this cell, and the caller is the owner.
            let owner = unsafe { &mut *owner };
            if tail != owner.head {
                // ORDERING: Acquire pairs with the release of `pop` and `steal`, which have read the slot before.
                owner.head = self.head.0.load(Acquire);
                if tail.wrapping_sub(owner.head) >= buffer.slots.len() {
                    buffer = self.grow(owner, tail, buffer);
                }
            }
            tail.wrapping_sub(owner.head)
        });
        buffer.slot(tail).store(pack(entry), Relaxed);
        // ORDERING: Release pairs with the acquire of `tail` in `pop` and `steal`, which then see the slot and the task.
        self.tail.0.store(tail.wrapping_add(1), Release);
        waiting + 1
    }

    fn grow<'a>(&'a self, owner: &mut Owner, tail: usize, buffer: &'a Buffer) -> &'a Buffer {
        let larger = Buffer::new(2 * buffer.slots.len());
        for offset in 0..tail.wrapping_sub(owner.head) {
            let index = owner.head.wrapping_add(offset);
            let entry = buffer.slot(index).load(Relaxed);
            // SAFETY: `Buffer::new` has leaked the buffer, and no other thread knows it yet.
            unsafe { larger.as_ref() }.slot(index).store(entry, Relaxed);
        }
        // The original pointer, not one derived from the borrow: the buffer is freed through it.
        owner.old.extend(NonNull::new(self.buffer.load(Relaxed)));
        // ORDERING: Release pairs with the acquire of `buffer`: a reader sees the copied entries.
        self.buffer.store(larger.as_ptr(), Release);
        // SAFETY: the buffer lives until the queue is dropped.
        unsafe { &*larger.as_ptr() }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<Notified> {
        // ORDERING: Acquire pairs with the release of the exchange that moved `head` here: `tail` and the buffer are read
        // after it.
        let mut head = self.head.0.load(Acquire);
        loop {
            // ORDERING: Acquire pairs with the release of `push`.
            let tail = self.tail.0.load(Acquire);
            if between(head, tail) == 0 {
                return None;
            }
            let packed = self.buffer().slot(head).load(Relaxed);
            // ORDERING: Release pairs with the acquire of `push`: the owner reuses the slot only after it was read. Acquire
            // on both outcomes, as for the first load.
            match self
                .head
                .0
                .compare_exchange_weak(head, head.wrapping_add(1), AcqRel, Acquire)
            {
                // SAFETY: the exchange moved `head` past the entry, so this thread owns the entry.
                Ok(_) => return Some(unsafe { unpack(packed) }),
                Err(seen) => head = seen,
            }
        }
    }

    /// Takes the oldest entry without an exchange.
    ///
    /// # Safety
    /// The caller is the owner, and no other thread takes from this queue.
    #[inline]
    pub(crate) unsafe fn pop_alone(&self) -> Option<Notified> {
        let head = self.head.0.load(Relaxed);
        if head == self.tail.0.load(Relaxed) {
            return None;
        }
        // SAFETY: `buffer` always points to a live buffer, and the owner itself has stored it last.
        let packed = unsafe { &*self.buffer.load(Relaxed) }
            .slot(head)
            .load(Relaxed);
        self.head.0.store(head.wrapping_add(1), Relaxed);
        // SAFETY: this thread alone moves `head`, so it owns the entry.
        Some(unsafe { unpack(packed) })
    }

    /// Takes half of the entries, rounded up, at most [`MAX_STOLEN`], oldest first. Returns the first and pushes the others
    /// to `into`.
    ///
    /// # Safety
    /// The caller is the owner of `into`.
    pub(crate) unsafe fn steal(&self, into: &Queue) -> Option<Notified> {
        let mut stolen = [ptr::null_mut(); MAX_STOLEN];
        // ORDERING: Acquire, as for the first load of `pop`.
        let mut head = self.head.0.load(Acquire);
        let count = loop {
            // ORDERING: Acquire pairs with the release of `push`.
            let waiting = between(head, self.tail.0.load(Acquire));
            let count = waiting.div_ceil(2).min(MAX_STOLEN);
            if count == 0 {
                return None;
            }
            let buffer = self.buffer();
            for (offset, place) in stolen[..count].iter_mut().enumerate() {
                *place = buffer.slot(head.wrapping_add(offset)).load(Relaxed);
            }
            // ORDERING: Release pairs with the acquire of `push`, which reuses the slots. Acquire on both outcomes, as for
            // the first load.
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
            // SAFETY: the exchange moved `head` past the entries, so this thread owns them; the caller owns `into`.
            unsafe { into.push(unpack(packed)) };
        }
        // SAFETY: the exchange moved `head` past the entry, so this thread owns it.
        Some(unsafe { unpack(stolen[0]) })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        debug_assert!(self.is_empty(), "a queue is emptied before it is dropped");
        self.owner.with_mut(|owner| {
            // SAFETY: `drop` has exclusive access.
            let owner = unsafe { &mut *owner };
            let present = NonNull::new(self.buffer.load(Relaxed));
            for buffer in owner.old.drain(..).chain(present) {
                // SAFETY: the buffer comes from `Box::leak`, and each is freed once: `grow` moves the previous one to `old`.
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
    fn keeps_the_order_while_it_grows() {
        grows_and_keeps_its_order(Queue::new());
    }

    #[test]
    fn keeps_the_order_when_the_positions_wrap_around() {
        grows_and_keeps_its_order(Queue::starting_at(usize::MAX - CAPACITY / 2));
    }

    fn grows_and_keeps_its_order(queue: Queue) {
        let bench = Workbench::new();
        let entries = bench.entries(3 * CAPACITY);
        let ids: Vec<_> = entries.iter().map(|entry| entry.task.id()).collect();
        let mut seen = Vec::new();
        for entry in entries {
            // SAFETY: this thread is the owner.
            unsafe { queue.push(entry) };
            if queue.len() % 5 == 0 {
                // SAFETY: this thread is the owner, and no other thread knows the queue.
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
    fn loses_nothing_while_thieves_steal_and_it_grows() {
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
                        // SAFETY: this thread owns `own`.
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
            // SAFETY: this thread is the owner; the thieves only steal.
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
