//! What a thread of the pool does: it works, or watches, and sleeps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::handle::Handle;
use super::counts::Role;
use super::{Pool, Threads};
use crate::loom::sync::{Mutex, MutexGuard};
use crate::loom::{Parker, lock, thread};
use std::sync::atomic::Ordering::Relaxed;

/// The time between two looks of the one that watches: a job that is blocked by others gets its first help after
/// one to two. Linux adds 50 µs to each.
const TICK: Duration = match cfg!(all(test, loom)) {
    true => Duration::ZERO,
    false => Duration::from_micros(50),
};

/// A thread as those see it who call it.
pub(super) struct Sleeper {
    parker: Parker,
    /// What it was called for.
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
    /// The life of a thread.
    pub(super) fn run(&self, handle: &Handle, first: Role) {
        let sleeper = Sleeper::current();
        let mut next = Some(first);
        while let Some(role) = next {
            match role {
                Role::Watching => self.watch(handle, &sleeper.parker),
                _ => self.work(handle, role),
            }
            next = self.sleep(&sleeper);
        }
    }

    /// Runs jobs as long as some wait.
    fn work(&self, handle: &Handle, mut role: Role) {
        loop {
            match self.counts.take(role) {
                Ok(counts) => {
                    role = Role::Running;
                    let entry = self.pop();
                    if counts.queued() > 0 && !counts.is_attended() && self.has_more_threads() {
                        // An error is no error here: there is this thread.
                        let _ = self.call(handle, Role::Watching);
                    }
                    let again = entry.run();
                    debug_assert!(again.is_none(), "a job runs once");
                }
                Err(counts) => {
                    if role == Role::Running && counts.is_idle() {
                        handle.shared.jobs_done();
                    }
                    return;
                }
            }
        }
    }

    /// Whether a thread can be called, about.
    fn has_more_threads(&self) -> bool {
        self.idle_threads() > 0 || self.threads() < self.most_threads()
    }

    /// Sees that no job waits for long, until none waits.
    fn watch(&self, handle: &Handle, parker: &Parker) {
        // Jobs that have come until now, the taken ones included.
        let mut come = self.come();
        let mut helpers = 1;
        loop {
            parker.park(Some(TICK));
            if self.queued() == 0 {
                if self.counts.vacate_if_none_waits(Role::Watching) {
                    return;
                }
                continue;
            }
            // Those that have come since the last look may wait for one more.
            let late = come.wrapping_sub(self.taken.load(Relaxed)) as isize;
            come = self.come();
            if late <= 0 {
                helpers = 1;
                continue;
            }
            // Those on their way, which may have to be started, take one each.
            let missing = late - self.counts.helping() as isize;
            for _ in 0..helpers.min(missing) {
                if !self.call(handle, Role::Helping).unwrap_or(false) {
                    // There is no other: this one has to do it.
                    return self.work(handle, Role::Watching);
                }
            }
            if missing > 0 {
                helpers = helpers.saturating_mul(2);
            }
        }
    }

    fn come(&self) -> usize {
        self.taken.load(Relaxed).wrapping_add(self.queued())
    }

    /// Waits to be called. `None`: the thread is not needed, and ends.
    fn sleep(&self, sleeper: &Arc<Sleeper>) -> Option<Role> {
        let mut threads = lock(&self.threads);
        if self.queued() > 0 {
            // It has come after the last look, and there was neither a sleeper nor room for one more thread.
            self.counts.fill(Role::Helping);
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
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            if !threads.is_shut_down && !is_over {
                continue;
            }
            // Unless it was called just now.
            let place = threads.sleepers.iter();
            if let Some(place) = { place }.position(|each| Arc::ptr_eq(each, sleeper)) {
                threads.sleepers.remove(place);
                self.idle_count.fetch_sub(1, Relaxed);
                self.end(threads);
                return None;
            }
        }
    }

    /// This thread ends. It has looked under the same lock: what comes later finds one thread less.
    fn end(&self, mut threads: MutexGuard<'_, Threads>) {
        self.thread_count.fetch_sub(1, Relaxed);
        if threads.is_shut_down {
            return;
        }
        let this = thread::current().id();
        let place = threads.handles.iter();
        let Some(place) = { place }.position(|each| each.thread().id() == this) else {
            return;
        };
        let handle = threads.handles.swap_remove(place);
        let previous = threads.ended.replace(handle);
        drop(threads);
        if let Some(previous) = previous {
            let _ = previous.join();
        }
    }
}
