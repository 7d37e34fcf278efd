//! The place of a worker: what it has queued, where its tasks live, and its figures.
//!
//! There are as many slots as workers, and never more: a thread that blocks in place gives its slot to another
//! (see [`handoff`](super::handoff)).
//!
//! Invariant: what is unsafe here is done by the thread that holds the slot, and by no other. A slot is held by one
//! thread or by none.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::super::metrics::Counter;
use super::{Queue, Shared};
use crate::loom::sync::atomic::AtomicUsize;
use crate::task::Arena;

pub(crate) struct Slot {
    pub(in crate::runtime) index: usize,
    pub(super) queue: Queue,
    /// Set when the runtime is made.
    arena: Cell<NonNull<Arena<Arc<Shared>>>>,
    /// How many tasks may wait here without being worth a wake-up; see [`Pace`](super::policy::Pace).
    few: AtomicUsize,
    pub(in crate::runtime) counters: Counters,
}

/// Written by whoever holds the slot.
#[derive(Default)]
pub(in crate::runtime) struct Counters {
    pub(in crate::runtime) spawned: Counter,
    pub(in crate::runtime) completed: Counter,
    pub(in crate::runtime) parked: Counter,
    pub(in crate::runtime) unparked: Counter,
    /// Nanoseconds.
    pub(in crate::runtime) busy: Counter,
}

// SAFETY: the arena is set before others see the slot, and its own rules hold from then on.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    pub(super) fn new(index: usize) -> Self {
        Self {
            index,
            queue: Queue::new(),
            arena: Cell::new(NonNull::dangling()),
            few: AtomicUsize::new(0),
            counters: Counters::default(),
        }
    }

    pub(super) fn set_arena(&self, arena: NonNull<Arena<Arc<Shared>>>) {
        self.arena.set(arena);
    }

    #[inline]
    pub(in crate::runtime) fn arena(&self) -> NonNull<Arena<Arc<Shared>>> {
        self.arena.get()
    }

    pub(in crate::runtime) fn queued(&self) -> usize {
        self.queue.len()
    }

    #[inline]
    pub(super) fn few(&self) -> usize {
        self.few.load(Relaxed)
    }

    pub(super) fn set_few(&self, few: usize) {
        self.few.store(few, Relaxed);
    }
}
