//! Threads for work that blocks.
//!
//! A burst of short jobs should not wake a thread for each, and a job must not wait for one that blocks. So a
//! thread that is on its way, or that has run its job, takes one job after the other. When it leaves some behind
//! it calls another thread, which watches: where a job has waited for one of its ticks it sends a thread for it,
//! and with each tick for which that was not enough twice as many.
//!
//! Invariants:
//! - While jobs wait, a thread is on its way to them, or one watches, or all threads that can be had run a job.
//! - A job that was taken from the queue is run.
//! - At the end of the runtime a job for which there is room in the pool is still run, as if it had got a thread
//!   when it came. The others are cancelled.
//!
//! Cost: three exchanges to bring a job where a thread is on its way or watches, and no lock; two exchanges and
//! a lock to take it, which only those who take want.

mod counts;
#[cfg(all(test, loom))]
mod loom_tests;
mod worker;

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::counts::{Role, SharedCounts};
use self::worker::Sleeper;
use super::builder::Config;
use super::handle::Handle;
use super::inject::Inject;
use super::wait_for;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::{lock, thread};
use crate::task::Notified;
use std::sync::atomic::Ordering::Relaxed;

/// See the module.
pub(crate) struct Pool {
    counts: SharedCounts,
    /// Jobs as they come.
    brought: Inject,
    /// Jobs that were taken from there, the oldest first. They came before all those.
    ready: Mutex<VecDeque<Notified>>,
    /// Jobs that were taken, in all. Changed under the lock of `ready`.
    taken: AtomicUsize,
    threads: Mutex<Threads>,
    /// How many threads there are, and how many of them sleep. Changed under the lock of `threads`.
    thread_count: AtomicUsize,
    idle_count: AtomicUsize,
    /// So many threads at most, and one for each place that was added.
    most_threads: usize,
    places: AtomicUsize,
    keep_alive: Duration,
}

struct Threads {
    is_shut_down: bool,
    /// Those that sleep, the last to fall asleep at the end.
    sleepers: Vec<Arc<Sleeper>>,
    handles: Vec<thread::JoinHandle<()>>,
    /// The last that has ended because it was not needed. It has waited for the one before.
    ended: Option<thread::JoinHandle<()>>,
}

