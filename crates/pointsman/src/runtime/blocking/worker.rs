//! A thread of the blocking pool: it runs jobs or watches the queue, and sleeps in between.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::counts::Role;
use super::{Host, Pool, Threads};
use crate::loom::sync::{Mutex, MutexGuard};
use crate::loom::{Parker, lock, thread};
use std::sync::atomic::Ordering::Relaxed;

/// The interval at which the watching thread checks the queue: a job behind one that blocks gets a thread after one to
/// two ticks, plus 50 µs of timer slack each on Linux.
///
/// The lab rows `spawn_blocking/*` are the same with 10 µs and with 1 ms: the time only bounds how long a job waits behind
/// one that blocks.
const TICK: Duration = match cfg!(all(test, loom)) {
    true => Duration::ZERO,
    false => Duration::from_micros(50),
};

pub(super) struct Sleeper {
    parker: Parker,
    /// The role that the thread was woken for.
    role: Mutex<Option<Role>>,
}

impl Sleeper {
    fn current() -> Arc<Self> {
        Arc::new(Self {
            parker: Parker::current(),
            role: Mutex::new(None),
        })
    }

    pub(super) fn set_role(&self, role: Role) {
        *lock(&self.role) = Some(role);
    }

    pub(super) fn unpark(&self) {
        self.parker.unpark();
    }

    fn take_role(&self) -> Option<Role> {
        lock(&self.role).take()
    }
}

impl Pool {
    pub(super) fn run(&self, host: &impl Host, first: Role) {
        let sleeper = Sleeper::current();
        let mut next = Some(first);
        while let Some(role) = next {
            match role {
                Role::Watching => self.watch(host, &sleeper.parker),
                _ => self.work(host, role),
            }
            next = self.sleep(&sleeper);
        }
    }

    fn work(&self, host: &impl Host, mut role: Role) {
        loop {
            match self.counts.take(role) {
                Ok(counts) => {
                    role = Role::Running;
                    let entry = self.pop();
                    if counts.queued() > 0 && !counts.is_attended() && self.has_more_threads() {
                        // If no thread can be started, this one runs the other jobs later.
                        let _ = self.call_thread(host, Role::Watching);
                    }
                    let again = entry.run();
                    debug_assert!(again.is_none(), "a job runs once");
                }
                Err(counts) => {
                    if role == Role::Running && counts.is_idle() {
                        host.jobs_done();
                    }
                    return;
                }
            }
        }
    }

    /// Whether a further thread can be woken or started. A concurrent change may make this out of date.
    fn has_more_threads(&self) -> bool {
        self.idle_threads() > 0 || self.threads() < self.max_threads()
    }

    /// Calls threads for jobs that have waited for a tick, until none is queued.
    fn watch(&self, host: &impl Host, parker: &Parker) {
        let mut submitted = self.jobs_submitted();
        let mut helpers = 1;
        loop {
            parker.park(Some(TICK));
            if self.queued() == 0 {
                if self.counts.unassign_if_none_queued(Role::Watching) {
                    return;
                }
                continue;
            }
            // Jobs that were submitted before the previous tick and are still queued.
            let late = submitted.wrapping_sub(self.taken.load(Relaxed)) as isize;
            submitted = self.jobs_submitted();
            if late <= 0 {
                helpers = 1;
                continue;
            }
            // Each thread that was called and has not arrived will take one.
            let missing = late - self.counts.helping() as isize;
            for _ in 0..helpers.min(missing) {
                if !self.call_thread(host, Role::Helping).unwrap_or(false) {
                    // There is no other thread: this one runs the jobs.
                    return self.work(host, Role::Watching);
                }
            }
            if missing > 0 {
                helpers = helpers.saturating_mul(2);
            }
        }
    }

    fn jobs_submitted(&self) -> usize {
        self.taken.load(Relaxed).wrapping_add(self.queued())
    }

    /// Sleeps until the thread is given a role. Returns `None` if the thread is to end.
    fn sleep(&self, sleeper: &Arc<Sleeper>) -> Option<Role> {
        let mut threads = lock(&self.threads);
        if self.queued() > 0 {
            // Submitted after this thread's last look, when there was neither a sleeper nor room for another thread.
            self.counts.assign(Role::Helping);
            return Some(Role::Helping);
        }
        if threads.is_shut_down {
            self.end(threads);
            return None;
        }
        threads.sleepers.push(Arc::clone(sleeper));
        self.idle_count.fetch_add(1, Relaxed);
        drop(threads);
        let until = Instant::now().checked_add(self.keep_alive);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            sleeper.parker.park(left);
            if let Some(role) = sleeper.take_role() {
                return Some(role);
            }
            let mut threads = lock(&self.threads);
            let has_expired = until.is_some_and(|until| Instant::now() >= until);
            if !threads.is_shut_down && !has_expired {
                continue;
            }
            // If the thread is not among the sleepers any more, its role is about to arrive.
            let position = threads.sleepers.iter();
            if let Some(position) = { position }.position(|each| Arc::ptr_eq(each, sleeper)) {
                threads.sleepers.remove(position);
                self.idle_count.fetch_sub(1, Relaxed);
                self.end(threads);
                return None;
            }
        }
    }

    /// Removes this thread from the pool. The caller has found the queue empty under the same lock, so a later submitter
    /// does not rely on this thread.
    fn end(&self, mut threads: MutexGuard<'_, Threads>) {
        self.thread_count.fetch_sub(1, Relaxed);
        if threads.is_shut_down {
            return;
        }
        let this = thread::current().id();
        let position = threads.handles.iter();
        let Some(position) = { position }.position(|each| each.thread().id() == this) else {
            return;
        };
        let handle = threads.handles.swap_remove(position);
        let previous = threads.ended.replace(handle);
        drop(threads);
        if let Some(previous) = previous {
            let _ = previous.join();
        }
    }
}
