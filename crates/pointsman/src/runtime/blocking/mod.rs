//! The blocking pool: threads for functions that block.
//!
//! One thread runs the queued jobs in turn, so that a burst of short jobs wakes one thread. If it leaves jobs behind, it
//! calls a second thread, which watches: a job that has waited for a whole tick gets a thread of its own. While jobs
//! keep waiting, the watching thread doubles the number of threads that it calls per tick.
//!
//! # Invariants
//!
//! - While a job is queued, a thread is on its way to the queue, or a thread watches, or `max_threads` threads run jobs.
//! - An accepted job runs, even if the runtime shuts down while the job is queued; dropping the runtime waits for it.
//!   A queued job is cancelled only if no thread can be started for it.
//! - After [`close`](Pool::close) the pool accepts no job, and the submitter gets an error.
//!
//! Cost: three atomic exchanges and no lock to submit a job while a thread attends to the queue; two exchanges and a
//! lock, which only the pool's threads take, to run it.

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
use super::config::Config;
use super::inject::Inject;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::{lock, thread};
use crate::task::raw::Notified;
use std::sync::atomic::Ordering::Relaxed;

/// The runtime that a pool belongs to.
pub(super) trait Host: Clone + Send + 'static {
    fn pool(&self) -> &Pool;

    /// Starts a thread with the runtime's configuration.
    fn start_thread(
        &self,
        run: impl FnOnce(&Self) + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>>;

    /// Called when the last job has ended and none is queued.
    fn jobs_done(&self);
}

pub(crate) struct Pool {
    counts: SharedCounts,
    /// Submitted jobs that no thread has collected yet.
    submitted: Inject,
    /// Collected jobs, oldest first. All of them are older than those in `submitted`.
    ready: Mutex<VecDeque<Notified>>,
    /// The number of jobs taken so far. Changed under the lock of `ready`.
    taken: AtomicUsize,
    threads: Mutex<Threads>,
    /// The number of threads. Changed under the lock of `threads`.
    thread_count: AtomicUsize,
    /// The number of sleeping threads. Changed under the lock of `threads`.
    idle_count: AtomicUsize,
    /// The configured limit, which [`add_thread_allowance`](Pool::add_thread_allowance) raises.
    max_threads: usize,
    extra_threads: AtomicUsize,
    keep_alive: Duration,
}

struct Threads {
    is_shut_down: bool,
    /// Sleeping threads; the last to fall asleep is at the end.
    sleepers: Vec<Arc<Sleeper>>,
    handles: Vec<thread::JoinHandle<()>>,
    /// The last thread that ended because it was idle. It has joined the one before.
    ended: Option<thread::JoinHandle<()>>,
}

impl Pool {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            counts: SharedCounts::new(),
            submitted: Inject::new(),
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
            max_threads: config.max_blocking_threads,
            extra_threads: AtomicUsize::new(0),
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

    /// Whether a job waits while the maximum number of threads run other jobs.
    pub(super) fn is_full(&self) -> bool {
        self.queued() > 0 && self.threads() >= self.max_threads() && self.idle_threads() == 0
    }