impl Pool {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            counts: SharedCounts::new(),
            brought: Inject::new(),
            ready: Mutex::new(VecDeque::new()),
            taken: AtomicUsize::new(0),
            threads: Mutex::new(Threads {
                is_shut_down: false,
                sleepers: Vec::new(),
                handles: Vec::new(),
                ended: None,
            }),
            thread_count: AtomicUsize::new(0),
            idle_count: AtomicUsize::new(0),
            most_threads: config.max_blocking_threads,
            places: AtomicUsize::new(0),
            keep_alive: config.thread_keep_alive,
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.thread_count.load(Relaxed)
    }

    pub(super) fn idle_threads(&self) -> usize {
        self.idle_count.load(Relaxed)
    }

    pub(super) fn queued(&self) -> usize {
        self.counts.get().queued()
    }

    /// Whether no job waits or runs.
    pub(super) fn is_idle(&self) -> bool {
        self.counts.get().is_idle()
    }

    fn most_threads(&self) -> usize {
        self.most_threads + self.places.load(Relaxed)
    }

    /// Room for one more thread, for a job that is none of the user's.
    pub(super) fn add_place(&self) {
        self.places.fetch_add(1, Relaxed);
    }

    pub(super) fn remove_place(&self) {
        self.places.fetch_sub(1, Relaxed);
    }

    /// Puts a job in. An error if no thread at all can be had: the job waits for one then.
    pub(super) fn submit(&self, handle: &Handle, entry: Notified) -> Option<io::Error> {
        if let Err(entry) = self.brought.push(entry) {
            cancel(entry);
            return None;
        }
        match self.counts.brought().is_attended() {
            true => None,
            false => self.call(handle, Role::Searching).err(),
        }
    }

    /// Takes the oldest job, for one that may: see [`counts`].
    fn pop(&self) -> Notified {
        let mut ready = lock(&self.ready);
        if ready.is_empty() {
            ready.extend(self.brought.take());
        }
        self.taken
            .store(self.taken.load(Relaxed).wrapping_add(1), Relaxed);
        ready.pop_front().expect("who may take finds a job")
    }

    /// Wakes or starts a thread in this role, if nobody fills it. Whether it is filled: otherwise all threads that
    /// can be had are awake. An error if there is none at all.
    fn call(&self, handle: &Handle, role: Role) -> io::Result<bool> {
        if !self.counts.fill(role) {
            return Ok(true);
        }
        let mut threads = lock(&self.threads);
        // The latest first: its memory is warm, and the others may end.
        if let Some(sleeper) = threads.sleepers.pop() {
            self.idle_count.fetch_sub(1, Relaxed);
            sleeper.set_role(role);
            drop(threads);
            sleeper.unpark();
            return Ok(true);
        }
        // It is given up under the lock: a thread that goes to sleep looks afterwards, and sees what has come from
        // those who have relied on this.
        if self.threads() >= self.most_threads() {
            self.counts.vacate(role);
            return Ok(false);
        }
        if threads.is_shut_down && self.threads() == 0 {
            self.counts.vacate(role);
            drop(threads);
            self.cancel_beyond(0);
            return Ok(false);
        }
        // Before its first job could ask.
        self.thread_count.fetch_add(1, Relaxed);
        let unless_started = Unstarted { pool: self, role };
        match super::start_thread(handle, move |handle| {
            handle.shared.blocking.run(handle, role);
        }) {
            Ok(thread) => {
                mem::forget(unless_started);
                threads.handles.push(thread);
                Ok(true)
            }
            Err(error) => {
                drop(unless_started);
                match self.threads() {
                    0 => Err(error),
                    _ => Ok(false),
                }
            }
        }
    }

    // --- the end ---

    /// Lets nobody bring anything any more, and the threads end when they have run what waits. Jobs that have to
    /// wait for another to end are cancelled.
    pub(super) fn begin_shutdown(&self) {
        lock(&self.ready).extend(self.brought.close());
        let mut threads = lock(&self.threads);
        threads.is_shut_down = true;
        for sleeper in &threads.sleepers {
            sleeper.unpark();
        }
        let most_threads = match self.threads() {
            0 => 0,
            _ => self.most_threads(),
        };
        drop(threads);
        self.cancel_beyond(most_threads);
    }

    /// Cancels the latest jobs, but for as many as so many threads could run now.
    fn cancel_beyond(&self, most_threads: usize) {
        while self.counts.take_beyond(most_threads) {
            let entry = lock(&self.ready).pop_back();
            cancel(entry.expect("who may take finds a job"));
        }
    }

    /// Waits until all threads have ended, at most until then.
    pub(super) fn wait(&self, until: Option<Instant>) {
        loop {
            let mut threads = lock(&self.threads);
            // One that has not ended may start another.
            let Some(thread) = threads.handles.pop().or_else(|| threads.ended.take()) else {
                return;
            };
            drop(threads);
            // A thread that ends the runtime it works for cannot wait for itself.
            if thread.thread().id() == thread::current().id() {
                continue;
            }
            if !until.is_none_or(|until| wait_for(&thread, until)) {
                return;
            }
            let _ = thread.join();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        debug_assert_eq!(self.queued(), 0, "a pool is emptied before it goes");
    }
}

/// A thread that is counted on and does not come, as it could not be started, or what gives it its name has
/// panicked.
struct Unstarted<'a> {
    pool: &'a Pool,
    role: Role,
}

impl Drop for Unstarted<'_> {
    fn drop(&mut self) {
        self.pool.thread_count.fetch_sub(1, Relaxed);
        self.pool.counts.vacate(self.role);
    }
}

/// Ends a job that was not begun.
fn cancel(entry: Notified) {
    entry.task.shut_down();
    entry.give_up();
}
