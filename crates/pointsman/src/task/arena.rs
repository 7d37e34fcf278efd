//! Where the memory of tasks comes from and goes back to.
//!
//! Each slot of a runtime has an arena: places in size classes, handed out and taken back by whoever holds the
//! slot, without a lock. What others let go of goes back over a stack, so no memory passes from one thread
//! to another for good: an allocator that gives each thread an arena of its own would be slowed down by that
//! for the rest of the program. What is too large for a class is allocated by itself.
//!
//! The arena also knows all tasks that live in it. When the runtime ends they are found here, so that tasks
//! need no list of their own.
//!
//! Invariants:
//! - `local` is used by the owner alone: who holds the slot, who has the lock of the outer arena, the thread
//!   of a `LocalSet`. Everyone else uses `returned`.
//! - A place is vacant exactly if the word of its task is zero.
//! - An arena goes when it is closed and all its tasks are gone: tasks keep it alive, and it keeps the
//!   scheduler alive.
//!
//! Cost: two moves of a pointer in and out for the owner; one exchange for others.

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use super::id::Id;
use super::raw::{Header, Notified, RawTask};
use super::slab::{Chunks, Slab, class_of};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// What a task's scheduler has to do.
pub(crate) trait Schedule: Sized + 'static {
    /// Puts a task in a queue. As soon as others can take it from there the task may end, and its arena and this
    /// scheduler with it: whoever cannot rule that out keeps the scheduler by a reference of its own.
    fn schedule(&self, entry: Notified);
    /// One of its tasks is complete.
    fn completed(&self);
    /// Whether this thread owns the arena now.
    fn owns(arena: NonNull<Arena<Self>>) -> bool;
}

/// Ids that an arena takes at once.
const IDS: u64 = 256;

/// So many places are taken back at a time where one is needed: nobody has to wait for all of a peak.
const MOST_COLLECTED: usize = 64;

struct Local {
    slab: Slab,
    /// What others have returned and was not taken back yet, linked by `next`.
    returned: *const Header,
    next_id: u64,
    last_id: u64,
    is_closed: bool,
}

/// See the module.
pub(crate) struct Arena<S> {
    scheduler: S,
    local: UnsafeCell<Local>,
    chunks: Chunks,
    /// What others have given back, linked by `next`; [`CLOSED`] when the owner takes no more.
    returned: AtomicPtr<Header>,
    /// Places that are still out after closing.
    orphans: AtomicUsize,
}

/// Not the address of any task.
const CLOSED: *mut Header = ptr::without_provenance_mut(1);

impl<S: Schedule> Arena<S> {
    pub(crate) fn new(scheduler: S) -> NonNull<Self> {
        let arena = Box::new(Self {
            scheduler,
            local: UnsafeCell::new(Local {
                slab: Slab::new(),
                returned: ptr::null(),
                next_id: 0,
                last_id: 0,
                is_closed: false,
            }),
            chunks: Chunks::new(),
            returned: AtomicPtr::new(ptr::null_mut()),
            orphans: AtomicUsize::new(0),
        });
        NonNull::from(Box::leak(arena))
    }

    #[inline]
    pub(crate) fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// # Safety
    /// The caller owns the arena.
    #[inline]
    pub(crate) unsafe fn next_id(&self) -> Id {
        // SAFETY: the owner's.
        self.local.with_mut(|local| unsafe {
            if (*local).next_id == (*local).last_id {
                (*local).next_id = Id::take(IDS);
                (*local).last_id = (*local).next_id + IDS;
            }
            (*local).next_id += 1;
            Id::from_number((*local).next_id - 1)
        })
    }

    /// Memory for a task. Its header knows the chunk that it is in.
    ///
    /// # Safety
    /// The caller owns the arena, has not closed it, and makes a task there at once.
    #[inline]
    pub(super) unsafe fn allocate(arena: NonNull<Self>, layout: Layout) -> NonNull<Header> {
        // SAFETY: its owner calls this.
        unsafe { arena.as_ref() }.local.with_mut(|local| {
            // SAFETY: the owner's.
            let local = unsafe { &mut *local };
            match local.slab.take(class_of(layout)) {
                Some(header) => header,
                None => Self::allocate_more(arena, local, layout),
            }
        })
    }

    #[cold]
    fn allocate_more(arena: NonNull<Self>, local: &mut Local, layout: Layout) -> NonNull<Header> {
        // SAFETY: as above.
        let this = unsafe { arena.as_ref() };
        this.collect_some(local, MOST_COLLECTED);
        match local.slab.take(class_of(layout)) {
            Some(header) => header,
            None => {
                let arena = arena.as_ptr().cast_const().cast();
                local.slab.grow(layout, arena, &this.chunks)
            }
        }
    }

    /// Takes back what others have returned, and frees what is not needed of it. For an owner that has nothing
    /// else to do.
    ///
    /// # Safety
    /// The caller owns the arena, and has not closed it.
    #[inline]
    pub(crate) unsafe fn collect(&self) {
        self.local.with_mut(|local| {
            // SAFETY: the owner's.
            while self.collect_some(unsafe { &mut *local }, usize::MAX) > 0 {}
        });
    }

    /// Takes back so many places at most, and says how many.
    #[inline]
    fn collect_some(&self, local: &mut Local, most: usize) -> usize {
        if local.returned.is_null() {
            if self.returned.load(Relaxed).is_null() {
                return 0;
            }
            // ORDERING: Acquire pairs with the release of whoever has returned a place.
            local.returned = self.returned.swap(ptr::null_mut(), Acquire);
        }
        self.take_back(local, most)
    }

