//! The memory of tasks: places of a few sizes, cut from chunks.
//!
//! A chunk knows how many of its places are in use. When the last comes back the chunk is kept for the next
//! tasks, or freed if enough is kept: so memory goes back after a peak. What is too large for a place has a
//! chunk of its own, which goes with it.
//!
//! Invariants:
//! - Only the owner of a slab uses it, and what stands behind `owned` in a chunk. What stands before is
//!   written once, and anyone who has a place or the lock of the list of chunks may read it, and how many places
//!   are cut.
//! - A place that is cut and has no task is one whose word is zero.
//! - The chunks of a class that have room are in its list; the first is the one that is cut from.
//!
//! Cost: two moves of a pointer, in and out.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::mem;
use std::ptr::{self, NonNull};

use super::raw::Header;
use super::state::State;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Sizes of places are multiples of this, so it is what they are aligned to as well.
const STEP: usize = 32;
/// Bytes of the largest place.
pub(super) const LARGEST_PLACE: usize = 1 << 10;
const CLASSES: usize = LARGEST_PLACE / STEP;
/// The class of what has a chunk of its own.
const ALONE: usize = CLASSES;

/// Bytes of the first and of the largest chunks of a class.
const FIRST_CHUNK: usize = 4 << 10;
const LARGEST_CHUNK: usize = 256 << 10;
/// Bytes of chunks without a task that are kept for the next ones. Tokio's bench `spawn_many` (10,000 tasks at
/// once) takes and returns 1 MiB each time.
const MOST_KEPT: usize = 2 << 20;

/// The places of models are allocated one by one, so that they are seen to be used as they should.
const SMALL_IS_LARGE: bool = cfg!(all(test, loom));

/// The head of a chunk. Places follow it.
#[repr(C, align(64))]
pub(super) struct Chunk {
    /// The arena, for those who have a task.
    pub(super) arena: *const (),
    layout: Layout,
    /// Bytes to the first place, and of each.
    first: usize,
    size: usize,
    capacity: usize,
    class: usize,
    /// Places that were ever used; written by the owner. The memory behind them is not touched.
    cut: AtomicUsize,
    owned: Owned,
}

/// In a cache line of its own: others read what stands before it.
#[repr(align(64))]
struct Owned {
    /// Places that were used and are free, linked by `next`.
    free: Cell<*const Header>,
    used: Cell<usize>,
    /// Its number in the list of chunks.
    index: Cell<usize>,
    /// In the list of its class.
    is_listed: Cell<bool>,
    previous: Cell<*const Chunk>,
    next: Cell<*const Chunk>,
}

/// The chunks of a size that have room.
struct Class {
    first: *const Chunk,
    next_chunk: usize,
}

/// All chunks of a slab, for others who look for its tasks.
pub(super) struct Chunks(Mutex<Vec<NonNull<Chunk>>>);

impl Chunks {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Calls this with all places that have or had a task, which stay meanwhile. Those that have one may get a
    /// reference by their word, and nothing else may be looked at before.
    pub(super) fn for_each_place(&self, mut visit: impl FnMut(NonNull<Header>)) {
        for &chunk in &*lock(&self.0) {
            // ORDERING: Acquire pairs with the release of the owner: the words of places that are cut are there.
            // SAFETY: a chunk is in the list for as long as it is there.
            let cut = unsafe { (*chunk.as_ptr()).cut.load(Acquire) };
            for number in 0..cut {
                // SAFETY: as many were cut.
                visit(unsafe { place(chunk.as_ptr(), number) });
            }
        }
    }
}

/// See the module.
pub(super) struct Slab {
    classes: [Class; CLASSES],
    /// Bytes of chunks without a task, but for those that are cut from.
    kept: usize,
}

/// The class of tasks with this layout.
#[inline]
pub(super) const fn class_of(layout: Layout) -> usize {
    if layout.size() > LARGEST_PLACE || layout.align() > STEP || SMALL_IS_LARGE {
        ALONE
    } else {
        (layout.size() - 1) / STEP
    }
}

/// # Safety
/// The chunk has that many places and one.
unsafe fn place(chunk: *const Chunk, number: usize) -> NonNull<Header> {
    // SAFETY: as the caller promises, and that is within the chunk.
    unsafe {
        let offset = (*chunk).first + number * (*chunk).size;
        NonNull::new_unchecked(chunk.byte_add(offset).cast_mut().cast())
    }
}

