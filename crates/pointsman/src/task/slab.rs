//! The memory of tasks: places of a few sizes, cut from chunks.
//!
//! A chunk knows how many of its places are in use. When the last comes back the chunk is kept for the next
//! tasks, or freed if enough is kept: so memory goes back after a peak. What is too large for a place has a
//! chunk of its own, which goes with it.
//!
//! Invariants:
//! - Only the owner of a slab uses it, and what stands behind `owned` in a chunk. What stands before is
//!   written once, and anyone who has a place may read it.
//! - The chunks of a class that have room are in its list; the first is the one that is cut from.
//!
//! Cost: two moves of a pointer, in and out.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::mem;
use std::ptr::{self, NonNull};

use super::raw::Header;

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
const SMALL_IS_LARGE: bool = cfg!(loom);

/// The head of a chunk. Places follow it.
#[repr(C, align(64))]
pub(super) struct Chunk {
    /// The home, for those who have a task.
    pub(super) home: *const (),
    layout: Layout,
    /// Bytes to the first place, and of each.
    first: usize,
    size: usize,
    capacity: usize,
    class: usize,
    owned: Owned,
}

/// In a cache line of its own: others read what stands before it.
#[repr(align(64))]
struct Owned {
    /// Places that were used and are free, linked by `next`.
    free: Cell<*const Header>,
    used: Cell<usize>,
    /// Places that were ever used. The memory behind them is not touched.
    cut: Cell<usize>,
    /// Its number in the slab.
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

/// See the module.
pub(super) struct Slab {
    classes: [Class; CLASSES],
    chunks: Vec<NonNull<Chunk>>,
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

impl Slab {
    pub(super) fn new() -> Self {
        Self {
            classes: std::array::from_fn(|_| Class {
                first: ptr::null(),
                next_chunk: FIRST_CHUNK,
            }),
            chunks: Vec::new(),
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
        let cut = chunk.owned.cut.get();
        if cut == chunk.capacity {
            self.unlist(first);
            // SAFETY: as above.
            if let Some(next) = unsafe { self.classes[class].first.as_ref() }
                && next.owned.used.get() == 0
            {
                self.kept -= next.layout.size();
            }
            return self.take(class);
        }
        chunk.owned.cut.set(cut + 1);
        chunk.owned.used.set(chunk.owned.used.get() + 1);
        // SAFETY: within the chunk, and nobody has the place yet.
        unsafe {
            let header = place(first, cut);
            (&raw mut (*header.as_ptr()).chunk).write(first);
            Some(header)
        }
    }

    /// As [`take`](Self::take), with new memory for a task of this layout.
    pub(super) fn grow(&mut self, layout: Layout, home: *const ()) -> NonNull<Header> {
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
                home,
                layout,
                first,
                size,
                capacity,
                class,
                owned: Owned {
                    free: Cell::new(ptr::null()),
                    used: Cell::new(1),
                    cut: Cell::new(1),
                    index: Cell::new(self.chunks.len()),
                    is_listed: Cell::new(false),
                    previous: Cell::new(ptr::null()),
                    next: Cell::new(ptr::null()),
                },
            });
        }
        self.chunks.push(chunk);
        if class != ALONE {
            self.list(memory);
        }
        // SAFETY: each chunk has a place, and nobody has that.
        unsafe {
            let header = place(memory, 0);
            (&raw mut (*header.as_ptr()).chunk).write(memory);
            header
        }
    }

    /// # Safety
    /// The place is one of this slab's, and its task is gone.
    #[inline]
    pub(super) unsafe fn take_back(&mut self, header: NonNull<Header>) {
        // SAFETY: as the caller promises. A place has its chunk.
        let (place, chunk) = unsafe { (header.as_ref(), header.as_ref().chunk) };
        // SAFETY: as above.
        let owned = &unsafe { &*chunk }.owned;
        place.next.set(owned.free.get());
        owned.free.set(header.as_ptr());
        let used = owned.used.get() - 1;
        owned.used.set(used);
        if used == 0 || !owned.is_listed.get() {
            self.has_room(chunk);
        }
    }

    /// A chunk that was full has room, or no task is left in one.
    fn has_room(&mut self, chunk: *const Chunk) {
        // SAFETY: it is one of the slab's.
        let (head, owned) = unsafe { (&*chunk, &(*chunk).owned) };
        if head.class == ALONE {
            self.free(chunk);
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
            self.free(chunk);
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

    /// Frees a chunk that is in no list and has no task.
    fn free(&mut self, chunk: *const Chunk) {
        // SAFETY: it is one of the slab's, and nobody uses it any more.
        unsafe {
            let (index, layout) = ((*chunk).owned.index.get(), (*chunk).layout);
            self.chunks.swap_remove(index);
            if let Some(moved) = self.chunks.get(index) {
                moved.as_ref().owned.index.set(index);
            }
            dealloc(chunk.cast_mut().cast(), layout);
        }
    }

    /// Places that were handed out and have not come back.
    pub(super) fn used(&self) -> usize {
        // SAFETY: they are the slab's.
        let used = |chunk: &NonNull<Chunk>| unsafe { chunk.as_ref() }.owned.used.get();
        self.chunks.iter().map(used).sum()
    }

    /// All places that have or had a task.
    pub(super) fn places(&self) -> impl Iterator<Item = NonNull<Header>> {
        self.chunks.iter().flat_map(|chunk| {
            // SAFETY: it is one of the slab's.
            let cut = unsafe { chunk.as_ref() }.owned.cut.get();
            // SAFETY: as many were cut.
            (0..cut).map(|number| unsafe { place(chunk.as_ptr(), number) })
        })
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: allocated with this layout, and all its tasks are gone.
            unsafe {
                let layout = chunk.as_ref().layout;
                dealloc(chunk.as_ptr().cast(), layout);
            }
        }
    }
}
