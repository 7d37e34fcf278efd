//! Threads for work that blocks.
//!
//! A burst of short jobs should not wake a thread for each, and a job must not wait for one that blocks. So a
//! thread that is on its way, or that has run its job, takes one job after the other. When it leaves some behind
//! it calls another thread, which watches: where a job has waited for one of its ticks it sends a thread for it,
//! and with each tick for which that was not enough twice as many.
//!
//! Invariants:
//! - While jobs wait, a thread is on its way to them, or one watches, or all threads that can be had run a job.
//! - An accepted job runs, even if the runtime shuts down while the job is queued; dropping the runtime waits for it.
//!   A queued job is cancelled only if no thread can be started for it.
//! - After [`close`](Pool::close) the pool accepts no job, and the submitter gets an error.
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

    /// Queues a job.
    pub(super) fn submit(&self, handle: &Handle, entry: Notified) -> Result<(), Refused> {
        if let Err(entry) = self.brought.push(entry) {
            cancel(entry);
            return Err(Refused::Closed);
        }
        if !self.counts.brought().is_attended() {
            self.call(handle, Role::Searching)
                .map_err(Refused::NoThread)?;
        }
        Ok(())
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
        // Other threads have run all jobs, and no further ones are accepted: a new thread would outlive the runtime.
        if threads.is_shut_down && self.counts.vacate_if_none_waits(role) {
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

    /// Stops accepting jobs. The threads end when they have run the queued ones.
    pub(super) fn close(&self) {
        lock(&self.ready).extend(self.brought.close());
        let mut threads = lock(&self.threads);
        threads.is_shut_down = true;
        for sleeper in &threads.sleepers {
            sleeper.unpark();
        }
    }

    /// Waits until all jobs have run and all threads have ended, or until the time `until`. The pool must be closed.
    pub(super) fn wait(&self, handle: &Handle, until: Option<Instant>) {
        let mut is_own_thread = false;
        loop {
            // Read before the threads: the thread that has taken the last job is then among them.
            let is_empty = lock(&self.ready).is_empty();
            let mut threads = lock(&self.threads);
            // One that has not ended may start another.
            if let Some(thread) = threads.handles.pop().or_else(|| threads.ended.take()) {
                drop(threads);
                // A thread of this pool that drops the runtime cannot wait for itself.
                if thread.thread().id() == thread::current().id() {
                    is_own_thread = true;
                    continue;
                }
                if !until.is_none_or(|until| wait_for(&thread, until)) {
                    return;
                }
                let _ = thread.join();
                continue;
            }
            drop(threads);
            // If this is a thread of the pool, it runs the remaining jobs when it returns to the pool.
            if is_own_thread || is_empty {
                return;
            }
            // A job without a thread: none could be started so far, or its submitter is about to start one.
            if self.queued() > 0 && self.call(handle, Role::Searching).is_err() {
                self.cancel_all();
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            thread::yield_now();
        }
    }

    /// Cancels the queued jobs: no thread can be started for them.
    fn cancel_all(&self) {
        while self.counts.take_unrun() {
            cancel(self.pop());
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

/// Why a job was not accepted.
pub(crate) enum Refused {
    /// The runtime has ended. The job was cancelled.
    Closed,
    /// No thread could be started. The job stays queued until one can be.
    NoThread(io::Error),
}

/// Ends a job that was not begun.
fn cancel(entry: Notified) {
    entry.task.shut_down();
    entry.give_up();
}
