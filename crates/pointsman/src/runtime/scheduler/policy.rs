//! When to wake a worker, how often a worker checks timers and other queues, and when the watchdog looks: pure functions,
//! which `simulation` runs on more cores than the test machine has.
//!
//! Waking a sleeping thread costs as much as hundreds of short tasks. A scheduler that wakes a worker for each task is
//! slow with short tasks, and one that wakes none is slow with long tasks. So each worker measures how long its tasks
//! take, with one clock read per [`QUANTUM`], and calls another worker when its queue would keep it busy for longer than
//! a wake-up takes.
//!
//! The estimate fails if a task blocks. The [`watchdog`](super::watchdog) detects that and sets [`Mode::Eager`], in
//! which every queued task is worth a wake-up.

mod deadlines;
mod seen;
#[cfg(all(test, not(loom), not(miri)))]
mod simulation;

use std::time::Duration;

pub(super) use deadlines::Duty;
pub(super) use seen::{Look, QueueState, Seen};

/// What a wake-up is worth: a queue that is done sooner is left to its own worker. A worker checks timers, I/O, the inject
/// queue and the clock once in this time.
///
/// Lab rows: the processor time of `web-like jobs`, which is 6 % higher with 25 µs; and of `echo` with 64 connections,
/// which is 40 % higher if the worker polls for I/O every 25 µs.
pub(super) const QUANTUM: Duration = Duration::from_micros(100);

/// The maximum number of workers that one notification calls.
///
/// Simulated (`make policy CORES=64`): a fork and join of 64 tasks of 300 µs takes 20 ms in 20 rounds, and 34 ms with 1.
pub(super) const MAX_CALLED: usize = 2;

/// The wake threshold before the first measurement.
///
/// Simulated (`make policy CORES=2`): a fork and join of 2 tasks of 300 µs takes 6.6 ms in 20 rounds, and 10 ms with 0.
const FIRST_WAKE_THRESHOLD: usize = 2;

/// The number of workers in each state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workers {
    /// Workers that search for tasks or were called to search.
    pub(super) searching: usize,
    /// Workers that do not sleep; includes `searching`.
    pub(super) awake: usize,
    /// Threads that poll a future of `block_on`: not workers, but they need a core.
    pub(super) others: usize,
    pub(super) sleeping: usize,
}

impl Workers {
    /// Threads that need a core.
    pub(super) fn busy(self) -> usize {
        self.awake + self.others
    }
}

/// Whether workers make progress, as the watchdog sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// All workers make progress. Short queues are left to their own worker, and no more workers are woken than there are
    /// cores.
    Lazy,
    /// Some worker is stuck in a task. Any queued task may be behind it.
    Eager,
}

/// Whether to call a sleeping worker, given that `waiting` tasks are queued.
///
/// One worker may always search, but no more than work. On many cores each searcher that finds tasks calls others, so the
/// number of awake workers doubles with each wake-up time. Simulated (`make policy CORES=64`): tasks of 10 µs that keep 64
/// cores 70 % busy wait 0.5 ms in the 99th percentile, instead of 2.4 ms with one searcher at a time.
#[inline]
pub(super) fn should_call(
    workers: Workers,
    cores: usize,
    mode: Mode,
    waiting: usize,
    wake_threshold: usize,
) -> bool {
    // In eager mode a single task may be stuck.
    let (wake_threshold, max_awake) = match mode {
        Mode::Lazy => (wake_threshold, cores),
        Mode::Eager => (0, usize::MAX),
    };
    let working = workers.awake.saturating_sub(workers.searching);
    workers.sleeping > 0
        && workers.busy() < max_awake
        && workers.searching < working.max(1)
        // Each searcher should find more than `wake_threshold` tasks.
        && waiting >= (wake_threshold + 1) * (workers.searching + 1)
}

/// Whether a worker without tasks may search before it sleeps.
#[inline]
pub(super) fn may_search(workers: Workers, cores: usize, mode: Mode) -> bool {
    workers.searching == 0 && (mode == Mode::Eager || workers.busy() <= cores)
}

/// Whether a sleeper that sees a task at another slot may wake up for it.
#[inline]
pub(super) fn may_wake(workers: Workers, cores: usize, mode: Mode) -> bool {
    mode == Mode::Eager || workers.busy() < cores
}

/// Whether to steal from a queue of `waiting` tasks.
#[inline]
pub(super) fn is_worth_stealing(mode: Mode, waiting: usize, wake_threshold: usize) -> bool {
    match mode {
        Mode::Lazy => waiting > wake_threshold,
        Mode::Eager => waiting > 0,
    }
}

/// Measures how long the polls of a worker take.
#[derive(Debug)]
pub(super) struct Pace {
    /// A moving average per poll; 0 before the first measurement.
    nanoseconds: u64,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { nanoseconds: 0 }
    }

    /// Adds a measurement: `polls` polls took `elapsed` in total.
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

    /// The moving average per poll.
    pub(super) fn nanoseconds(&self) -> u64 {
        self.nanoseconds
    }

    /// The number of tasks that run in the time of one wake-up.
    pub(super) fn wake_threshold(&self) -> usize {
        match self.nanoseconds {
            0 => FIRST_WAKE_THRESHOLD,
            each => (QUANTUM.as_nanos() as u64 / each) as usize,
        }
    }

    /// The number of polls in a quantum, at most `max`.
    pub(super) fn interval(&self, max: u32) -> u32 {
        (self.wake_threshold() as u64).clamp(1, u64::from(max)) as u32
    }
}
