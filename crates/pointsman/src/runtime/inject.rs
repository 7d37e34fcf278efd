//! The inject queue: tasks that were spawned or woken by threads that are not workers.
//!
//! It is a lock-free stack. A worker takes the whole stack at once and reverses it, so that the tasks run in the order in
//! which they were pushed.
//!
//! Invariant: after [`close`](Inject::close) nothing is pushed, and the thread that closed it has taken all entries.

use std::ptr;

use crate::loom::sync::atomic::{AtomicPtr, AtomicUsize};
use crate::task::raw::{Header, Notified, RawTask};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

/// The top of a closed queue; not the address of a task.
const CLOSED: *mut Header = ptr::without_provenance_mut(1);

pub(crate) struct Inject {
    top: AtomicPtr<Header>,
    len: AtomicUsize,
    taken: AtomicUsize,
}

impl Inject {
    pub(crate) fn new() -> Self {
        Self {
            top: AtomicPtr::new(ptr::null_mut()),
            len: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let top = self.top.load(Relaxed);
        top.is_null() || top == CLOSED
    }

    /// The approximate number of entries.
    pub(crate) fn len(&self) -> usize {
        // Below zero if entries were taken before the threads that pushed them have counted them.
        (self.len.load(Relaxed) as isize).max(0) as usize
    }

    /// How often the entries were taken; it wraps around.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// Pushes the entry of a woken task. Returns the entry if the queue is closed.
    pub(crate) fn push(&self, entry: Notified) -> Result<(), Notified> {
        let task = entry.task;
        // ORDERING: Acquire, here and on failure, pairs with the release of `close`: a thread that finds the queue closed
        // sees that the runtime has shut down.
        let mut top = self.top.load(Acquire);
        loop {
            if top == CLOSED {
                return Err(entry);
            }
            task.header().next.set(top);
            let next = task.as_ptr().cast_mut();
            // ORDERING: SeqCst, which includes the release for the acquire of `take`, before the fence of
            // `Idle::notify_remote`: a worker that goes to sleep sees the entry, or is seen as a sleeper.
            match self.top.compare_exchange_weak(top, next, SeqCst, Acquire) {
                Ok(_) => break,
                Err(seen) => top = seen,
            }
        }
        self.len.fetch_add(1, Relaxed);
        Ok(())
    }

    pub(crate) fn take(&self) -> Taken {
        let top = self.top.load(Relaxed);
        if top.is_null() || top == CLOSED {
            return Taken(ptr::null());
        }
        let mut top = top;
        loop {
            if top == CLOSED {
                return Taken(ptr::null());
            }
            // ORDERING: Acquire pairs with the release of `push`: the links are read next.
            match self
                .top
                .compare_exchange_weak(top, ptr::null_mut(), Acquire, Relaxed)
            {
                Ok(_) => {
                    self.taken.fetch_add(1, Relaxed);
                    return self.reversed(top);
                }
                Err(seen) => top = seen,
            }
        }
    }

    /// Refuses entries from now on, and takes those that are there.
    pub(crate) fn close(&self) -> Taken {
        // ORDERING: Acquire pairs with the release of `push`; Release with its acquire, which sees the shutdown.
        let top = self.top.swap(CLOSED, AcqRel);
        if top == CLOSED {
            return Taken(ptr::null());
        }
        self.reversed(top)
    }

    fn reversed(&self, top: *mut Header) -> Taken {
        let mut reversed: *const Header = ptr::null();
        let mut next: *const Header = top;
        let mut count = 0;
        while !next.is_null() {
            // A pointer, not a reference, since the provenance must cover the whole task behind the header.
            let header = next;
            // SAFETY: the entry in the chain keeps the task alive, and this thread has taken the chain, so no other thread
            // uses its links.
            next = unsafe { (*header).next.replace(reversed) };
            reversed = header;
            count += 1;
        }
        self.len.fetch_sub(count, Relaxed);
        Taken(reversed)
    }
}

#[must_use]
pub(crate) struct Taken(*const Header);

impl Iterator for Taken {
    type Item = Notified;

    fn next(&mut self) -> Option<Notified> {
        let header = NonNull::new(self.0.cast_mut())?;
        // SAFETY: the entry keeps the task alive, and the chain belongs to this iterator.
        self.0 = unsafe { header.as_ref() }.next.replace(ptr::null());
        // SAFETY: the chain holds the reference of the entry that `push` got. The header has left the chain, so the entry
        // is made again only once.
        Some(unsafe { Notified::woken(RawTask::from_raw(header)) })
    }
}
