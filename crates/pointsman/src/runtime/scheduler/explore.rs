//! A worker that runs ready tasks in an order that depends on a seed, for [`explore`](crate::test_util::explore).
//!
//! Each step runs one task, or polls the future of `block_on`, which is one of several that are ready. Each run has one
//! of several ways to choose, because no way finds all mistakes: a random walk rarely makes one task wait for long while
//! others make many steps, and priorities rarely let two tasks alternate.
//!
//! Invariant: what is chosen depends on the seed and on the tasks' own behaviour; never on addresses, ids or the clock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Shared;
use super::worker::{Paused, Worker};
use crate::context::explore_below;
use crate::task::coop;
use crate::task::id::Id;
use crate::task::raw::Notified;

/// How long, in real time, nothing may happen before a run has failed: another thread that the test has started may be
/// about to wake a task.
const GRACE: Duration = Duration::from_secs(1);

/// How long a task waits for a blocking function that it has submitted.
const MAX_JOB: Duration = Duration::from_millis(100);

pub(super) enum Explorer {
    /// The oldest task in most steps, a random one in the others.
    MostlyOldest,
    Random,
    /// The task of the highest priority. `None` stands for the future of `block_on`.
    Priorities(BTreeMap<Option<Id>, usize>),
}

/// Priorities are below this number; a task that yields gets 0.
const PRIORITIES: usize = 1 << 20;

impl Explorer {
    /// An explorer of the order that this thread's seed determines.
    pub(super) fn new() -> Self {
        match explore_below(4) {
            0 => Self::MostlyOldest,
            1 => Self::Random,
            _ => Self::Priorities(BTreeMap::new()),
        }
    }

    /// Chooses one of the ready tasks, oldest first, as an index.
    fn choose(&mut self, ready: &[Option<Id>]) -> usize {
        match self {
            Self::MostlyOldest if explore_below(8) > 0 => 0,
            Self::MostlyOldest | Self::Random => explore_below(ready.len()),
            Self::Priorities(priorities) => {
                let mut highest = (0, 0);
                for (index, task) in ready.iter().enumerate() {
                    let priority = *priorities
                        .entry(*task)
                        .or_insert_with(|| 1 + explore_below(PRIORITIES));
                    if index == 0 || priority > highest.0 {
                        highest = (priority, index);
                    }
                }
                highest.1
            }
        }
    }

    /// Called after a step of the task.
    fn has_run(&mut self, task: Option<Id>, has_yielded: bool) {
        if let Self::Priorities(priorities) = self {
            // Otherwise a task that waits actively for another might keep that one from running for ever.
            if has_yielded {
                priorities.insert(task, 0);
            } else if explore_below(8) == 0 {
                // The tasks that have yielded get new priorities too: this one may be always ready, and wait for one of them.
                priorities.retain(|_, priority| *priority > 0);
                priorities.insert(task, 1 + explore_below(PRIORITIES));
            }
        }
    }
}

impl Shared {
    /// Waits until the blocking functions have ended, so that none ends at a moment that the seed does not determine. Gives
    /// up after a while: a function may wait for a task.
    pub(super) fn wait_for_jobs(&self) {
        let start = Instant::now();
        while !self.blocking.is_idle() && start.elapsed() < MAX_JOB {
            std::thread::yield_now();
        }
    }
}

impl Worker<'_> {
    /// One step: runs a ready task, or leaves the turn to the future of `block_on`.
    pub(super) fn run_explored(&mut self) -> Paused {
        if let Some(oldest) = self.fetch() {
            self.shared.push(self.slot, oldest);
        }
        let mut ready: Vec<_> = std::iter::from_fn(|| self.pop()).collect();
        let mut ids: Vec<_> = ready.iter().map(|entry| Some(entry.task.id())).collect();
        ids.extend(self.parker.is_notified().then_some(None));
        let chosen = match (&mut self.explorer, ids.len()) {
            (_, 0) => return Paused::Idle,
            (Some(explorer), _) => explorer.choose(&ids),
            (None, _) => 0,
        };
        let entry = (chosen < ready.len()).then(|| ready.remove(chosen));
        for entry in ready {
            self.shared.push(self.slot, entry);
        }
        let Some(entry) = entry else {
            self.note_step(None);
            return Paused::Yielded;
        };
        self.slot.begin_poll(entry.task);
        if let Some(again) = self.shared.observe_poll(self.slot, entry, Notified::run) {
            self.shared.push(self.slot, again);
        }
        self.note_step(ids[chosen]);
        Paused::Quantum
    }

    fn note_step(&mut self, task: Option<Id>) {
        let has_yielded = coop::take_yielded();
        if let Some(explorer) = &mut self.explorer {
            explorer.has_run(task, has_yielded);
        }
    }

    /// Panics if nothing can wake a task any more. Called without a ready task.
    pub(super) fn fail_if_deadlocked(&self) {
        let mut waited = Duration::ZERO;
        while self.is_deadlocked() {
            assert!(
                waited < GRACE,
                "deadlock: no task is ready, and there is no timer, no blocking function and no I/O that could wake one"
            );
            let pause = Duration::from_millis(5);
            std::thread::sleep(pause);
            waited += pause;
        }
    }

    fn is_deadlocked(&self) -> bool {
        let driver = &self.shared.driver;
        let has_timers = driver.time().is_some_and(|time| time.has_timers());
        !self.sees_work()
            && self.shared.inject.is_empty()
            && self.clock_may_advance()
            && !has_timers
            && !driver.has_sources()
    }
}
