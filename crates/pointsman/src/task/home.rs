//! Where the memory of tasks comes from and goes back to.
//!
//! Each seat of a runtime has a home: places in size classes, handed out and taken back by whoever holds the
//! seat, without a lock. What others let go of goes back over a stack, so no memory passes from one thread
//! to another for good: an allocator that gives each thread an arena of its own would be slowed down by that
//! for the rest of the program. What is too large for a class is allocated by itself.
//!
//! The home also knows all tasks that live in it. When the runtime ends they are found here, so that tasks
//! need no list of their own.
//!
//! Invariants:
//! - `local` is used by the owner alone: who holds the seat, who has the lock of the outer home, the thread
//!   of a `LocalSet`. Everyone else uses `returned`.
//! - A place is vacant exactly if the word of its task is zero.
//! - A home goes when it is closed and all its tasks are gone: tasks keep it alive, and it keeps the
//!   scheduler alive.
//!
//! Cost: two moves of a pointer in and out for the owner; one exchange for others.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::Id;
use super::raw::{Entry, Header, RawTask};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// What a task's scheduler has to do.
pub(crate) trait Schedule: Sized + 'static {
    /// Puts a task in a queue.
    fn schedule(&self, entry: Entry);
    /// One of its tasks is complete.
    fn completed(&self);
    /// Whether this thread owns the home now.
    fn owns(home: NonNull<Home<Self>>) -> bool;
}

/// Bytes of a size class, times its number and one.
const STEP: usize = 64;
const CLASSES: usize = 16;
/// The class of what is allocated by itself.
const LARGE: u32 = CLASSES as u32;
/// Alignment of a place.
const ALIGNMENT: usize = 16;
/// Bytes of the first and of the largest chunks of a class.
const FIRST_CHUNK: usize = 4 << 10;
const LARGEST_CHUNK: usize = 256 << 10;

/// Ids that a home takes at once.
const IDS: u64 = 256;

/// So often a home that only allocates by itself looks at what others have returned.
const COLLECT_INTERVAL: usize = if cfg!(loom) { 2 } else { 64 };

/// The places of models are allocated one by one, so that they are seen to be used as they should.
const SMALL_IS_LARGE: bool = cfg!(loom);

struct Chunk {
    memory: NonNull<u8>,
    layout: Layout,
    /// Bytes of a place.
    size: usize,
}

struct Class {
    /// Places that are free, linked by `next`.
    free: *const Header,
    next_chunk: usize,
}

struct Local {
    classes: [Class; CLASSES],
    chunks: Vec<Chunk>,
    large: Vec<(NonNull<Header>, Layout)>,
    /// Places that were handed out and have not come back to the owner.
    taken: usize,
    next_id: u64,
    last_id: u64,
    is_closed: bool,
}

/// See the module.
pub(crate) struct Home<S> {
    scheduler: S,
    local: UnsafeCell<Local>,
    /// What others have given back, linked by `next`; [`CLOSED`] when the owner takes no more.
    returned: AtomicPtr<Header>,
    /// Places that are still out after closing.
    orphans: AtomicUsize,
}

/// Not the address of any task.
const CLOSED: *mut Header = ptr::without_provenance_mut(1);

impl<S: Schedule> Home<S> {
    pub(crate) fn new(scheduler: S) -> NonNull<Self> {
        let home = Box::new(Self {
            scheduler,
            local: UnsafeCell::new(Local {
                classes: std::array::from_fn(|_| Class {
                    free: ptr::null(),
                    next_chunk: FIRST_CHUNK,
                }),
                chunks: Vec::new(),
                large: Vec::new(),
                taken: 0,
                next_id: 0,
                last_id: 0,
                is_closed: false,
            }),
            returned: AtomicPtr::new(ptr::null_mut()),
            orphans: AtomicUsize::new(0),
        });
        NonNull::from(Box::leak(home))
    }

    #[inline]
    pub(crate) fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// # Safety
    /// The caller owns the home.
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

