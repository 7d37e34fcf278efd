//! How a scheduler decides: ours, by the functions of [`policy`](super::super), and Tokio's as it is modelled here.
//!
//! Tokio wakes a worker for each task that is queued, unless one searches. Up to half of the workers search, each goes
//! past all queues once, and the last of them that finds something wakes the next. Of what is woken in a worker the
//! newest goes first, where no thief can take it, three times in a row at most. Who takes from the inject queue takes
//! its share. There is no watchdog.

use super::super::{self as policy, Mode, Pace, Workers};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rules {
    Ours,
    /// As ours, but never are two called at once: what passing the search on to several is worth.
    OneSearcher,
    Tokio,
}

/// Of Tokio: how often in a row the newest task goes first.
pub(super) const MOST_NEWEST_FIRST: u32 = 3;
/// Of Tokio: entries of a worker's queue, of which half may come from the inject queue at once.
const TOKIO_CAPACITY: usize = 256;
/// As `Config::event_interval`; of Tokio: after so many polls a worker takes from the inject queue first.
const EVENT_INTERVAL: u32 = 61;
/// Of ours: see `Queue::steal`.
const MOST_STOLEN: usize = 128;

impl Rules {
    pub(super) fn is_tokio(self) -> bool {
        self == Self::Tokio
    }

    /// Whether one more worker is to be woken, as so many tasks wait.
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

    /// How many one that has queued or found something wakes at most.
    pub(super) fn most_called(self) -> usize {
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

    /// After how many polls a worker looks around.
    pub(super) fn interval(self, pace: &Pace) -> u32 {
        match self {
            Self::Tokio => EVENT_INTERVAL,
            _ => pace.interval(EVENT_INTERVAL),
        }
    }

    /// How many tasks a thief takes where so many wait.
    pub(super) fn stolen(self, waiting: usize) -> usize {
        waiting.div_ceil(2).min(MOST_STOLEN)
    }

    /// How many tasks one of so many workers takes from an inject queue in which so many wait.
    pub(super) fn fetched(self, waiting: usize, workers: usize) -> usize {
        match self {
            Self::Tokio => (waiting / workers + 1).min(TOKIO_CAPACITY / 2).min(waiting),
            _ => waiting,
        }
    }
}