    fn take_back(&self, local: &mut Local, most: usize) -> usize {
        let mut count = 0;
        while count < most {
            let Some(header) = NonNull::new(local.returned.cast_mut()) else {
                break;
            };
            // SAFETY: a place that was returned is the owner's.
            unsafe {
                local.returned = header.as_ref().next.get();
                local.slab.take_back(header, &self.chunks);
            }
            count += 1;
        }
        count
    }

    /// Gives the memory of a task back.
    ///
    /// # Safety
    /// The task is gone.
    #[inline]
    pub(super) unsafe fn give_back(arena: NonNull<Self>, header: NonNull<Header>) {
        // SAFETY: an arena outlives its places.
        let this = unsafe { arena.as_ref() };
        // SAFETY: the place is the caller's.
        let place = unsafe { header.as_ref() };
        place.state.vacate();
        if S::owns(arena) {
            // SAFETY: the owner's, and one of its places.
            this.local
                .with_mut(|local| unsafe { (*local).slab.take_back(header, &this.chunks) });
            return;
        }
        // ORDERING: Acquire, here and below, pairs with the release in `close`: who sees the arena closed sees
        // how many places are out.
        let mut top = this.returned.load(Acquire);
        while top != CLOSED {
            place.next.set(top);
            // ORDERING: Release pairs with the acquire of the owner.
            match this
                .returned
                .compare_exchange_weak(top, header.as_ptr(), AcqRel, Acquire)
            {
                Ok(_) => return,
                Err(seen) => top = seen,
            }
        }
        Self::let_go(arena, 1);
    }

    /// So many places have come back after closing.
    fn let_go(arena: NonNull<Self>, count: usize) {
        // SAFETY: it is there until the last place is back.
        let this = unsafe { arena.as_ref() };
        // ORDERING: Release and Acquire: who frees the arena sees what all others did in it.
        if this.orphans.fetch_sub(count, AcqRel) == count {
            // SAFETY: nobody has a place in it, and its owner has closed it.
            drop(unsafe { Box::from_raw(arena.as_ptr()) });
        }
    }

    /// Ends all tasks that live here; others can be made no more.
    ///
    /// # Safety
    /// The caller owns the arena.
    pub(crate) unsafe fn shut_down(arena: NonNull<Self>) {
        // SAFETY: it is there until it is closed.
        let this = unsafe { arena.as_ref() };
        // SAFETY: the owner's.
        this.local
            .with_mut(|local| unsafe { (*local).is_closed = true });
        let mut found = Found::default();
        this.find(&mut found);
        found.shut_down();
    }

    /// Finds all tasks that live here and are not complete. For everyone; what the owner makes meanwhile may be
    /// missing.
    pub(crate) fn find(&self, found: &mut Found) {
        self.chunks.for_each_place(|header| {
            // SAFETY: places stay meanwhile, and others look at nothing but the word.
            let state = unsafe { &(*header.as_ptr()).state };
            if state.try_add_reference() {
                // SAFETY: with a reference of its own.
                found.0.push(unsafe { RawTask::from_raw(header) });
            }
        });
    }

    /// # Safety
    /// The caller owns the arena.
    #[inline]
    pub(crate) unsafe fn is_shut_down(&self) -> bool {
        // SAFETY: the owner's.
        self.local.with_mut(|local| unsafe { (*local).is_closed })
    }

    /// The owner leaves for good. What is left of the tasks keeps the arena.
    ///
    /// # Safety
    /// The caller owns the arena, has shut it down, and uses it no more. No thread owns it any more.
    pub(crate) unsafe fn close(arena: NonNull<Self>) {
        // SAFETY: it is there until it is closed.
        let this = unsafe { arena.as_ref() };
        // One more, for the caller itself.
        // SAFETY: the owner's.
        let taken = unsafe { this.chunks.used() };
        this.orphans.store(taken + 1, Relaxed);
        // ORDERING: Acquire as in `collect`; Release, so that those who see it closed see the count.
        let returned = this.returned.swap(CLOSED, AcqRel);
        let count = this.local.with_mut(|local| {
            // SAFETY: nobody else comes here any more.
            let local = unsafe { &mut *local };
            let count = this.take_back(local, usize::MAX);
            local.returned = returned;
            count + this.take_back(local, usize::MAX)
        });
        Self::let_go(arena, count + 1);
    }
}

/// Tasks that were found in arenas, with a reference to each: none goes while others are ended.
#[derive(Default)]
pub(crate) struct Found(Vec<RawTask>);

impl Found {
    /// Ends them.
    pub(crate) fn shut_down(self) {
        for task in self.0 {
            // Those who run jobs see to them: one that has a thread is done.
            if !task.is_job() {
                task.shut_down();
            }
            // SAFETY: the reference that was taken when it was found.
            unsafe { task.drop_references(1) };
        }
    }
}

/// The numbers of tasks, in all runtimes.
#[cfg(not(all(test, loom)))]
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref NEXT_ID: AtomicU64 = AtomicU64::new(1);
}

impl Id {
    /// The first of so many numbers that no other task has.
    fn take(count: u64) -> u64 {
        NEXT_ID.fetch_add(count, Relaxed)
    }
}