/// Makes a place whose word is zero, and which knows its chunk.
///
/// # Safety
/// The chunk has that many places and one, and nobody has this one.
unsafe fn first_use(chunk: *const Chunk, number: usize) -> NonNull<Header> {
    // SAFETY: as the caller promises.
    unsafe {
        let header = place(chunk, number);
        (&raw mut (*header.as_ptr()).state).write(State::vacant());
        (&raw mut (*header.as_ptr()).next).write(Cell::new(ptr::null()));
        (&raw mut (*header.as_ptr()).chunk).write(chunk);
        header
    }
}

impl Slab {
    pub(super) fn new() -> Self {
        Self {
            classes: std::array::from_fn(|_| Class {
                first: ptr::null(),
                next_chunk: FIRST_CHUNK,
            }),
            kept: 0,
        }
    }

    /// A place of this class, if there is one without new memory. Its header knows its chunk.
    #[inline]
    pub(super) fn take(&mut self, class: usize) -> Option<NonNull<Header>> {
        let first = self.classes.get(class)?.first;
        // SAFETY: what is listed is there.
        let owned = &unsafe { first.as_ref() }?.owned;
        let Some(header) = NonNull::new(owned.free.get().cast_mut()) else {
            return self.cut(class);
        };
        // SAFETY: a place that is free is the owner's.
        owned.free.set(unsafe { header.as_ref() }.next.get());
        owned.used.set(owned.used.get() + 1);
        Some(header)
    }

    /// As [`take`](Self::take), where the first chunk has no place that was used before.
    fn cut(&mut self, class: usize) -> Option<NonNull<Header>> {
        let first = self.classes[class].first;
        // SAFETY: what is listed is there.
        let chunk = unsafe { first.as_ref() }?;
        let cut = chunk.cut.load(Relaxed);
        if cut == chunk.capacity {
            self.unlist(first);
            // SAFETY: as above.
            let next = unsafe { self.classes[class].first.as_ref() };
            if let Some(next) = next.filter(|next| next.owned.used.get() == 0) {
                self.kept -= next.layout.size();
            }
            return self.take(class);
        }
        chunk.owned.used.set(chunk.owned.used.get() + 1);
        // SAFETY: within the chunk, and nobody has the place yet.
        let header = unsafe { first_use(first, cut) };
        // ORDERING: Release: see `for_each_place`.
        chunk.cut.store(cut + 1, Release);
        Some(header)
    }

    /// As [`take`](Self::take), with new memory for a task of this layout.
    pub(super) fn grow(
        &mut self,
        layout: Layout,
        arena: *const (),
        chunks: &Chunks,
    ) -> NonNull<Header> {
        let class = class_of(layout);
        let head = size_of::<Chunk>();
        let (first, size, capacity, layout) = match self.classes.get_mut(class) {
            Some(of_class) => {
                let (size, bytes) = ((class + 1) * STEP, of_class.next_chunk);
                of_class.next_chunk = (bytes * 2).min(LARGEST_CHUNK);
                let layout = Layout::from_size_align(bytes, align_of::<Chunk>());
                (head, size, (bytes - head) / size, layout)
            }
            None => {
                let align = layout.align().max(align_of::<Chunk>());
                let first = head.next_multiple_of(align);
                let whole = Layout::from_size_align(first + layout.size(), align);
                (first, layout.size(), 1, whole)
            }
        };
        let layout = layout.expect("the layout of a type, with a little more, is one");
        // SAFETY: its size is not zero.
        let memory = unsafe { alloc(layout) }.cast::<Chunk>();
        let Some(chunk) = NonNull::new(memory) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the memory is large enough, aligned, and nobody else's.
        unsafe {
            chunk.write(Chunk {
                arena,
                layout,
                first,
                size,
                capacity,
                class,
                cut: AtomicUsize::new(1),
                owned: Owned {
                    free: Cell::new(ptr::null()),
                    used: Cell::new(1),
                    index: Cell::new(0),
                    is_listed: Cell::new(false),
                    previous: Cell::new(ptr::null()),
                    next: Cell::new(ptr::null()),
                },
            });
        }
        // SAFETY: each chunk has a place, and nobody has that.
        let header = unsafe { first_use(memory, 0) };
        let mut all = lock(&chunks.0);
        // SAFETY: it was just made.
        unsafe { (*memory).owned.index.set(all.len()) };
        all.push(chunk);
        drop(all);
        if class != ALONE {
            self.list(memory);
        }
        header
    }

