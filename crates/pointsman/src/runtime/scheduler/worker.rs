//! A worker's run loop: it runs queued tasks, checks timers and other queues after each quantum, and is idle when no
//! task is queued.
//!
//! The search for work is in [`steal`](super::steal), sleep in [`park`](super::park).
//!
//! # Invariants
//!
//! - A worker holds its slot from the beginning to the end of [`run`](Worker::run), except while a task blocks in
//!   place. If a task has lost the slot to another thread, that task is the last that this worker runs.
//! - The turn of the `block_on` future depends on the task polls before it, never on the clock.

use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::blockers::BLOCKED;
#[cfg(feature = "test-util")]
use super::explore::Explorer;
use super::policy::Pace;
use super::{Shared, Slot, context};
use crate::park::ThreadParker;
#[cfg(feature = "diagnostics")]
use crate::task::clock;
use crate::task::coop;
use crate::task::raw::Notified;

pub(super) struct Worker<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) slot: &'a Slot,
    pub(super) parker: &'a Arc<ThreadParker>,
    pace: Pace,
    /// When the worker last read the clock or stopped being idle.
    since: Instant,
    /// The busy nanoseconds until the clock of dumps has to be set; 0 after a sleep.
    #[cfg(feature = "diagnostics")]
    pub(super) until_clock: u64,
    /// The number of task polls until the next turn of the `block_on` future, in a current-thread runtime.
    left: u32,
    /// The number of tasks that have yielded in a row.
    yielded: usize,
    /// The number of tasks that were queued when the last of them yielded.
    round: usize,
    /// The number of polls when the worker last slept.
    pub(super) polls_at_park: usize,
    /// Whether blocking work kept the paused clock from advancing.
    pub(super) awaits_jobs: bool,
    /// Chooses the order of tasks, unless that is first in, first out.
    #[cfg(feature = "test-util")]
    pub(super) explorer: Option<Explorer>,
}

/// What a worker does next, after a search or without one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Work,
    Sleep,
}

