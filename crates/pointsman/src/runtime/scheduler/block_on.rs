//! A thread that blocks on a future of a runtime of several threads.
//!
//! It polls that future and nothing else: no task can keep the future waiting, whatever it does. What the future
//! spawns goes to the workers over the inject queue.
//!
//! Cost: what is spawned here is made in an arena that the thread borrows with its first spawn and then has to itself,
//! so that nothing is locked; the first task calls a worker, and until that has come the others are only pushed.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::super::context;
use super::Shared;
use super::idle::Idle;
use crate::loom::sync::atomic::AtomicU32;
use crate::loom::{hint, lock};
use crate::park::ThreadParker;
use crate::task::{Arena, coop};

/// What a thread keeps while it is in `block_on`.
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

impl BlockingThread<'_> {
    /// This thread needs no core.
    fn rest(&self) {
        self.shared.idle.dec_others();
        // While it had one, nobody may have been called for what it has brought.
        if !self.shared.inject.is_empty() {
            self.shared.notify_remote();
        }
    }

    /// What comes back to the arena while this thread sleeps is for others to collect.
    fn give_arena_back(&self) {
        if let Some(arena) = self.arena.take() {
            self.shared.give_arena_back(arena);
        }
    }
}

impl Drop for BlockingThread<'_> {
    fn drop(&mut self) {
        self.rest();
        self.give_arena_back();
    }
}

/// How long a thread in `block_on` waits for its future before it sleeps: about as long as it takes to wake it.
///
/// The row that it wins: `sync_mpsc_oneshot/request_reply #2`, 3.7 times on 2 cores in 0.36 of the processor time, as
/// the answer of a worker comes sooner than a thread could have gone to sleep and woken up.
const SPIN: Duration = Duration::from_micros(10);
/// After a wait that was longer, so many are slept through at once.
const SKIPPED: u32 = 16;

/// Whether waiting awake pays.
#[derive(Default)]
pub(super) struct Spin {
    /// Waits that are to be slept through.
    skipped: AtomicU32,
}

impl Spin {
    /// Waits for a while, if there is a core for it and it has paid lately. Whether `is_over` holds.
    fn wait(&self, idle: &Idle, is_over: impl Fn() -> bool) -> bool {
        if is_over() {
            return true;
        }
        let skipped = self.skipped.load(Relaxed);
        if cfg!(all(test, loom)) || idle.cores() == 1 || idle.workers().busy() > idle.cores() {
            return false;
        }
        if skipped > 0 {
            self.skipped.store(skipped - 1, Relaxed);
            return false;
        }
        let end = Instant::now() + SPIN;
        loop {
            for _ in 0..8 {
                hint::spin_loop();
            }
            if is_over() {
                return true;
            }
            if Instant::now() >= end {
                self.skipped.store(SKIPPED, Relaxed);
                return false;
            }
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
            self.idle.inc_others();
            let _thread = context::set_blocking_thread(&thread);
            loop {
                if let Poll::Ready(output) = coop::budget(|| future.as_mut().poll(&mut cx)) {
                    return output;
                }
                if !self.spin.wait(&self.idle, || parker.is_notified()) {
                    thread.rest();
                    context::set_arena(None);
                    thread.give_arena_back();
                    while !parker.is_notified() {
                        parker.park(None);
                    }
                    self.idle.inc_others();
                }
                parker.take_notified();
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

    /// Frees what is not needed in the arenas that belong to no thread, for a worker that has nothing else to do.
    pub(super) fn collect_arenas(&self) {
        let Ok(arenas) = self.arenas.try_lock() else {
            return;
        };
        for arena in arenas.spare.iter().chain(&arenas.outside) {
            // SAFETY: the lock makes this thread the owner.
            unsafe { arena.as_ref().collect() };
        }
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
