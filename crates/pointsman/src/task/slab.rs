//! The slab allocator of an arena: slots in size classes, carved from chunks.
//!
//! A chunk counts its used slots. An empty chunk is retained for later tasks up to [`MAX_RETAINED`] bytes and
//! freed beyond, so memory is returned after a peak. A task that fits no size class gets a chunk of its own,
//! which is freed with it.
//!
//! # Invariants
//!
//! - Only the owner uses a slab and the `owned` part of its chunks. The other fields of a chunk are written
//!   once and may be read by a thread that has a slot or the lock of the chunk list; so may `carved`.
//! - A carved slot without a task has a state word of zero.
//! - The chunks of a size class with free slots are in its list. Allocation uses the first.
//!
//! Cost: two pointer moves to allocate and two to free.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::mem;
use std::ptr::{self, NonNull};

use super::raw::Header;
use super::state::TaskState;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The distance between size classes, and the alignment of slots. A slot wastes at most 15 bytes.
pub(super) const STEP: usize = 16;
/// The size of the largest slot. Bounds the number of size classes to 64, and the memory of a completed task
/// whose handle remains: [`is_large`](super::is_large) boxes larger futures.
pub(super) const LARGEST_SLOT: usize = 1 << 10;
const CLASSES: usize = LARGEST_SLOT / STEP;
/// The class of tasks with a chunk of their own.
const DEDICATED: usize = CLASSES;

/// The size of the first chunk of a class: one page, which is the cost of a class with few tasks. Each further
/// chunk is twice as large, up to [`MAX_CHUNK`].
const MIN_CHUNK: usize = 4 << 10;
/// The size of the largest chunk. Bounds the memory that one remaining task keeps allocated.
const MAX_CHUNK: usize = 256 << 10;
/// The bytes of empty chunks that a slab retains. 10,000 tasks of the row `spawn_many_local` take and return
/// 1 MiB each time.
const MAX_RETAINED: usize = 2 << 20;

const _: () = assert!(MAX_CHUNK / STEP <= u16::MAX as usize);

/// In models each task has a chunk of its own, so that loom sees it freed.
const ALWAYS_DEDICATED: bool = cfg!(all(test, loom));

/// The header of a chunk. Its slots follow.
#[repr(C, align(64))]
pub(super) struct Chunk {
    /// The arena, for threads that hold a task.
    pub(super) arena: *const (),
    layout: Layout,
    /// The distance from the beginning of the allocation, which a slot with a great alignment needs.
    padding: usize,
    /// The size of a slot.
    size: usize,
    capacity: usize,
    class: usize,
    /// The number of slots that were ever used, written by the owner. The memory after them is untouched.
    carved: AtomicUsize,
    owned: OwnerFields,
}

/// The fields that change, in a cache line of their own: other threads read the fields before.
#[repr(align(64))]
struct OwnerFields {
    /// Free slots that were used before, linked by `next`.
    free: Cell<*const Header>,
    used: Cell<usize>,
    /// The index in the list of chunks.
    index: Cell<usize>,
    /// Whether the chunk is in the list of its class.
    is_listed: Cell<bool>,
    previous: Cell<*const Chunk>,
    next: Cell<*const Chunk>,
}

/// The chunks of a size class that have free slots.
struct SizeClass {
    first: *const Chunk,
    next_chunk: usize,
}

/// All chunks of a slab, for threads that look for its tasks.
pub(super) struct Chunks(Mutex<Vec<NonNull<Chunk>>>);

impl Chunks {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Calls `visit` with each slot that was ever used. The slots stay allocated meanwhile. A visitor may
    /// read the state word only, until it has added a reference through it.
    pub(super) fn for_each_slot(&self, mut visit: impl FnMut(NonNull<Header>)) {
        for &chunk in &*lock(&self.0) {
            // ORDERING: Acquire pairs with the Release of `carve`: the state words of carved slots are
            // initialised.
            // SAFETY: `release_chunk` takes a chunk out of the list under this lock before it frees it.
            let carved = unsafe { (*chunk.as_ptr()).carved.load(Acquire) };
            for number in 0..carved {
                // SAFETY: the chunk has at least `carved` slots.
                visit(unsafe { slot(chunk.as_ptr(), number) });
            }
        }
    }
}

/// The size classes of an arena. See the module.
pub(super) struct Slab {
    classes: [SizeClass; CLASSES],
    /// The bytes of empty chunks, without the first chunk of each class.
    retained: usize,
}

/// Returns the size class of tasks with this layout.
#[inline]
pub(super) const fn class_of(layout: Layout) -> usize {
    if layout.size() > LARGEST_SLOT || layout.align() > STEP || ALWAYS_DEDICATED {
        DEDICATED
    } else {
        (layout.size() - 1) / STEP
    }
}