    /// Memory for a task, and its class. The word of the task is zero.
    ///
    /// # Safety
    /// The caller owns the home, and has not closed it.
    #[inline]
    pub(super) unsafe fn allocate(&self, layout: Layout) -> (NonNull<Header>, u32) {
        // SAFETY: the owner's.
        self.local.with_mut(|local| unsafe {
            let local = &mut *local;
            local.taken += 1;
            let class = (layout.size() - 1) / STEP;
            if class >= CLASSES || layout.align() > ALIGNMENT || SMALL_IS_LARGE {
                if local.large.len() % COLLECT_INTERVAL == COLLECT_INTERVAL - 1 {
                    self.collect(local);
                }
                return (Self::allocate_large(local, layout), LARGE);
            }
            let mut free = local.classes[class].free;
            if free.is_null() {
                self.collect(local);
                free = local.classes[class].free;
            }
            if free.is_null() {
                Self::add_chunk(local, class);
                free = local.classes[class].free;
            }
            local.classes[class].free = (*free).next.get();
            (NonNull::new_unchecked(free.cast_mut()), class as u32)
        })
    }

    fn allocate_large(local: &mut Local, layout: Layout) -> NonNull<Header> {
        // SAFETY: a task is never of size zero.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        let header = memory.cast::<Header>();
        // SAFETY: the memory is that of a header at least.
        unsafe { (&raw mut (*header.as_ptr()).index).write(Cell::new(local.large.len() as u32)) };
        local.large.push((header, layout));
        header
    }

    fn add_chunk(local: &mut Local, class: usize) {
        let size = (class + 1) * STEP;
        let bytes = local.classes[class].next_chunk.max(size);
        local.classes[class].next_chunk = (bytes * 2).min(LARGEST_CHUNK);
        let count = bytes / size;
        let layout = Layout::from_size_align(count * size, ALIGNMENT).expect("a chunk is small");
        // Zeroed: no place has a task.
        // SAFETY: its size is not zero.
        let Some(memory) = NonNull::new(unsafe { alloc_zeroed(layout) }) else {
            handle_alloc_error(layout)
        };
        for place in (0..count).rev() {
            // SAFETY: within the chunk, which nobody else knows yet.
            unsafe {
                let header = memory.add(place * size).cast::<Header>().as_ptr();
                (*header).next.set(local.classes[class].free);
                local.classes[class].free = header;
            }
        }
        local.chunks.push(Chunk {
            memory,
            layout,
            size,
        });
    }

    /// Takes back what others have returned.
    #[inline]
    fn collect(&self, local: &mut Local) {
        if self.returned.load(Relaxed).is_null() {
            return;
        }
        // ORDERING: Acquire pairs with the release of whoever has returned a place.
        let returned = self.returned.swap(ptr::null_mut(), Acquire);
        Self::take_back_all(local, returned);
    }

    fn take_back_all(local: &mut Local, mut returned: *const Header) -> usize {
        let mut count = 0;
        while let Some(header) = NonNull::new(returned.cast_mut()) {
            // SAFETY: a place that was returned is the owner's.
            returned = unsafe { header.as_ref() }.next.get();
            Self::take_back(local, header);
            count += 1;
        }
        count
    }

    #[inline]
    fn take_back(local: &mut Local, header: NonNull<Header>) {
        local.taken -= 1;
        // SAFETY: the owner's.
        let class = unsafe { header.as_ref() }.class;
        if class == LARGE {
            // SAFETY: the owner's.
            let index = unsafe { header.as_ref() }.index.get();
            let (_, layout) = local.large.swap_remove(index as usize);
            if let Some((moved, _)) = local.large.get(index as usize) {
                // SAFETY: its place is there, whoever has the task.
                unsafe { (*moved.as_ptr()).index.set(index) };
            }
            // SAFETY: allocated with this layout, and used no more.
            unsafe { dealloc(header.as_ptr().cast(), layout) };
            return;
        }
        let class = &mut local.classes[class as usize];
        // SAFETY: the owner's.
        unsafe { header.as_ref() }.next.set(class.free);
        class.free = header.as_ptr();
    }

    /// Gives the memory of a task back.
    ///
    /// # Safety
    /// The task is gone.
    #[inline]
    pub(super) unsafe fn give_back(home: NonNull<Self>, header: NonNull<Header>) {
        // SAFETY: a home outlives its places.
        let this = unsafe { home.as_ref() };
        // SAFETY: the place is the caller's.
        let place = unsafe { header.as_ref() };
        place.state.vacate();
        if S::owns(home) {
            // SAFETY: the owner's.
            this.local
                .with_mut(|local| Self::take_back(unsafe { &mut *local }, header));
            return;
        }
        // ORDERING: Acquire, here and below, pairs with the release in `close`: who sees the home closed sees
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
        Self::let_go(home, 1);
    }

