//! Remembers which kinds of tasks block their worker. Before a worker polls such a task, it has another worker attend to the
//! driver and to its queued tasks. So a task that blocks repeatedly costs one wake-up each time, and the watchdog need not
//! look for it.
//!
//! A kind is a type of futures: the tasks that a server spawns for its connections are of one kind, and those for jobs of
//! another.
//!
//! Invariant: the memory only makes workers wake up earlier. Without it, or with a wrong one, the watchdog finds the task
//! that blocks.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use super::{Outcome, Shared, Slot};
use crate::loom::sync::atomic::AtomicU32;

/// A poll this long counts as blocking. During a shorter one the system may only have preempted the worker.
///
/// Lab row: `echo` with 1,000 requests/s while a task blocks for 10 ms, whose 99th percentile is 0.3 ms, and 4 ms if no poll
/// counts.
pub(super) const BLOCKED: Duration = Duration::from_millis(5);

/// The maximum number of kinds that are remembered.
const KINDS: usize = 8;

/// A poll that blocks adds this to the score of its kind; any other poll subtracts 1. So a kind is expected to block if
/// more than about a fifth of its polls do: a task may await something before it blocks.
///
/// Measured: if each poll that blocks makes its kind expected, `echo` with requests that block at random costs 7 % more.
const GAIN: usize = 4;
/// The greatest score.
const MOST: usize = 3 * GAIN;

/// Not a loom atomic: two threads that learn at once may lose a poll or mix two kinds up, which is harmless.
#[derive(Default)]
struct Known {
    /// The address of the kind.
    kind: AtomicUsize,
    /// 0 if there is none.
    score: AtomicUsize,
}

pub(super) struct Blockers {
    known: [Known; KINDS],
    /// The number of workers that are expected to be blocked.
    blocked: AtomicU32,
}

impl Blockers {
    pub(super) fn new() -> Self {
        Self {
            known: Default::default(),
            blocked: AtomicU32::new(0),
        }
    }

    /// Whether any kind is remembered.
    pub(super) fn are_known(&self) -> bool {
        self.known.iter().any(|known| known.score.load(Relaxed) > 0)
    }

    /// Whether a task of this kind has blocked lately.
    pub(super) fn know(&self, kind: usize) -> bool {
        self.score(kind) > 0
    }

    /// Whether a task of this kind is expected to block.
    pub(super) fn expects(&self, kind: usize) -> bool {
        self.score(kind) > GAIN
    }

    fn score(&self, kind: usize) -> usize {
        let known = self.place(kind);
        match known.kind.load(Relaxed) == kind {
            true => known.score.load(Relaxed),
            false => 0,
        }
    }

    /// Called after a poll of this kind.
    pub(super) fn learn(&self, kind: usize, has_blocked: bool) {
        let known = self.place(kind);
        let before = self.score(kind);
        if has_blocked {
            known.kind.store(kind, Relaxed);
            known.score.store((before + GAIN).min(MOST), Relaxed);
        } else if before > 0 {
            known.score.store(before - 1, Relaxed);
        }
    }

    fn place(&self, kind: usize) -> &Known {
        &self.known[kind / align_of::<usize>() % KINDS]
    }

    /// The number of workers that are expected to be blocked.
    pub(super) fn blocked(&self) -> usize {
        self.blocked.load(Relaxed) as usize
    }

    /// Counts this worker as blocked. Returns the number of such workers.
    pub(super) fn begin(&self) -> usize {
        // ORDERING: SeqCst: a worker that takes over the driver and is seen by the caller, or that begins later itself, sees
        // the caller as blocked.
        self.blocked.fetch_add(1, SeqCst) as usize + 1
    }

    pub(super) fn end(&self) {
        self.blocked.fetch_sub(1, Relaxed);
    }
}

impl Shared {
    /// Called by a worker that holds this slot, before it polls a task that is expected to block: makes another worker attend
    /// to the driver and to the queued tasks.
    pub(super) fn expect_block(&self, slot: &Slot) {
        let blocked = self.blockers.begin();
        // Each task that this one queues is worth a wake-up.
        slot.set_wake_threshold(0);
        let waiting = slot.queue.len();
        if waiting > 0 && self.idle.notify_local(waiting, 0) == Outcome::Unattended {
            self.watch();
        }
        if self.driver.is_unattended() {
            // A worker that falls asleep after the call sees this one as blocked: both take the lock of the sleepers.
            self.driver.want_holder();
            if !self.idle.unpark_one() && self.idle.workers().awake <= blocked {
                self.watchdog.expect_block(self);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const KIND: usize = 0x7000;

    /// Whether a kind is expected to block after many polls of which one in `every` blocks.
    fn is_expected_if_one_blocks_in(every: usize) -> bool {
        let blockers = Blockers::new();
        for poll in 0..1000 {
            blockers.learn(KIND, poll % every == 0);
        }
        blockers.expects(KIND)
    }

    #[test]
    fn a_kind_that_blocks_often_is_expected_to() {
        assert!((1..=4).all(is_expected_if_one_blocks_in));
        assert!(![6, 10, 100].into_iter().any(is_expected_if_one_blocks_in));
    }

    #[test]
    fn a_kind_is_expected_from_the_second_block_until_it_no_longer_blocks() {
        let blockers = Blockers::new();
        assert!(!blockers.are_known() && !blockers.expects(KIND));
        blockers.learn(KIND, true);
        assert!(blockers.know(KIND) && !blockers.expects(KIND));
        blockers.learn(KIND, true);
        assert!(blockers.expects(KIND));
        for _ in 0..2 * GAIN {
            blockers.learn(KIND, false);
        }
        assert!(!blockers.are_known() && !blockers.expects(KIND));
    }

    #[test]
    fn kinds_that_share_a_place_are_not_taken_for_each_other() {
        let blockers = Blockers::new();
        let other = KIND + KINDS * align_of::<usize>();
        for _ in 0..2 {
            blockers.learn(KIND, true);
        }
        assert!(!blockers.expects(other));
        blockers.learn(other, false);
        assert!(blockers.expects(KIND));
        blockers.learn(other, true);
        assert!(!blockers.expects(KIND) && !blockers.expects(other));
    }
}
