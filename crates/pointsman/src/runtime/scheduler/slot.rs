//! A worker's slot: its task queue, its arena and its counters.
//!
//! There are as many slots as workers. A thread that blocks in place gives its slot to another; see
//! [`handoff`](super::handoff).
//!
//! Invariant: at most one thread holds a slot, and only that thread pushes to its queue and uses its arena as the owner.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use super::super::config::Config;
use super::super::counter::Counter;
use super::super::histogram::Histogram;
#[cfg(feature = "stall-backtrace")]
use super::super::stall;
use super::Shared;
use super::policy::Pace;
use super::queue::Queue;
use crate::loom::sync::atomic::{AtomicPtr, AtomicUsize};
use crate::task::arena::Arena;
use crate::task::raw::{Header, RawTask};

pub(crate) struct Slot {
    pub(in crate::runtime) index: usize,
    pub(super) queue: Queue,
    /// Set once, when the runtime is created.
    arena: Cell<NonNull<Arena<Arc<Shared>>>>,
    /// The queue length up to which waking a worker costs more than it saves; see [`Pace`].
    wake_threshold: AtomicUsize,
    /// The number of polls and of rests, times two; odd while the worker sleeps and while the slot is vacant.
    steps: AtomicUsize,
    /// The number of rests that have ended.
    rests: std::sync::atomic::AtomicUsize,
    /// The distribution of poll times, if the builder asks for it.
    pub(in crate::runtime) poll_times: Option<Histogram>,
    /// The thread that held the slot last. A current-thread runtime keeps it with its [lock](super::current_thread).
    thread: Mutex<Option<ThreadId>>,
    /// See [`os_thread`](Self::os_thread).
    #[cfg(feature = "stall-backtrace")]
    os_thread: std::sync::atomic::AtomicI32,
    /// The task that is polled or was polled last; null outside of a quantum, or [`BLOCK_ON`]. Only for comparison.
    current: AtomicPtr<Header>,
    pub(in crate::runtime) counters: Counters,
}

/// A value that is no task's address.
const BLOCK_ON: *const Header = ptr::without_provenance(1);

/// What a worker polls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) enum Current {
    /// The task with this address is polled or was polled last.
    Task(usize),
    BlockOn,
    Nothing,
}

/// Counters that the holder of the slot writes.
#[derive(Default)]
pub(in crate::runtime) struct Counters {
    pub(in crate::runtime) spawned: Counter,
    pub(in crate::runtime) completed: Counter,
    pub(in crate::runtime) parked: Counter,
    pub(in crate::runtime) unparked: Counter,
    pub(in crate::runtime) busy: Counter,
    /// Of one poll, in nanoseconds: the mean of the last quanta.
    pub(in crate::runtime) mean_poll: Counter,
    /// Parks without a poll since the last one.
    pub(in crate::runtime) idle_parks: Counter,
    /// Tasks taken from the inject queue.
    pub(in crate::runtime) fetched: Counter,
    pub(in crate::runtime) stolen: Counter,
    pub(in crate::runtime) steals: Counter,
    /// Tasks that were pushed to the queue after they had been queued elsewhere.
    pub(in crate::runtime) moved_here: Counter,
}

// SAFETY: `arena` is the only field that is not `Send`. `Shared::new` sets it before it shares the slot, it is only read
// afterwards, and `Arena` accepts calls from its owner on any thread.
unsafe impl Send for Slot {}
// SAFETY: `arena` is the only field that is not `Sync`. It is only read after `Shared::new` has shared the slot.
unsafe impl Sync for Slot {}

