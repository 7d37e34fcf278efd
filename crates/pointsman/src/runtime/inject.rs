//! The inject queue: tasks that were spawned or woken by threads that are no workers.
//!
//! A stack that anyone pushes to, and one takes as a whole, turned around. So those who come wait for nobody,
//! and those who take do it once for many.
//!
//! Invariant: once it is closed nothing gets in, and what was in is given to whoever has closed it.

use std::ptr;

use crate::loom::sync::atomic::{AtomicPtr, AtomicUsize};
use crate::task::{Header, Notified, RawTask};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

/// Not the address of any task.
const CLOSED: *mut Header = ptr::without_provenance_mut(1);

/// See the module.
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

    /// How many wait, about.
    pub(crate) fn len(&self) -> usize {
        // Those who have pushed may not have counted yet, and what they pushed be taken: less than none.
        (self.len.load(Relaxed) as isize).max(0) as usize
    }

    /// How often all was taken, modulo what a counter holds.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// Puts the entry of a woken task in. If it is closed that is given back.
    pub(crate) fn push(&self, entry: Notified) -> Result<(), Notified> {
        let task = entry.task;
        // ORDERING: Acquire, here and on failure: who finds it closed sees that the runtime has ended.
        let mut top = self.top.load(Acquire);
        loop {
            if top == CLOSED {
                return Err(entry);
            }
            task.header().next.set(top);
            let next = task.as_ptr().cast_mut();
            // ORDERING: Release pairs with the acquire in `take`. SeqCst, so that whoever goes to sleep after
            // this sees it, or is seen to sleep by what follows: see `Idle`.
            match self.top.compare_exchange_weak(top, next, SeqCst, Acquire) {
                Ok(_) => break,
                Err(seen) => top = seen,
            }
        }
        self.len.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Takes all, the oldest first.
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
            // ORDERING: Acquire pairs with the release in `push`.
            match self
                .top
                .compare_exchange_weak(top, ptr::null_mut(), AcqRel, Relaxed)
            {
                Ok(_) => {
                    self.taken.fetch_add(1, Relaxed);
                    return self.turned(top);
                }
                Err(seen) => top = seen,
            }
        }
    }

    /// Lets nobody in any more, and takes what is there.
    pub(crate) fn close(&self) -> Taken {
        // ORDERING: as in `take`.
        let top = self.top.swap(CLOSED, AcqRel);
        if top == CLOSED {
            return Taken(ptr::null());
        }
        self.turned(top)
    }

    fn turned(&self, top: *mut Header) -> Taken {
        let mut turned: *const Header = ptr::null();
        let mut next: *const Header = top;
        let mut count = 0;
        while !next.is_null() {
            // A pointer and no reference: behind the header is the task.
            let header = next;
            // SAFETY: a task in the chain is held by its entry, and the chain is the caller's.
            next = unsafe { (*header).next.replace(turned) };
            turned = header;
            count += 1;
        }
        self.len.fetch_sub(count, Relaxed);
        Taken(turned)
    }
}

/// What was taken.
#[must_use]
pub(crate) struct Taken(*const Header);

impl Iterator for Taken {
    type Item = Notified;

    fn next(&mut self) -> Option<Notified> {
        let header = NonNull::new(self.0.cast_mut())?;
        // SAFETY: the entry's reference keeps the task.
        self.0 = unsafe { header.as_ref() }.next.replace(ptr::null());
        // SAFETY: as above.
        Some(unsafe { Notified::woken(RawTask::from_raw(header)) })
    }
}
