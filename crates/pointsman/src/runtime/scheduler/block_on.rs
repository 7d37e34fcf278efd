//! A thread that blocks on a future of a runtime of several threads.
//!
//! It polls that future and nothing else: no task can keep the future waiting, whatever it does. What the future
//! spawns goes to the workers over the inject queue.
//!
//! Cost: what is spawned here is made in an arena that belongs to this thread for the time being, so that nothing is
//! locked; the first one calls a worker, and until that has come the others are only pushed.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::super::context;
use super::Shared;
use crate::loom::lock;
use crate::park::ThreadParker;
use crate::task::{Arena, coop};

/// What a thread in `block_on` has of its runtime.
pub(in crate::runtime) struct BlockingThread<'a> {
    shared: &'a Shared,
    /// Taken when the future first spawns a task.
    arena: Cell<Option<NonNull<Arena<Arc<Shared>>>>>,
}

impl BlockingThread<'_> {
    /// Where this thread makes tasks of `shared`, if it is in `block_on` of that.
    pub(super) fn arena(&self, shared: &Shared) -> Option<NonNull<Arena<Arc<Shared>>>> {
        if !std::ptr::eq(self.shared, shared) {
            return None;
        }
        if self.arena.get().is_none() {
            let arena = shared.borrow_arena();
            self.arena.set(arena);
            context::set_arena(arena);
        }
        self.arena.get()
    }
}

impl Drop for BlockingThread<'_> {
    fn drop(&mut self) {
        if let Some(arena) = self.arena.take() {
            self.shared.give_arena_back(arena);
        }
    }
}

impl Shared {
    /// Blocks this thread on a future.
    pub(in crate::runtime) fn block_on<F: Future>(
        self: &Arc<Self>,
        mut future: Pin<&mut F>,
    ) -> F::Output {
        if self.is_current_thread() {
            return self.block_on_and_work(future);
        }
        ThreadParker::with_current(|parker, waker| {
            let _blocking = context::set_blocking(parker);
            let mut cx = Context::from_waker(waker);
            let thread = BlockingThread {
                shared: self,
                arena: Cell::new(None),
            };
            let _thread = context::set_blocking_thread(&thread);
            loop {
                if let Poll::Ready(output) = coop::budget(|| future.as_mut().poll(&mut cx)) {
                    return output;
                }
                while !parker.take_notified() {
                    parker.park(None);
                }
            }
        })
    }

    /// A place for tasks that is this thread's until it is given back. `None` if the runtime has ended.
    fn borrow_arena(&self) -> Option<NonNull<Arena<Arc<Self>>>> {
        let mut arenas = lock(&self.arenas);
        if arenas.is_closed {
            return None;
        }
        let spare = arenas.spare.pop();
        Some(spare.unwrap_or_else(|| {
            let arena = Arena::new(self.this.upgrade().expect("it is in use"));
            arenas.all.push(arena);
            arena
        }))
    }

    fn give_arena_back(&self, arena: NonNull<Arena<Arc<Self>>>) {
        // SAFETY: it is this thread's until it is given back.
        unsafe { arena.as_ref().collect() };
        let mut arenas = lock(&self.arenas);
        if !arenas.is_closed {
            arenas.spare.push(arena);
            return;
        }
        drop(arenas);
        self.close_arena(arena);
    }
}
