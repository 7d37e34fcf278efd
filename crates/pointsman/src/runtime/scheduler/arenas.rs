//! The arenas that hold the runtime's tasks.
//!
//! Each slot owns one. A thread in `block_on` of a runtime with workers borrows one while it is awake. All other threads
//! share one.
//!
//! Invariant: an arena is in the list of all arenas until its owner closes it.

use std::ptr::NonNull;
use std::sync::Arc;

use super::{Shared, context};
use crate::loom::lock;
use crate::task::arena::{Arena, FoundTasks};
use crate::task::raw::RawTask;

#[derive(Default)]
pub(super) struct Arenas {
    /// All arenas that are not closed.
    all: Vec<NonNull<Arena<Arc<Shared>>>>,
    /// Arenas for threads in `block_on` that no thread borrows at present.
    pub(super) spare: Vec<NonNull<Arena<Arc<Shared>>>>,
    /// The arena for all other threads, which use it under this lock.
    outside: Option<NonNull<Arena<Arc<Shared>>>>,
    /// Set when the runtime shuts down.
    is_closed: bool,
}

// SAFETY: the pointers are used under the lock of `Shared::arenas`, or by the owner that a field of `Arenas` or `Slot`
// names; `Arena` accepts calls from its owner on any thread.
unsafe impl Send for Arenas {}

impl Shared {
    /// Creates the arenas of the slots and the one that other threads share.
    pub(super) fn open_arenas(self: &Arc<Self>) {
        let mut arenas = lock(&self.arenas);
        for slot in &self.slots {
            let arena = Arena::new(Arc::clone(self));
            slot.set_arena(arena);
            arenas.all.push(arena);
        }
        let outside = Arena::new(Arc::clone(self));
        arenas.outside = Some(outside);
        arenas.all.push(outside);
    }

    /// Creates a task as [`spawn`](Self::spawn) does, without queueing it. Also returns whether the runtime has shut down:
    /// the caller then cancels the task.
    pub(crate) fn make(
        &self,
        make: impl FnOnce(NonNull<Arena<Arc<Self>>>) -> RawTask,
    ) -> (RawTask, bool) {
        let own = match self.own_slot() {
            Some(slot) => Some(slot.arena()),
            None => context::with_blocking_thread(|thread| thread.arena(self)).flatten(),
        };
        if let Some(arena) = own {
            return (make(arena), self.is_shut_down());
        }
        let arenas = lock(&self.arenas);
        if let Some(arena) = arenas.outside {
            return (make(arena), false);
        }
        drop(arenas);
        let arena = Arena::new(self.this.upgrade().expect("a runtime in use is alive"));
        let task = make(arena);
        // SAFETY: only this thread knows the arena, and it does not use it after this call. The arena is freed with its
        // only task.
        unsafe { Arena::close(arena) };
        (task, true)
    }

    /// Borrows an arena until it is returned. `None` if the runtime has shut down.
    pub(super) fn borrow_arena(&self) -> Option<NonNull<Arena<Arc<Self>>>> {
        let mut arenas = lock(&self.arenas);
        if arenas.is_closed {
            return None;
        }
        let spare = arenas.spare.pop();
        Some(spare.unwrap_or_else(|| {
            let arena = Arena::new(self.this.upgrade().expect("a runtime in use is alive"));
            arenas.all.push(arena);
            arena
        }))
    }

    /// Frees unused memory of the arenas that no thread owns. Called by a worker that goes to sleep.
    pub(super) fn collect_arenas(&self) {
        let Ok(arenas) = self.arenas.try_lock() else {
            return;
        };
        for arena in arenas.spare.iter().chain(&arenas.outside) {
            // SAFETY: spare arenas and the outside arena are used under the lock of `arenas`, which this thread holds.
            unsafe { arena.as_ref().collect() };
        }
    }

    pub(super) fn give_arena_back(&self, arena: NonNull<Arena<Arc<Self>>>) {
        // SAFETY: the thread that has borrowed an arena owns it until it is in `spare` again.
        unsafe { arena.as_ref().collect() };
        let mut arenas = lock(&self.arenas);
        if !arenas.is_closed {
            arenas.spare.push(arena);
            return;
        }
        drop(arenas);
        self.close_arena(arena);
    }

    /// Closes the arenas that no slot owns. A borrowed one is closed when it is returned.
    pub(super) fn close_arenas(&self) {
        let mut arenas = lock(&self.arenas);
        arenas.is_closed = true;
        let outside = arenas.outside.take();
        let spare = std::mem::take(&mut arenas.spare);
        drop(arenas);
        for arena in outside.into_iter().chain(spare) {
            self.close_arena(arena);
        }
    }

    /// Finds the tasks that are not complete.
    pub(in crate::runtime) fn find_tasks(&self) -> FoundTasks {
        let mut found = FoundTasks::default();
        for arena in &lock(&self.arenas).all {
            // SAFETY: `close_arena` removes an arena from the list, under this lock, before it closes it.
            unsafe { arena.as_ref() }.find(&mut found);
        }
        found
    }

    /// Cancels the tasks of an arena that this thread owns, and closes the arena.
    pub(super) fn close_arena(&self, arena: NonNull<Arena<Arc<Self>>>) {
        let mut arenas = lock(&self.arenas);
        arenas.all.retain(|&each| each != arena);
        drop(arenas);
        let owned = context::own(arena);
        // SAFETY: this thread owns the arena until `owned` is dropped.
        unsafe { Arena::shut_down(arena) };
        drop(owned);
        // SAFETY: this thread owns the arena, which is in no list any more, and does not use it afterwards.
        unsafe { Arena::close(arena) };
    }
}