/// Why a worker has stopped running tasks for a moment.
#[derive(PartialEq, Eq)]
pub(super) enum Paused {
    Quantum,
    Yielded,
    Idle,
    /// Another thread holds the slot now.
    Lost,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        shared: &'a Arc<Shared>,
        slot: &'a Slot,
        parker: &'a Arc<ThreadParker>,
    ) -> Self {
        Self {
            shared,
            slot,
            parker,
            pace: Pace::new(),
            since: Instant::now(),
            #[cfg(feature = "diagnostics")]
            until_clock: 0,
            left: 0,
            yielded: 0,
            round: 0,
            polls_at_park: slot.polls(),
            awaits_jobs: false,
            #[cfg(feature = "test-util")]
            explorer: crate::context::explores().then(Explorer::new),
        }
    }

    /// Works until `poll` returns a value, the runtime ends, or the slot is lost.
    ///
    /// `poll` polls the future of `block_on`. It is called at the beginning, and then each time all ready tasks have run or
    /// yielded or `event_interval` polls have passed, but only if the parker was notified. The clock has no influence, so
    /// that `yield_now` returns after the same tasks however long they take.
    pub(super) fn run<R>(&mut self, mut poll: impl FnMut() -> Option<R>) -> Option<R> {
        if cfg!(not(feature = "diagnostics")) {
            return self.run_until_end(&mut poll);
        }
        self.leave_rest();
        let result = self.run_until_end(&mut poll);
        // If the slot was lost, another thread holds it.
        if context::holds(self.slot) {
            self.slot.enter_rest();
        }
        result
    }

    /// Tells the watchdog and the stall watch that user code can block this slot from now on.
    pub(super) fn leave_rest(&self) {
        self.slot.leave_rest();
        #[cfg(feature = "diagnostics")]
        self.shared.arm_stall_watch();
    }

    fn run_until_end<R>(&mut self, mut poll: impl FnMut() -> Option<R>) -> Option<R> {
        while !self.shared.is_shut_down() {
            if self.left == 0 {
                self.left = self.shared.config.event_interval;
                self.yielded = 0;
                if self.parker.take_notified() {
                    self.slot.begin_block_on_poll();
                    let result = poll();
                    if result.is_some() {
                        return result;
                    }
                    // The `block_on` future may have yielded; no task has.
                    coop::take_yielded();
                }
            }
            match self.run_quantum() {
                Paused::Quantum => {
                    self.shared.notify_local(self.slot, self.slot.queue.len());
                    self.relieve();
                    // A worker without tasks polls before it sleeps.
                    if !self.slot.queue.is_empty() {
                        self.shared.driver.poll_io();
                    }
                }
                Paused::Yielded => {
                    self.left = 0;
                    self.relieve();
                    // The tasks have yielded to I/O, too.
                    self.shared.driver.poll_io();
                    self.since = Instant::now();
                }
                Paused::Idle => {
                    self.left = 0;
                    #[cfg(feature = "test-util")]
                    if self.shared.config.exploration.is_some() {
                        self.fail_if_deadlocked();
                    }
                    self.idle();
                    // `idle` has counted the busy time; none of it belongs to a poll.
                    self.since = Instant::now();
                    #[cfg(feature = "diagnostics")]
                    if self.until_clock == 0 {
                        self.set_clock();
                    }
                }
                Paused::Lost => return None,
            }
            self.shared.driver.fire();
        }
        self.count_busy();
        None
    }

    fn run_quantum(&mut self) -> Paused {
        #[cfg(feature = "test-util")]
        if self.explorer.is_some() {
            return self.run_explored();
        }
        let max = match self.shared.is_current_thread() {
            true => self.left,
            false => self.shared.config.event_interval,
        };
        let interval = self.pace.interval(max);
        let has_sources = self.shared.driver.has_sources();
        let may_block = !self.shared.is_current_thread()
            && (self.shared.watchdog.has_seen_block() || self.shared.blockers.are_known());
        let is_plain = !may_block && !self.shared.observes_polls();
        // Once per quantum the inject queue comes first, however many tasks are queued here.
        let mut next = self.fetch();
        for polls in 0..interval {
            let Some(entry) = next.take().or_else(|| self.pop()).or_else(|| self.fetch()) else {
                self.read_clock(polls);
                return Paused::Idle;
            };
            let again = self.poll(entry, is_plain);
            if !context::holds(self.slot) {
                if let Some(again) = again.and_then(Notified::stop_running) {
                    self.shared.schedule_entry(again);
                }
                return Paused::Lost;
            }
            let Some(again) = again else {
                self.yielded = 0;
                continue;
            };
            let waiting = self.shared.push(self.slot, again);
            if !coop::take_yielded() {
                self.yielded = 0;
            } else if (has_sources || self.parker.is_notified()) && self.all_have_yielded(waiting) {
                self.read_clock(polls + 1);
                return Paused::Yielded;
            }
        }
        self.read_clock(interval);
        Paused::Quantum
    }

    #[inline]
    fn poll(&mut self, entry: Notified, is_plain: bool) -> Option<Notified> {
        self.slot.begin_poll(entry.task);
        match is_plain {
            true => entry.run(),
            false => self.poll_specially(entry),
        }
    }

    #[cold]
    fn poll_specially(&mut self, entry: Notified) -> Option<Notified> {
        let (shared, slot) = (self.shared, self.slot);
        match shared.observes_polls() {
            true => shared.observe_poll(slot, entry, |entry| self.time_poll(entry)),
            false => self.time_poll(entry),
        }
    }

    /// Polls a task that may block, and records whether it did.
    fn time_poll(&mut self, entry: Notified) -> Option<Notified> {
        let shared = self.shared;
        let kind = entry.task.kind();
        if !shared.watchdog.has_seen_block() && !shared.blockers.know(kind) {
            return entry.run();
        }
        let is_expected = shared.blockers.expects(kind);
        if is_expected {
            shared.expect_block(self.slot);
        }
        let (again, took) = entry.run_timed();
        if is_expected {
            shared.blockers.end();
        }
        if !context::holds(self.slot) {
            return again;
        }
        shared.blockers.learn(kind, took >= BLOCKED);
        if is_expected {
            // Neither the pace nor the watchdog need know of the poll.
            self.slot.counters.busy.add(took.as_nanos() as u64);
            self.since += took;
            self.slot.set_wake_threshold(self.pace.wake_threshold());
        }
        again
    }

    /// Called when a task yields while I/O or the future of `block_on` waits; `waiting` tasks are then queued. Returns
    /// whether all of them have yielded in a row.
    fn all_have_yielded(&mut self, waiting: usize) -> bool {
        // If the number has changed, a task that has not run yet may be among them.
        let is_same_round = waiting == mem::replace(&mut self.round, waiting);
        self.yielded = if is_same_round { self.yielded + 1 } else { 1 };
        self.yielded >= waiting
    }

    /// Called at the end of a quantum of `polls` polls.
    #[inline]
    fn read_clock(&mut self, polls: u32) {
        self.slot.end_polls();
        self.left = self.left.saturating_sub(polls);
        // No time passes in models.
        if polls == 0 || cfg!(all(test, loom)) {
            return;
        }
        let elapsed = self.count_busy();
        if elapsed >= BLOCKED {
            self.shared.watchdog.note_block();
        }
        self.pace.update(polls, elapsed);
        self.slot.counters.mean_poll.set(self.pace.nanoseconds());
        self.slot.set_wake_threshold(self.pace.wake_threshold());
    }

    /// Counts the time since the last call as busy, and returns it.
    pub(super) fn count_busy(&mut self) -> Duration {
        let now = Instant::now();
        let elapsed = now - mem::replace(&mut self.since, now);
        let nanoseconds = elapsed.as_nanos() as u64;
        self.slot.counters.busy.add(nanoseconds);
        #[cfg(feature = "diagnostics")]
        match self.until_clock.checked_sub(nanoseconds) {
            Some(left) => self.until_clock = left,
            None => self.set_clock(),
        }
        elapsed
    }

    /// Sets the clock of dumps to `since`.
    #[cfg(feature = "diagnostics")]
    #[cold]
    fn set_clock(&mut self) {
        self.until_clock = clock::refresh(self.since).as_nanos() as u64;
    }

    pub(super) fn pop(&self) -> Option<Notified> {
        if self.shared.is_current_thread() {
            // SAFETY: this thread holds the only slot, so it owns the queue, and there is no other worker to steal from it.
            unsafe { self.slot.queue.pop_alone() }
        } else {
            self.slot.queue.pop()
        }
    }

    /// Takes all tasks of the inject queue. Returns the oldest and queues the others at this slot.
    pub(super) fn fetch(&self) -> Option<Notified> {
        if self.shared.inject.is_empty() {
            return None;
        }
        let mut taken = self.shared.inject.take();
        let first = taken.next()?;
        let mut waiting = 0;
        let before = self.slot.queue.pushed();
        for entry in taken {
            // SAFETY: this thread holds the slot, so it is the owner of the queue: see `slot`.
            waiting = unsafe { self.slot.queue.push(entry) };
        }
        let queued = self.slot.queue.pushed().wrapping_sub(before);
        Shared::count_moved(self.slot, queued);
        self.slot.counters.fetched.add(queued as u64 + 1);
        if waiting > 0 {
            // Includes the first task, which delays the others.
            self.shared.notify_local(self.slot, waiting + 1);
        }
        Some(first)
    }
}