    /// So many places have come back after closing.
    fn let_go(home: NonNull<Self>, count: usize) {
        // SAFETY: it is there until the last place is back.
        let this = unsafe { home.as_ref() };
        // ORDERING: Release and Acquire: who frees the home sees what all others did in it.
        if this.orphans.fetch_sub(count, AcqRel) == count {
            // SAFETY: nobody has a place in it, and its owner has closed it.
            drop(unsafe { Box::from_raw(home.as_ptr()) });
        }
    }

    /// Ends all tasks that live here; others can be made no more.
    ///
    /// # Safety
    /// The caller owns the home.
    pub(crate) unsafe fn shut_down(home: NonNull<Self>) {
        // SAFETY: it is there until it is closed.
        let this = unsafe { home.as_ref() };
        let mut found = Vec::new();
        this.local.with_mut(|local| {
            // SAFETY: the owner's.
            let local = unsafe { &mut *local };
            local.is_closed = true;
            for chunk in &local.chunks {
                for place in 0..chunk.layout.size() / chunk.size {
                    // SAFETY: within the chunk.
                    found.push(unsafe { chunk.memory.add(place * chunk.size) }.cast::<Header>());
                }
            }
            found.extend(local.large.iter().map(|&(header, _)| header));
        });
        // A reference to each, so that none goes while others are ended.
        found.retain(|header| {
            // SAFETY: places stay, and others look at nothing but the word.
            let state = unsafe { &(*header.as_ptr()).state };
            state.try_add_reference()
        });
        for header in found {
            // SAFETY: with a reference of its own.
            let task = unsafe { RawTask::from_raw(header) };
            // Those who run jobs see to them: one that has a thread is done.
            if !task.header().is_job {
                task.shut_down();
            }
            // SAFETY: the reference from above.
            unsafe { task.drop_references(1) };
        }
    }

    /// # Safety
    /// The caller owns the home.
    #[inline]
    pub(crate) unsafe fn is_shut_down(&self) -> bool {
        // SAFETY: the owner's.
        self.local.with_mut(|local| unsafe { (*local).is_closed })
    }

    /// The owner leaves for good. What is left of the tasks keeps the home.
    ///
    /// # Safety
    /// The caller owns the home, has shut it down, and uses it no more. No thread owns it any more.
    pub(crate) unsafe fn close(home: NonNull<Self>) {
        // SAFETY: it is there until it is closed.
        let this = unsafe { home.as_ref() };
        // One more, for the caller itself.
        let taken = this.local.with_mut(|local| {
            // SAFETY: the owner's.
            unsafe { (*local).taken }
        });
        this.orphans.store(taken + 1, Relaxed);
        // ORDERING: Acquire as in `collect`; Release, so that those who see it closed see the count.
        let returned = this.returned.swap(CLOSED, AcqRel);
        let count = this.local.with_mut(|local| {
            // SAFETY: nobody else comes here any more.
            Self::take_back_all(unsafe { &mut *local }, returned)
        });
        Self::let_go(home, count + 1);
    }
}

impl<S> Drop for Home<S> {
    fn drop(&mut self) {
        self.local.with_mut(|local| {
            // SAFETY: nobody else is left.
            let local = unsafe { &mut *local };
            for chunk in local.chunks.drain(..) {
                // SAFETY: allocated with this layout.
                unsafe { dealloc(chunk.memory.as_ptr(), chunk.layout) };
            }
            for (header, layout) in local.large.drain(..) {
                // SAFETY: as above. It came back after closing.
                unsafe { dealloc(header.as_ptr().cast(), layout) };
            }
        });
    }
}

/// The numbers of tasks, in all runtimes.
#[cfg(not(loom))]
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

#[cfg(loom)]
loom::lazy_static! {
    static ref NEXT_ID: AtomicU64 = AtomicU64::new(1);
}

impl Id {
    /// The first of so many numbers that no other task has.
    fn take(count: u64) -> u64 {
        NEXT_ID.fetch_add(count, Relaxed)
    }
}
