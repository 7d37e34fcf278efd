//! The compared policies: ours, by the functions of [`policy`](super::super), and a model of Tokio's.
//!
//! Tokio wakes a worker for each queued task, unless one searches. Up to half of the workers search; each checks all
//! queues once, and the last one that finds a task wakes the next. A task that is woken in a worker goes to the LIFO
//! slot, from which no thief can take it, at most three times in a row. A worker takes its share of the inject queue.
//! There is no watchdog.

use super::super::{self as policy, Mode, Pace, Workers};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rules {
    Ours,
    /// As ours, with one searcher at a time: shows what several searchers gain.
    OneSearcher,
    Tokio,
}

/// Tokio: how often in a row the LIFO slot is used.
pub(super) const MAX_NEWEST_FIRST: u32 = 3;
/// Tokio: the capacity of a worker's queue, half of which can be filled from the inject queue at once.
const TOKIO_CAPACITY: usize = 256;
/// As `Config::event_interval`. Tokio: the number of polls after which a worker takes from the inject queue first.
const EVENT_INTERVAL: u32 = 61;
/// Ours: see `Queue::steal`.
const MAX_STOLEN: usize = 128;

impl Rules {
    pub(super) fn is_tokio(self) -> bool {
        self == Self::Tokio
    }

    /// Whether to wake another worker, given that `waiting` tasks are queued.
    pub(super) fn should_call(
        self,
        workers: Workers,
        cores: usize,
        mode: Mode,
        waiting: usize,
        wake_threshold: usize,
    ) -> bool {
        match self {
            Self::Ours => policy::should_call(workers, cores, mode, waiting, wake_threshold),
            Self::OneSearcher => {
                workers.searching == 0
                    && policy::should_call(workers, cores, mode, waiting, wake_threshold)
            }
            Self::Tokio => workers.searching == 0 && workers.sleeping > 0,
        }
    }

    /// The maximum number of workers that one notification wakes.
    pub(super) fn max_called(self) -> usize {
        match self {
            Self::Ours => policy::MAX_CALLED,
            _ => 1,
        }
    }

    pub(super) fn may_search(self, workers: Workers, cores: usize, mode: Mode) -> bool {
        match self {
            Self::Ours => policy::may_search(workers, cores, mode),
            Self::OneSearcher => workers.searching == 0 && policy::may_search(workers, cores, mode),
            Self::Tokio => 2 * workers.searching < workers.awake + workers.sleeping,
        }
    }

    pub(super) fn may_wake(self, workers: Workers, cores: usize, mode: Mode) -> bool {
        self.is_tokio() || policy::may_wake(workers, cores, mode)
    }

    pub(super) fn is_worth_stealing(
        self,
        mode: Mode,
        waiting: usize,
        wake_threshold: usize,
    ) -> bool {
        match self {
            Self::Tokio => waiting > 0,
            _ => policy::is_worth_stealing(mode, waiting, wake_threshold),
        }
    }

    /// The number of polls in a quantum.
    pub(super) fn interval(self, pace: &Pace) -> u32 {
        match self {
            Self::Tokio => EVENT_INTERVAL,
            _ => pace.interval(EVENT_INTERVAL),
        }
    }

    /// The number of tasks that a thief takes from a queue of `waiting` tasks.
    pub(super) fn stolen(self, waiting: usize) -> usize {
        waiting.div_ceil(2).min(MAX_STOLEN)
    }

    /// The number of tasks that one of `workers` workers takes from an inject queue of `waiting` tasks.
    pub(super) fn fetched(self, waiting: usize, workers: usize) -> usize {
        match self {
            Self::Tokio => (waiting / workers + 1).min(TOKIO_CAPACITY / 2).min(waiting),
            _ => waiting,
        }
    }
}