/// The distance of a slot to its chunk, a multiple of [`STEP`]. In these units it fits 16 bits: a chunk of
/// several slots is small, and a single slot follows its chunk at once.
///
/// # Safety
/// The chunk is live.
unsafe fn offset_of_slot(chunk: *const Chunk, number: usize) -> usize {
    // SAFETY: the caller promises that the chunk is live, and the field is never changed.
    size_of::<Chunk>() + number * unsafe { (*chunk).size }
}

/// The address that the memory of a chunk was allocated at.
///
/// # Safety
/// The chunk is live.
unsafe fn allocation_of(chunk: *const Chunk) -> *mut u8 {
    // SAFETY: the caller promises that the chunk is live. `grow` has put it behind as many bytes.
    unsafe { chunk.byte_sub((*chunk).padding) }
        .cast_mut()
        .cast()
}

/// Returns a slot of a chunk.
///
/// # Safety
/// The chunk is live and has more than `number` slots.
unsafe fn slot(chunk: *const Chunk, number: usize) -> NonNull<Header> {
    // SAFETY: the caller promises that the slot exists, so its offset is within the chunk's allocation.
    unsafe {
        let offset = offset_of_slot(chunk, number);
        NonNull::new_unchecked(chunk.byte_add(offset).cast_mut().cast())
    }
}

/// Initialises a slot: its state word is vacant, and its header points to the chunk.
///
/// # Safety
/// The chunk is live and has more than `number` slots. This one was not carved yet.
unsafe fn init_slot(chunk: *const Chunk, number: usize) -> NonNull<Header> {
    // SAFETY: the caller promises that the slot exists and that no other thread knows it. All writes are raw,
    // as the memory is uninitialised.
    unsafe {
        let header = slot(chunk, number);
        (&raw mut (*header.as_ptr()).state).write(TaskState::vacant());
        (&raw mut (*header.as_ptr()).next).write(Cell::new(ptr::null()));
        #[cfg(feature = "diagnostics")]
        (&raw mut (*header.as_ptr()).offset).write((offset_of_slot(chunk, number) / STEP) as u16);
        #[cfg(not(feature = "diagnostics"))]
        (&raw mut (*header.as_ptr()).chunk).write(chunk);
        header
    }
}

impl Slab {
    pub(super) fn new() -> Self {
        Self {
            classes: std::array::from_fn(|_| SizeClass {
                first: ptr::null(),
                next_chunk: MIN_CHUNK,
            }),
            retained: 0,
        }
    }

    /// Returns a free slot of this class that was used before, if the first chunk has one.
    #[inline(always)]
    pub(super) fn take_used(&mut self, class: usize) -> Option<NonNull<Header>> {
        let first = self.classes.get(class)?.first;
        // SAFETY: a chunk is taken out of its class's list before it is freed.
        let owned = &unsafe { first.as_ref() }?.owned;
        let header = NonNull::new(owned.free.get().cast_mut())?;
        // SAFETY: a slot in a free list belongs to the owner.
        owned.free.set(unsafe { header.as_ref() }.next.get());
        owned.used.set(owned.used.get() + 1);
        Some(header)
    }

    /// Returns a free slot of this class, unless that takes a new chunk.
    pub(super) fn take(&mut self, class: usize) -> Option<NonNull<Header>> {
        match self.take_used(class) {
            Some(header) => Some(header),
            None => self.carve(class),
        }
    }

    /// As [`take`](Self::take), if the first chunk's free list is empty.
    fn carve(&mut self, class: usize) -> Option<NonNull<Header>> {
        let first = self.classes.get(class)?.first;
        // SAFETY: a chunk is taken out of its class's list before it is freed.
        let chunk = unsafe { first.as_ref() }?;
        let carved = chunk.carved.load(Relaxed);
        if carved == chunk.capacity {
            self.unlist(first);
            // SAFETY: a chunk is taken out of its class's list before it is freed.
            let next = unsafe { self.classes[class].first.as_ref() };
            if let Some(next) = next.filter(|next| next.owned.used.get() == 0) {
                self.retained -= next.layout.size();
            }
            return self.take(class);
        }
        chunk.owned.used.set(chunk.owned.used.get() + 1);
        // SAFETY: `carved` is below the capacity, and the slots from there on were never used.
        let header = unsafe { init_slot(first, carved) };
        // ORDERING: Release pairs with the Acquire of `for_each_slot`: the slot's state word is initialised.
        chunk.carved.store(carved + 1, Release);
        Some(header)
    }