    /// Changes when a thread takes a job.
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.counts.get().is_idle()
    }

    fn max_threads(&self) -> usize {
        self.max_threads + self.extra_threads.load(Relaxed)
    }

    /// Raises the limit by one thread, for a job that belongs to the runtime and not to the user.
    pub(super) fn add_thread_allowance(&self) {
        self.extra_threads.fetch_add(1, Relaxed);
    }

    pub(super) fn remove_thread_allowance(&self) {
        self.extra_threads.fetch_sub(1, Relaxed);
    }

    pub(super) fn submit(&self, host: &impl Host, entry: Notified) -> Result<(), Refused> {
        if let Err(entry) = self.submitted.push(entry) {
            cancel(entry);
            return Err(Refused::Closed);
        }
        if !self.counts.job_queued().is_attended() {
            self.call_thread(host, Role::Searching)
                .map_err(Refused::NoThread)?;
        }
        Ok(())
    }

    /// Takes the oldest job. The caller has claimed one; see [`counts`].
    fn pop(&self) -> Notified {
        let mut ready = lock(&self.ready);
        if ready.is_empty() {
            ready.extend(self.submitted.take());
        }
        self.taken
            .store(self.taken.load(Relaxed).wrapping_add(1), Relaxed);
        ready.pop_front().expect("a claimed job is in the queue")
    }

    /// Wakes or starts a thread in this role, unless a thread has the role. Returns false if all threads that the pool
    /// may have are awake, and an error if the pool has no thread and none can be started.
    fn call_thread(&self, host: &impl Host, role: Role) -> io::Result<bool> {
        if !self.counts.assign(role) {
            return Ok(true);
        }
        let mut threads = lock(&self.threads);
        // The last one that fell asleep: its memory is warm, and the others may reach their keep-alive.
        if let Some(sleeper) = threads.sleepers.pop() {
            self.idle_count.fetch_sub(1, Relaxed);
            sleeper.set_role(role);
            drop(threads);
            sleeper.unpark();
            return Ok(true);
        }
        // The role is given up under the lock. A thread that goes to sleep looks at the queue under the same lock, and
        // so sees the jobs of submitters that relied on this role.
        if self.threads() >= self.max_threads() {
            self.counts.unassign(role);
            return Ok(false);
        }
        // Other threads have run all jobs, and no further ones are accepted: a new thread would outlive the runtime.
        if threads.is_shut_down && self.counts.unassign_if_none_queued(role) {
            return Ok(false);
        }
        // Counted before its first job runs, which may read the count.
        self.thread_count.fetch_add(1, Relaxed);
        let unless_started = Unstarted { pool: self, role };
        match host.start_thread(move |host| host.pool().run(host, role)) {
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

    // --- shutdown ---

    /// Stops accepting jobs. The threads end when they have run the queued ones.
    pub(super) fn close(&self) {
        lock(&self.ready).extend(self.submitted.close());
        let mut threads = lock(&self.threads);
        threads.is_shut_down = true;
        for sleeper in &threads.sleepers {
            sleeper.unpark();
        }
    }

    /// Waits until all jobs have run and all threads have ended, or until the time `until`. The pool must be closed.
    pub(super) fn wait(&self, host: &impl Host, until: Option<Instant>) {
        let mut is_own_thread = false;
        loop {
            // Read before the threads: the thread that has taken the last job is then among them.
            let is_empty = lock(&self.ready).is_empty();
            let mut threads = lock(&self.threads);
            // A thread that has not ended may start another, so the list is read again after each.
            if let Some(thread) = threads.handles.pop().or_else(|| threads.ended.take()) {
                drop(threads);
                // A thread of this pool that drops the runtime cannot wait for itself.
                if thread.thread().id() == thread::current().id() {
                    is_own_thread = true;
                    continue;
                }
                if !until.is_none_or(|until| has_ended_by(&thread, until)) {
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
            if self.queued() > 0 && self.call_thread(host, Role::Searching).is_err() {
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
        while self.counts.claim_unrun() {
            cancel(self.pop());
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        debug_assert_eq!(self.queued(), 0, "a pool is emptied before it is dropped");
    }
}

/// Undoes the counts of a thread when its start fails. `start_thread` may also panic, in the user's `thread_name_fn`.
struct Unstarted<'a> {
    pool: &'a Pool,
    role: Role,
}

impl Drop for Unstarted<'_> {
    fn drop(&mut self) {
        self.pool.thread_count.fetch_sub(1, Relaxed);
        self.pool.counts.unassign(self.role);
    }
}

pub(crate) enum Refused {
    /// The runtime has shut down. The job was cancelled.
    Closed,
    /// No thread could be started. The job stays queued until one can be.
    NoThread(io::Error),
}

fn cancel(entry: Notified) {
    entry.task.shut_down();
    entry.give_up();
}

/// Waits until the thread has ended, at most until `until`. Returns whether it has ended.
#[cfg(not(all(test, loom)))]
pub(super) fn has_ended_by(thread: &thread::JoinHandle<()>, until: Instant) -> bool {
    let mut pause = Duration::from_micros(10);
    loop {
        if thread.is_finished() {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(pause.min(left));
        pause = (2 * pause).min(Duration::from_millis(5));
    }
}

/// In a model no time passes, so that no thread ends in time.
#[cfg(all(test, loom))]
pub(super) fn has_ended_by(_: &thread::JoinHandle<()>, _: Instant) -> bool {
    false
}
