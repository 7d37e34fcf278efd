//! When a worker is worth waking, and how often a worker looks around: decisions without threads, which
//! [`simulation`] tries out on more cores than there are here.
//!
//! To wake a thread that sleeps costs as much as hundreds of short tasks. So a scheduler that wakes somebody for
//! each task is slow with short tasks, and one that wakes nobody is slow with long ones. How long tasks are is
//! measured, at the price of a clock read in each [`QUANTUM`]: a worker calls another when what waits in its queue
//! would keep it busy for longer than a wake-up takes.
//!
//! The estimate may be wrong: a task may block. The [`watchdog`](super::watchdog) sees that, and then the policy is
//! [`Mode::Eager`]: every task that waits is worth a wake-up.

mod seen;
#[cfg(all(test, not(loom), not(miri)))]
mod simulation;

use std::time::Duration;

pub(super) use seen::Seen;

/// About what it costs to wake a worker that sleeps: until it runs, and what it does to caches. A worker looks at
/// timers, at the inject queue and at the clock as often.
///
/// Rows that it wins: fork and join of 2 tasks of 50 µs to 1 ms (they run side by side: with a fixed number of
/// tasks they run one after the other), and processor time where tasks are short.
pub(super) const QUANTUM: Duration = Duration::from_micros(25);

/// How many one that has queued or found something calls at most, before it goes on with that.
pub(super) const MOST_CALLED: usize = 2;

/// What counts as few before anything was measured.
const FEW_AT_FIRST: usize = 2;

/// What is known of those who work when something was queued.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workers {
    /// They look for work, or were called to.
    pub(super) searching: usize,
    /// All that don't sleep.
    pub(super) awake: usize,
    /// Threads that poll the future of a `block_on`: no workers, but they have a core.
    pub(super) others: usize,
    pub(super) sleeping: usize,
}

impl Workers {
    /// Threads that need a core.
    pub(super) fn busy(self) -> usize {
        self.awake + self.others
    }
}

/// What the watchdog has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// All who are awake get on: more of them than there are cores would only take turns, and a few short tasks
    /// are left to the worker that has them.
    Lazy,
    /// Some worker stands still: any task may be stuck behind it.
    Eager,
}

/// Whether another worker should be called, as so many tasks wait in a queue.
///
/// No more look for work than work, and at least one. So where one works one at a time looks, as on two cores; and on
/// many cores each who has found something calls others, until all that pay are awake: twice as many in the time of one
/// wake-up, instead of one more. What it wins, simulated ([`simulation`], `make policy CORES=64`): tasks of 10 µs that
/// keep 64 cores busy for 70 % wait 0.5 ms in the 99th percentile, instead of 2.75 ms where one at a time looks.
#[inline]
pub(super) fn calls_one(
    workers: Workers,
    cores: usize,
    mode: Mode,
    waiting: usize,
    few: usize,
) -> bool {
    // Where any task may be stuck none is too few.
    let (few, most_awake) = match mode {
        Mode::Lazy => (few, cores),
        Mode::Eager => (0, usize::MAX),
    };
    let working = workers.awake.saturating_sub(workers.searching);
    workers.sleeping > 0
        && workers.busy() < most_awake
        && workers.searching < working.max(1)
        // Each of those that look shall find more than few.
        && waiting >= (few + 1) * (workers.searching + 1)
}

/// Whether one that has found nothing yet should go on looking for a while.
#[inline]
pub(super) fn is_patient(workers: Workers) -> bool {
    workers.searching <= 1
}

/// Whether one who is out of work should look for some before it sleeps.
#[inline]
pub(super) fn may_search(workers: Workers, cores: usize, mode: Mode) -> bool {
    workers.searching == 0 && (mode == Mode::Eager || workers.busy() <= cores)
}

/// Whether one who sleeps and sees work by itself should wake up for it.
#[inline]
pub(super) fn may_wake(workers: Workers, cores: usize, mode: Mode) -> bool {
    mode == Mode::Eager || workers.busy() < cores
}

/// Whether a thief should take from a queue in which so many wait.
#[inline]
pub(super) fn is_worth_stealing(mode: Mode, waiting: usize, few: usize) -> bool {
    match mode {
        Mode::Lazy => waiting > few,
        Mode::Eager => waiting > 0,
    }
}

/// How long the tasks of a worker are.
#[derive(Debug)]
pub(super) struct Pace {
    /// A moving average; 0: not known.
    nanoseconds: u64,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { nanoseconds: 0 }
    }

    /// So many polls took so long.
    pub(super) fn update(&mut self, polls: u32, elapsed: Duration) {
        if polls == 0 {
            return;
        }
        let sample = (elapsed.as_nanos() as u64 / u64::from(polls)).max(1);
        self.nanoseconds = match self.nanoseconds {
            0 => sample,
            before => (3 * before + sample).div_ceil(4),
        };
    }

    /// How many tasks are done in less time than a wake-up takes.
    pub(super) fn few(&self) -> usize {
        match self.nanoseconds {
            0 => FEW_AT_FIRST,
            each => (QUANTUM.as_nanos() as u64 / each) as usize,
        }
    }

    /// After how many polls to look around; `most` at most.
    pub(super) fn interval(&self, most: u32) -> u32 {
        (self.few() as u64).clamp(1, u64::from(most)) as u32
    }
}