impl Slot {
    pub(super) fn new(index: usize, config: &Config) -> Self {
        Self {
            index,
            queue: Queue::new(),
            arena: Cell::new(NonNull::dangling()),
            wake_threshold: AtomicUsize::new(Pace::new().wake_threshold()),
            steps: AtomicUsize::new(usize::from(cfg!(feature = "diagnostics"))),
            rests: std::sync::atomic::AtomicUsize::new(0),
            poll_times: config.poll_times.build(),
            thread: Mutex::new(None),
            #[cfg(feature = "stall-backtrace")]
            os_thread: std::sync::atomic::AtomicI32::new(0),
            current: AtomicPtr::new(ptr::null_mut()),
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
    pub(super) fn wake_threshold(&self) -> usize {
        self.wake_threshold.load(Relaxed)
    }

    pub(super) fn set_wake_threshold(&self, tasks: usize) {
        self.wake_threshold.store(tasks, Relaxed);
    }

    /// A number that changes with each poll, including polls of the future of `block_on`, and when the worker falls
    /// asleep or wakes up; odd while it sleeps.
    pub(super) fn steps(&self) -> usize {
        self.steps.load(Relaxed)
    }

    #[inline]
    pub(super) fn begin_poll(&self, task: RawTask) {
        self.steps.store(self.steps().wrapping_add(2), Relaxed);
        self.set_current(task.as_ptr());
    }

    /// Called before the future of `block_on` is polled.
    #[inline]
    pub(super) fn begin_block_on_poll(&self) {
        if cfg!(not(feature = "diagnostics")) {
            return;
        }
        self.steps.store(self.steps().wrapping_add(2), Relaxed);
        // Not a poll of a task.
        self.rests
            .store(self.rests.load(Relaxed).wrapping_add(1), Relaxed);
        self.set_current(BLOCK_ON);
    }

    /// Called at the end of a quantum.
    #[inline]
    pub(super) fn end_polls(&self) {
        self.set_current(ptr::null());
    }

    #[inline]
    fn set_current(&self, task: *const Header) {
        if cfg!(feature = "diagnostics") {
            // ORDERING: Release pairs with the Acquire of `current`: a thread that sees a later task sees its steps.
            self.current.store(task.cast_mut(), Release);
        }
    }

    pub(super) fn current(&self) -> Current {
        // ORDERING: see `set_current`.
        match self.current.load(Acquire).cast_const() {
            BLOCK_ON => Current::BlockOn,
            task if task.is_null() => Current::Nothing,
            task => Current::Task(task.addr()),
        }
    }

    /// Tells the watchdog that no task can block this slot from now on, until [`leave_rest`](Self::leave_rest).
    pub(super) fn enter_rest(&self) {
        self.steps.store(self.steps() | 1, Relaxed);
    }

    pub(super) fn leave_rest(&self) {
        self.steps
            .store((self.steps() | 1).wrapping_add(1), Relaxed);
        self.rests
            .store(self.rests.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The number of polls so far, which wraps around on 32 bits. During a poll or at the end of a rest, other threads
    /// may see one more or less.
    pub(in crate::runtime) fn polls(&self) -> usize {
        (self.steps() / 2).wrapping_sub(self.rests.load(Relaxed)) & (usize::MAX / 2)
    }

    pub(super) fn set_thread(&self, thread: ThreadId) {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }

    /// Called when this thread has taken the slot.
    #[cfg(feature = "stall-backtrace")]
    pub(super) fn set_os_thread(&self) {
        self.os_thread.store(stall::this_thread(), Relaxed);
    }

    /// The system's id of the thread that held the slot last; 0 if it is not known.
    #[cfg(feature = "diagnostics")]
    pub(super) fn os_thread(&self) -> i32 {
        #[cfg(feature = "stall-backtrace")]
        return self.os_thread.load(Relaxed);
        #[cfg(not(feature = "stall-backtrace"))]
        return 0;
    }

    pub(super) fn thread(&self) -> Option<ThreadId> {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of tasks pushed here when they were spawned or woken.
    pub(in crate::runtime) fn scheduled(&self) -> u64 {
        (self.queue.pushed() as u64).saturating_sub(self.counters.moved_here.get())
    }
}