    /// # Safety
    /// The place is one of this slab's, and its task is gone.
    #[inline]
    pub(super) unsafe fn take_back(&mut self, header: NonNull<Header>, chunks: &Chunks) {
        // SAFETY: as the caller promises. A place has its chunk.
        let (place, chunk) = unsafe { (header.as_ref(), header.as_ref().chunk) };
        // SAFETY: as above.
        let owned = &unsafe { &*chunk }.owned;
        place.next.set(owned.free.get());
        owned.free.set(header.as_ptr());
        let used = owned.used.get() - 1;
        owned.used.set(used);
        if used == 0 || !owned.is_listed.get() {
            self.has_room(chunk, chunks);
        }
    }

    /// A chunk that was full has room, or no task is left in one.
    fn has_room(&mut self, chunk: *const Chunk, chunks: &Chunks) {
        // SAFETY: it is one of the slab's.
        let (head, owned) = unsafe { (&*chunk, &(*chunk).owned) };
        if head.class == ALONE {
            Self::free(chunk, chunks);
            return;
        }
        if !owned.is_listed.get() {
            self.list(chunk);
        }
        if owned.used.get() > 0 || self.classes[head.class].first == chunk {
            return;
        }
        let bytes = head.layout.size();
        if self.kept + bytes > MOST_KEPT {
            self.unlist(chunk);
            Self::free(chunk, chunks);
        } else {
            self.kept += bytes;
        }
    }

    /// Behind the first of its class, so that this goes on being cut from until it is full.
    fn list(&mut self, chunk: *const Chunk) {
        // SAFETY: chunks of the list are there.
        unsafe {
            let class = &mut self.classes[(*chunk).class];
            let owned = &(*chunk).owned;
            owned.is_listed.set(true);
            owned.previous.set(class.first);
            let next = match class.first.as_ref() {
                Some(first) => first.owned.next.replace(chunk),
                None => mem::replace(&mut class.first, chunk),
            };
            owned.next.set(next);
            if let Some(next) = next.as_ref() {
                next.owned.previous.set(chunk);
            }
        }
    }

    fn unlist(&mut self, chunk: *const Chunk) {
        // SAFETY: chunks of the list are there.
        unsafe {
            let owned = &(*chunk).owned;
            owned.is_listed.set(false);
            let (previous, next) = (owned.previous.get(), owned.next.get());
            match previous.as_ref() {
                Some(previous) => previous.owned.next.set(next),
                None => self.classes[(*chunk).class].first = next,
            }
            if let Some(next) = next.as_ref() {
                next.owned.previous.set(previous);
            }
        }
    }

    /// Frees a chunk that is in no list of a class and has no task.
    fn free(chunk: *const Chunk, chunks: &Chunks) {
        let mut all = lock(&chunks.0);
        // SAFETY: it is one of the slab's, and nobody uses it any more: those who look have the lock.
        unsafe {
            let (index, layout) = ((*chunk).owned.index.get(), (*chunk).layout);
            all.swap_remove(index);
            if let Some(moved) = all.get(index) {
                (*moved.as_ptr()).owned.index.set(index);
            }
            drop(all);
            dealloc(chunk.cast_mut().cast(), layout);
        }
    }
}

impl Chunks {
    /// Places that were handed out and have not come back.
    ///
    /// # Safety
    /// The caller is the owner of the slab.
    pub(super) unsafe fn used(&self) -> usize {
        // SAFETY: they are the owner's.
        let used = |chunk: &NonNull<Chunk>| unsafe { (*chunk.as_ptr()).owned.used.get() };
        lock(&self.0).iter().map(used).sum()
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        for chunk in lock(&self.0).drain(..) {
            // SAFETY: allocated with this layout, and all its tasks are gone.
            unsafe {
                let layout = (*chunk.as_ptr()).layout;
                dealloc(chunk.as_ptr().cast(), layout);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