impl Shared {
    /// The main function of a worker thread. Returns when the runtime shuts down or the slot is lost.
    pub(in crate::runtime) fn run_worker(self: &Arc<Self>, index: usize) {
        self.idle.inc_awake();
        self.work_at(&self.slots[index]);
    }

    /// Works at a slot that no other thread holds. The caller has counted this thread as awake.
    pub(super) fn work_at(self: &Arc<Self>, slot: &Slot) {
        let _abort = AbortOnPanic;
        let parker = ThreadParker::current();
        let _current = context::set_current(self);
        let held = context::hold(slot);
        slot.set_thread(thread::current().id());
        #[cfg(feature = "stall-backtrace")]
        slot.set_os_thread();
        let _seeded = self.seed_worker(slot);
        context::with_work(context::Work::RunsAndMayBlock, || {
            Worker::new(self, slot, &parker).run(|| None::<()>);
        });
        let is_lost = !context::holds(slot);
        drop(held);
        if !is_lost {
            self.idle.dec_awake();
            self.end_tasks();
            self.close_slot(slot);
            self.close_arenas();
            self.end_driver_after_last_worker();
        }
    }
}

/// Aborts the process if a worker panics, since its tasks would never run again. Panics of tasks are caught, so the panic
/// comes from a hook of the builder.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if cfg!(not(all(test, loom))) && std::thread::panicking() {
            eprintln!("a worker thread of a runtime has panicked; aborting the process");
            std::process::abort();
        }
    }
}
