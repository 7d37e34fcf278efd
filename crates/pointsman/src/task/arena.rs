//! Allocates and frees the memory of tasks, and finds all tasks at the shutdown of a runtime.
//!
//! Each worker slot of a runtime and each `LocalSet` has an arena. Its owner allocates and frees slots of the
//! [`slab`](super::slab) without a lock. Other threads push freed slots onto a stack, from which the owner
//! takes them back. So memory stays with its arena. With a general allocator it would migrate between
//! threads, which slows down allocators with per-thread heaps for the rest of the program.
//!
//! # Invariants
//!
//! - Only the owner uses `local`: the thread that holds the worker slot, the lock of the outer arena, or the
//!   `LocalSet`'s thread. Other threads use `returned`.
//! - A slot is vacant exactly if the state word of its task is zero.
//! - An arena is freed when it is closed and its last task is freed. Tasks keep it alive, and it keeps the
//!   scheduler alive.
//!
//! # Cost
//!
//! Allocating and freeing are two pointer moves each for the owner; freeing is one exchange for other
//! threads.

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use super::id::Id;
use super::origin::{KnownSites, Site, SpawnSite};
use super::raw::{Header, Notified, RawTask};
use super::slab::{Chunks, Slab, class_of};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// What a task needs of its scheduler.
pub(crate) trait Schedule: Sized + 'static {
    /// Queues a task. As soon as another thread can take the entry, the task may complete and free its arena
    /// and this scheduler. An implementation that uses `self` after that holds a reference of its own.
    fn schedule(&self, entry: Notified);
    /// Called when a task of this scheduler completes.
    fn completed(&self);
    /// Called when the future of a task or job was dropped, before its result is published.
    fn ended(&self, _task: RawTask) {}
    /// Called when a poll of a task has panicked.
    fn panicked(&self) {}
    /// Whether the current thread owns the arena.
    fn owns(arena: NonNull<Arena<Self>>) -> bool;
}

/// The number of ids that an arena reserves at a time from the process-wide counter.
const ID_BATCH: u64 = 256;

/// The maximum number of returned slots that one allocation takes back. Bounds the time of a spawn after a
/// peak.
const MAX_COLLECTED: usize = 64;

struct OwnerState {
    slab: Slab,
    /// Slots taken from the shared stack and not yet freed in the slab, linked by `next`.
    returned: *const Header,
    next_id: u64,
    last_id: u64,
    sites: KnownSites,
    is_shut_down: bool,
}

/// The parts of a new task. The state word of the slot is vacant, and [`Header::chunk`] works.
pub(super) struct Allocated {
    pub(super) memory: NonNull<Header>,
    pub(super) id: Id,
    pub(super) site: Site,
}

/// The memory of the tasks of one owner. See the module.
pub(crate) struct Arena<S> {
    scheduler: S,
    local: UnsafeCell<OwnerState>,
    chunks: Chunks,
    /// The stack of slots that other threads freed, linked by `next`. [`CLOSED`] once the owner is gone.
    returned: AtomicPtr<Header>,
    /// The number of slots in use after closing.
    orphans: AtomicUsize,
}

/// A value that is no task's address.
const CLOSED: *mut Header = ptr::without_provenance_mut(1);

