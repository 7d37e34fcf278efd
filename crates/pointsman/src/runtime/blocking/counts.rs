//! The state of the blocking pool in one atomic word: the roles that are taken, the running jobs and the queued jobs.
//!
//! Invariant: a job is counted as queued after it was put into the queue, and a thread takes a job from the queue only
//! after it has counted one off. So a thread that has claimed a job always finds one.

use crate::loom::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// What a thread is counted as until it takes a job or finds none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// It is on its way to the queue; submitters rely on it. At most one thread.
    Searching,
    /// It checks that no job waits for long. At most one thread.
    Watching,
    /// The watching thread called it, or it saw a job before it fell asleep.
    Helping,
    /// It has run a job and looks for the next.
    Running,
}

impl Role {
    fn bits(self) -> u64 {
        match self {
            Self::Searching => SEARCHING,
            Self::Watching => WATCHING,
            Self::Helping => 0,
            Self::Running => RUNNING,
        }
    }
}

const SEARCHING: u64 = 1;
const WATCHING: u64 = 1 << 1;
/// The unit of the number of running jobs, which has 30 bits.
const RUNNING: u64 = 1 << 2;
/// The unit of the number of queued jobs, which has 32 bits.
const QUEUED: u64 = 1 << 32;

#[derive(Clone, Copy)]
pub(super) struct Counts(u64);

impl Counts {
    pub(super) fn queued(self) -> usize {
        (self.0 >> 32) as usize
    }

    pub(super) fn running(self) -> usize {
        ((self.0 & (QUEUED - 1)) >> 2) as usize
    }

    #[cfg(all(test, loom))]
    pub(super) fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(super) fn is_idle(self) -> bool {
        self.queued() == 0 && self.running() == 0
    }

    /// Whether a new job needs no further thread.
    pub(super) fn is_attended(self) -> bool {
        // If no job runs, the watching thread would notice the new job only at its next tick.
        self.0 & SEARCHING != 0 || self.0 & WATCHING != 0 && self.running() > 0
    }
}

pub(super) struct SharedCounts {
    counts: AtomicU64,
    /// The number of threads in [`Role::Helping`]. Submitters do not rely on them, so they are counted separately.
    helping: AtomicUsize,
}

impl SharedCounts {
    pub(super) fn new() -> Self {
        Self {
            counts: AtomicU64::new(0),
            helping: AtomicUsize::new(0),
        }
    }

    pub(super) fn get(&self) -> Counts {
        // ORDERING: Acquire pairs with the release of `take`: a thread that sees a job as finished sees its effects.
        Counts(self.counts.load(Acquire))
    }

    pub(super) fn helping(&self) -> usize {
        self.helping.load(Relaxed)
    }

    /// Counts a job that was put into the queue. Returns the counts before.
    pub(super) fn job_queued(&self) -> Counts {
        // ORDERING: Release pairs with the acquire of `take` and `claim_unrun`: the job is in the queue. The result needs
        // no acquire: the submitter reads nothing that another thread has published by it.
        Counts(self.counts.fetch_add(QUEUED, Release))
    }

    /// Ends the role and claims a queued job, for which the thread is counted as running. Returns the counts afterwards,
    /// as an error if no job was queued.
    pub(super) fn take(&self, role: Role) -> Result<Counts, Counts> {
        if role == Role::Helping {
            self.helping.fetch_sub(1, Relaxed);
        }
        let taken = RUNNING.wrapping_sub(QUEUED);
        let change = |counts: u64| match Counts(counts).queued() {
            0 => counts - role.bits(),
            _ => counts.wrapping_add(taken) - role.bits(),
        };
        // ORDERING: Acquire pairs with the release of `job_queued`, Release with the acquire of `get`.
        let before = self
            .counts
            .fetch_update(AcqRel, Relaxed, |counts| Some(change(counts)))
            .unwrap_or_else(|counts| counts);
        let after = Counts(change(before));
        match Counts(before).queued() {
            0 => Err(after),
            _ => Ok(after),
        }
    }

    /// Claims a queued job that will not run. Returns false if none is queued.
    pub(super) fn claim_unrun(&self) -> bool {
        let change = |counts| (Counts(counts).queued() > 0).then(|| counts - QUEUED);
        // ORDERING: Acquire pairs with the release of `job_queued`.
        self.counts.fetch_update(Acquire, Relaxed, change).is_ok()
    }

    /// Assigns a role to the thread that is about to be called. Returns false if the role is taken.
    pub(super) fn assign(&self, role: Role) -> bool {
        if role == Role::Helping {
            self.helping.fetch_add(1, Relaxed);
            return true;
        }
        // Relaxed suffices: changes of one word are totally ordered, and nothing else is published by it.
        self.counts.fetch_or(role.bits(), Relaxed) & role.bits() == 0
    }

    /// Takes a role back, as no thread will fill it.
    pub(super) fn unassign(&self, role: Role) {
        match role {
            Role::Helping => self.helping.fetch_sub(1, Relaxed) as u64,
            _ => self.counts.fetch_and(!role.bits(), Relaxed),
        };
    }

    /// Takes a role back, unless a job is queued. Returns whether it did.
    pub(super) fn unassign_if_none_queued(&self, role: Role) -> bool {
        let change = |counts| (Counts(counts).queued() == 0).then(|| counts & !role.bits());
        let is_unassigned = self.counts.fetch_update(Relaxed, Relaxed, change).is_ok();
        if is_unassigned && role == Role::Helping {
            self.helping.fetch_sub(1, Relaxed);
        }
        is_unassigned
    }
}
