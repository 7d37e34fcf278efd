//! A thread that blocks on a future of a multi-thread runtime.
//!
//! It polls only that future, so that no task can delay the future. Tasks that the future spawns go to the workers over
//! the inject queue.
//!
//! Cost: the thread borrows an arena when the future first spawns a task, and then spawns without a lock. The first task
//! calls a worker; until that worker has woken up, further tasks are only pushed.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::idle::Idle;
use super::{Shared, context};
use crate::loom::hint;
use crate::loom::sync::atomic::AtomicU32;
use crate::park::ThreadParker;
use crate::task::arena::Arena;
use crate::task::coop;

/// The state of a thread in `block_on`.
pub(in crate::runtime) struct BlockingThread<'a> {
    shared: &'a Shared,
    /// Taken when the future first spawns a task.
    arena: Cell<Option<NonNull<Arena<Arc<Shared>>>>>,
}

impl BlockingThread<'_> {
    /// Returns the arena for tasks of `shared`, if this thread is in `block_on` of that runtime.
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
    /// Called when this thread stops polling and needs no core.
    fn rest(&self) {
        self.shared.idle.dec_others();
        // While this thread counted as busy, perhaps no worker was called for the tasks that it spawned.
        if !self.shared.inject.is_empty() {
            self.shared.notify_remote();
        }
    }

    /// Returns the arena, so that another thread can collect its completed tasks while this one sleeps.
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

/// How long a thread in `block_on` spins for a wake-up before it sleeps: about the cost of a wake-up.
///
/// Lab row: `sync_mpsc_oneshot/request_reply #2`, 3.7 times as fast on 2 cores with 0.36 of the processor time: a worker replies
/// sooner than the thread could fall asleep and wake up.
const SPIN: Duration = Duration::from_micros(10);
/// The number of waits without spinning after a spin that ended without a wake-up.
///
/// Lab row: processor time of `sync_mpsc_oneshot/request_reply #2` while other processes keep the cores busy, which is 1.9 times
/// as high with 0.
const SKIPPED: u32 = 16;

/// Decides whether a waiting thread spins.
#[derive(Default)]
pub(super) struct Spin {
    /// The number of further waits without spinning.
    skipped: AtomicU32,
}

impl Spin {
    /// Spins until `is_over` holds, if a core is free and spinning has succeeded lately. Returns whether it holds.
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
}