impl<S: Schedule> Arena<S> {
    pub(crate) fn new(scheduler: S) -> NonNull<Self> {
        let arena = Box::new(Self {
            scheduler,
            local: UnsafeCell::new(OwnerState {
                slab: Slab::new(),
                returned: ptr::null(),
                next_id: 0,
                last_id: 0,
                sites: KnownSites::new(),
                is_shut_down: false,
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

    /// Allocates a slot for a task, if one was used before and neither an id nor the number of the location has to
    /// be fetched. See [`Allocated`].
    ///
    /// # Safety
    /// The caller owns the arena, has not closed it, and writes a task to the slot before it uses the arena
    /// again.
    #[inline(always)]
    pub(super) unsafe fn allocate_used(
        &self,
        layout: Layout,
        site: SpawnSite<'_>,
    ) -> Option<Allocated> {
        self.local.with_mut(|local| {
            // SAFETY: only the owner uses `local`, and the caller owns the arena.
            let local = unsafe { &mut *local };
            let number = local.next_id;
            if number == local.last_id || site.span.id().is_some() {
                return None;
            }
            let site = Site::known(site, &local.sites)?;
            let memory = local.slab.take_used(class_of(layout))?;
            local.next_id = number + 1;
            let id = Id::from_number(number);
            Some(Allocated { memory, id, site })
        })
    }

    /// Allocates a slot for a task.
    ///
    /// # Safety
    /// The requirements are those of [`allocate_used`](Self::allocate_used).
    pub(super) unsafe fn allocate(
        arena: NonNull<Self>,
        layout: Layout,
        site: SpawnSite<'_>,
    ) -> Allocated {
        // SAFETY: the arena is not closed, so it is not freed.
        unsafe { arena.as_ref() }.local.with_mut(|local| {
            // SAFETY: only the owner uses `local`, and the caller owns the arena.
            let local = unsafe { &mut *local };
            let id = site.span.id().unwrap_or_else(|| {
                if local.next_id == local.last_id {
                    local.next_id = Id::take(ID_BATCH);
                    local.last_id = local.next_id + ID_BATCH;
                }
                local.next_id += 1;
                Id::from_number(local.next_id - 1)
            });
            let memory = match local.slab.take(class_of(layout)) {
                Some(header) => header,
                None => Self::allocate_more(arena, local, layout),
            };
            let site = Site::new(site, id, &mut local.sites);
            Allocated { memory, id, site }
        })
    }

    #[cold]
    fn allocate_more(
        arena: NonNull<Self>,
        local: &mut OwnerState,
        layout: Layout,
    ) -> NonNull<Header> {
        // SAFETY: `allocate` got an arena that is not closed, so it is not freed.
        let this = unsafe { arena.as_ref() };
        this.collect_some(local, MAX_COLLECTED);
        match local.slab.take(class_of(layout)) {
            Some(header) => header,
            None => {
                let arena = arena.as_ptr().cast_const().cast();
                local.slab.grow(layout, arena, &this.chunks)
            }
        }
    }

    /// Takes back all slots that other threads returned, and frees chunks beyond what the slab retains.
    /// Called by an idle owner.
    ///
    /// # Safety
    /// The caller owns the arena, and has not closed it.
    #[inline]
    pub(crate) unsafe fn collect(&self) {
        self.local.with_mut(|local| {
            // SAFETY: only the owner uses `local`, and the caller owns the arena.
            while self.collect_some(unsafe { &mut *local }, usize::MAX) > 0 {}
        });
    }

    /// Takes back at most `max` returned slots. Returns their number.
    #[inline]
    fn collect_some(&self, local: &mut OwnerState, max: usize) -> usize {
        if local.returned.is_null() {
            if self.returned.load(Relaxed).is_null() {
                return 0;
            }
            // ORDERING: Acquire pairs with the Release exchange of `give_back`: the last accesses to the
            // returned slots come before their reuse.
            local.returned = self.returned.swap(ptr::null_mut(), Acquire);
        }
        self.take_back(local, max)
    }

    fn take_back(&self, local: &mut OwnerState, max: usize) -> usize {
        let mut count = 0;
        while count < max {
            let Some(header) = NonNull::new(local.returned.cast_mut()) else {
                break;
            };
            // SAFETY: the thread that returned the slot gave up its last reference, so the owner alone uses
            // it.
            unsafe {
                local.returned = header.as_ref().next.get();
                local.slab.take_back(header, &self.chunks);
            }
            count += 1;
        }
        count
    }

    /// Frees the slot of a task.
    ///
    /// # Safety
    /// The last reference was dropped and the future, output and join waker with it.
    #[inline]
    pub(super) unsafe fn give_back(arena: NonNull<Self>, header: NonNull<Header>) {
        // SAFETY: the slot is not counted as freed yet, so the arena is alive.
        let this = unsafe { arena.as_ref() };
        // SAFETY: the caller held the last reference, so it alone uses the slot.
        let slot = unsafe { header.as_ref() };
        slot.state.vacate();
        if S::owns(arena) {
            // SAFETY: `owns` says that this thread is the owner, which alone uses `local`. The slot is one of
            // this arena and free.
            this.local
                .with_mut(|local| unsafe { (*local).slab.take_back(header, &this.chunks) });
            return;
        }
        // ORDERING: Acquire, here and on failure below, pairs with the Release of `close`: a thread that sees
        // CLOSED sees the count in `orphans`.
        let mut top = this.returned.load(Acquire);
        while top != CLOSED {
            slot.next.set(top);
            // ORDERING: Release pairs with the Acquire swaps of `collect_some` and `close`: the owner reuses
            // the slot after this thread's last access.
            match this
                .returned
                .compare_exchange_weak(top, header.as_ptr(), Release, Acquire)
            {
                Ok(_) => return,
                Err(seen) => top = seen,
            }
        }
        Self::release_slots(arena, 1);
    }

    /// Counts slots that were freed after closing, and frees the arena with the last.
    fn release_slots(arena: NonNull<Self>, count: usize) {
        // SAFETY: the caller's slots are not counted as freed yet, so the arena is alive.
        let this = unsafe { arena.as_ref() };
        // ORDERING: Release pairs with the Acquire of the last decrement: the arena is freed after every
        // other access to it.
        if this.orphans.fetch_sub(count, AcqRel) == count {
            // SAFETY: `new` leaked this box. All slots are free and the owner closed the arena, so this is
            // the last use.
            drop(unsafe { Box::from_raw(arena.as_ptr()) });
        }
    }

    /// Cancels all tasks of the arena and marks it as shut down.
    ///
    /// # Safety
    /// The caller owns the arena.
    pub(crate) unsafe fn shut_down(arena: NonNull<Self>) {
        // SAFETY: the arena is not closed, so it is not freed.
        let this = unsafe { arena.as_ref() };
        // SAFETY: only the owner uses `local`, and the caller owns the arena.
        this.local
            .with_mut(|local| unsafe { (*local).is_shut_down = true });
        let mut found = FoundTasks::default();
        this.find(&mut found);
        found.shut_down();
    }

    /// Finds all tasks of the arena that are not complete. Any thread may call this. Tasks that the owner
    /// spawns meanwhile may be missing.
    pub(crate) fn find(&self, found: &mut FoundTasks) {
        self.chunks.for_each_slot(|header| {
            // SAFETY: `for_each_slot` keeps the slot allocated. Its state word is an atomic that was
            // initialised before the slot became visible.
            let state = unsafe { &(*header.as_ptr()).state };
            if state.try_add_reference() {
                // SAFETY: `try_add_reference` added a reference, which `FoundTasks` holds.
                found.0.push(unsafe { RawTask::from_raw(header) });
            }
        });
    }

    /// # Safety
    /// The caller owns the arena.
    #[inline]
    pub(crate) unsafe fn is_shut_down(&self) -> bool {
        // SAFETY: only the owner uses `local`, and the caller owns the arena.
        self.local
            .with_mut(|local| unsafe { (*local).is_shut_down })
    }

    /// Gives up the arena. Tasks that still have references keep it alive.
    ///
    /// # Safety
    /// The caller owned the arena, has shut it down and does not use it afterwards. `Schedule::owns` is false
    /// for all threads.
    pub(crate) unsafe fn close(arena: NonNull<Self>) {
        // SAFETY: the arena is not closed yet, so it is not freed.
        let this = unsafe { arena.as_ref() };
        // One more for the caller, so that the arena stays alive until the end of this function.
        // SAFETY: the caller is the last owner, and no other thread frees slots through `local` any more.
        let used = unsafe { this.chunks.used() };
        this.orphans.store(used + 1, Relaxed);
        // ORDERING: Acquire pairs with the Release exchange of `give_back`. Release pairs with the Acquire
        // loads there: a thread that sees CLOSED sees the count in `orphans`.
        let returned = this.returned.swap(CLOSED, AcqRel);
        let count = this.local.with_mut(|local| {
            // SAFETY: the caller is the last owner, and `owns` is false for all threads.
            let local = unsafe { &mut *local };
            let count = this.take_back(local, usize::MAX);
            local.returned = returned;
            count + this.take_back(local, usize::MAX)
        });
        Self::release_slots(arena, count + 1);
    }
}

/// Tasks found in arenas. Holds a reference to each, so that none is freed while others are cancelled.
#[derive(Default)]
pub(crate) struct FoundTasks(pub(super) Vec<RawTask>);

impl Drop for FoundTasks {
    fn drop(&mut self) {
        for task in self.0.drain(..) {
            // SAFETY: `find` added this reference for the list, which gives it up here.
            unsafe { task.drop_references(1) };
        }
    }
}

impl FoundTasks {
    /// Cancels the tasks.
    pub(crate) fn shut_down(self) {
        for task in &self.0 {
            // The blocking pool ends its jobs itself: a job that has started runs to its end.
            if !task.is_job() {
                task.shut_down();
            }
        }
    }
}

/// The next unused task id, of all runtimes.
#[cfg(not(all(test, loom)))]
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref NEXT_ID: AtomicU64 = AtomicU64::new(1);
}

impl Id {
    /// Reserves `count` ids and returns the first.
    fn take(count: u64) -> u64 {
        NEXT_ID.fetch_add(count, Relaxed)
    }

    /// Reserves an id for a span, which is created before its task.
    #[cfg(feature = "tracing")]
    pub(crate) fn take_one() -> Self {
        Self::from_number(Self::take(1))
    }
}