    /// Allocates a chunk for tasks of this layout and returns its first slot.
    pub(super) fn grow(
        &mut self,
        layout: Layout,
        arena: *const (),
        chunks: &Chunks,
    ) -> NonNull<Header> {
        let class = class_of(layout);
        let head = size_of::<Chunk>();
        let (padding, size, capacity, layout) = match self.classes.get_mut(class) {
            Some(of_class) => {
                let (size, bytes) = ((class + 1) * STEP, of_class.next_chunk);
                of_class.next_chunk = (bytes * 2).min(MAX_CHUNK);
                let layout = Layout::from_size_align(bytes, align_of::<Chunk>());
                (0, size, (bytes - head) / size, layout)
            }
            None => {
                let align = layout.align().max(align_of::<Chunk>());
                let first = head.next_multiple_of(align);
                let whole = Layout::from_size_align(first + layout.size(), align);
                (first - head, layout.size(), 1, whole)
            }
        };
        let layout = layout.expect("a task with a chunk header is smaller than isize::MAX");
        // SAFETY: the size is at least that of a chunk header, so it is not zero.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the allocation has as many bytes before the chunk, whose alignment divides the padding.
        let chunk = unsafe { memory.byte_add(padding) }.cast::<Chunk>();
        // SAFETY: the memory was allocated with this layout, which begins with a chunk header, and no other
        // thread knows it.
        unsafe {
            chunk.write(Chunk {
                arena,
                layout,
                padding,
                size,
                capacity,
                class,
                carved: AtomicUsize::new(1),
                owned: OwnerFields {
                    free: Cell::new(ptr::null()),
                    used: Cell::new(1),
                    index: Cell::new(0),
                    is_listed: Cell::new(false),
                    previous: Cell::new(ptr::null()),
                    next: Cell::new(ptr::null()),
                },
            });
        }
        // SAFETY: each chunk has at least one slot. It is counted in `carved` but not visible yet, as the
        // chunk is not in the list.
        let header = unsafe { init_slot(chunk.as_ptr(), 0) };
        let mut all = lock(&chunks.0);
        // SAFETY: the chunk was written above, and this thread owns the slab.
        unsafe { (*chunk.as_ptr()).owned.index.set(all.len()) };
        all.push(chunk);
        drop(all);
        if class != DEDICATED {
            self.list(chunk.as_ptr());
        }
        header
    }

    /// Frees a slot.
    ///
    /// # Safety
    /// The slot was taken from this slab, and its task was dropped.
    #[inline]
    pub(super) unsafe fn take_back(&mut self, header: NonNull<Header>, chunks: &Chunks) {
        // SAFETY: the slot is in use, so its header is initialised.
        let (slot, chunk) = unsafe { (header.as_ref(), Header::chunk(header)) };
        // SAFETY: the slot is in use, so its chunk is live.
        let owned = &unsafe { &*chunk }.owned;
        slot.next.set(owned.free.get());
        owned.free.set(header.as_ptr());
        let used = owned.used.get() - 1;
        owned.used.set(used);
        if used == 0 || !owned.is_listed.get() {
            self.has_room(chunk, chunks);
        }
    }

    /// Called when a full chunk gets a free slot, or a chunk becomes empty.
    fn has_room(&mut self, chunk: *const Chunk, chunks: &Chunks) {
        // SAFETY: `take_back` passes a live chunk of this slab.
        let (head, owned) = unsafe { (&*chunk, &(*chunk).owned) };
        if head.class == DEDICATED {
            Self::release_chunk(chunk, chunks);
            return;
        }
        if !owned.is_listed.get() {
            self.list(chunk);
        }
        if owned.used.get() > 0 || self.classes[head.class].first == chunk {
            return;
        }
        let bytes = head.layout.size();
        if self.retained + bytes > MAX_RETAINED {
            self.unlist(chunk);
            Self::release_chunk(chunk, chunks);
        } else {
            self.retained += bytes;
        }
    }

    /// Inserts a chunk after the first of its class, which stays in use until it is full.
    fn list(&mut self, chunk: *const Chunk) {
        // SAFETY: the caller passes a live chunk of this slab, and all chunks in the list are live.
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
        // SAFETY: the caller passes a live chunk of this slab, and all chunks in the list are live.
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

    /// Frees an empty chunk that is in no class's list.
    fn release_chunk(chunk: *const Chunk, chunks: &Chunks) {
        let mut all = lock(&chunks.0);
        // SAFETY: the chunk is one of this slab and has no task. Other threads reach it only through the list
        // of chunks, whose lock is held. It was allocated with `layout`.
        unsafe {
            let (index, layout) = ((*chunk).owned.index.get(), (*chunk).layout);
            all.swap_remove(index);
            if let Some(moved) = all.get(index) {
                (*moved.as_ptr()).owned.index.set(index);
            }
            drop(all);
            dealloc(allocation_of(chunk), layout);
        }
    }
}

impl Chunks {
    /// Returns the number of used slots.
    ///
    /// # Safety
    /// The caller is the owner of the slab.
    pub(super) unsafe fn used(&self) -> usize {
        // SAFETY: chunks in the list are live, and the caller is the owner, which alone uses `owned`.
        let used = |chunk: &NonNull<Chunk>| unsafe { (*chunk.as_ptr()).owned.used.get() };
        lock(&self.0).iter().map(used).sum()
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        for chunk in lock(&self.0).drain(..) {
            // SAFETY: the chunk was allocated with this layout. The arena is dropped after its last task, so
            // no slot is used.
            unsafe {
                let layout = (*chunk.as_ptr()).layout;
                dealloc(allocation_of(chunk.as_ptr()), layout);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
