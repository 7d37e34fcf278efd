//! The place of a worker: what it has queued, where its tasks live, and its figures.
//!
//! There are as many slots as workers, and never more: a thread that blocks in place gives its slot to another
//! (see [`handoff`](super::handoff)).
//!
//! Invariant: the queue is filled, and the arena used, only by the thread that holds the slot. A slot is held by one
//! thread or by none.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::super::metrics::Counter;
use super::policy::Pace;
use super::{Queue, Shared};
use crate::loom::sync::atomic::AtomicUsize;
use crate::task::Arena;

pub(crate) struct Slot {
    pub(in crate::runtime) index: usize,
    pub(super) queue: Queue,
    /// Set when the runtime is made.
    arena: Cell<NonNull<Arena<Arc<Shared>>>>,
    /// How many tasks may wait here without being worth a wake-up; see [`Pace`].
    few: AtomicUsize,
    polls: AtomicUsize,
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
            few: AtomicUsize::new(Pace::new().few()),
            polls: AtomicUsize::new(0),
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

    /// How many polls were begun here, modulo what a counter holds.
    pub(super) fn polls(&self) -> usize {
        self.polls.load(Relaxed)
    }

    #[inline]
    pub(super) fn count_poll(&self) {
        self.polls
            .store(self.polls.load(Relaxed).wrapping_add(1), Relaxed);
    }

    pub(super) fn set_few(&self, few: usize) {
        self.few.store(few, Relaxed);
    }
}
