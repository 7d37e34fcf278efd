//! What the pool is doing, in one word, so that whoever changes it sees what the others do at that very moment.
//!
//! A job is counted as queued after it was put into the queue, and whoever counts it off may take one out: so
//! the queue is never empty for those who may take.

use crate::loom::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// What a thread is counted as until it takes a job or finds none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// It is on its way to the jobs. One at a time; whoever brings a job relies on it.
    Searching,
    /// It sees that no job waits for long. One at a time.
    Watching,
    /// It was called by the one that watches, or has seen a job by itself.
    Helping,
    /// It has run a job.
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
/// Threads that run a job, in 30 bits.
const RUNNING: u64 = 1 << 2;
/// Jobs that wait, in the other 32.
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

    /// Whether no thread is counted as anything.
    #[cfg(all(test, loom))]
    pub(super) fn is_nothing(self) -> bool {
        self.0 == 0
    }

    pub(super) fn is_idle(self) -> bool {
        self.queued() == 0 && self.running() == 0
    }

    /// Whether a job that comes now needs nobody to be called.
    pub(super) fn is_attended(self) -> bool {
        // Where nobody runs anything the one that watches has yet to see that: it would take too long.
        self.0 & SEARCHING != 0 || self.0 & WATCHING != 0 && self.running() > 0
    }
}

pub(super) struct SharedCounts {
    counts: AtomicU64,
    /// Threads that are on their way to help. Nobody relies on these: they are counted by themselves.
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
        // ORDERING: Acquire: who sees that a job is over sees what it has done.
        Counts(self.counts.load(Acquire))
    }

    /// How many threads were called to help and have not come yet.
    pub(super) fn helping(&self) -> usize {
        self.helping.load(Relaxed)
    }

    /// A job was put into the queue. What there was before.
    pub(super) fn brought(&self) -> Counts {
        // ORDERING: Release pairs with the acquire of whoever takes: the job is in the queue.
        Counts(self.counts.fetch_add(QUEUED, AcqRel))
    }

    /// The caller may take a job from the queue, and is counted as running then. If none waits its role ends.
    /// What there is afterwards.
    pub(super) fn take(&self, role: Role) -> Result<Counts, Counts> {
        if role == Role::Helping {
            self.helping.fetch_sub(1, Relaxed);
        }
        let taken = RUNNING.wrapping_sub(QUEUED);
        let change = |counts: u64| match Counts(counts).queued() {
            0 => counts - role.bits(),
            _ => counts.wrapping_add(taken) - role.bits(),
        };
        // ORDERING: Acquire pairs with the release in `brought`. Release: see `get`.
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

    /// Claims a queued job that will not run; returns whether there was one. The caller removes it from the queue.
    pub(super) fn take_unrun(&self) -> bool {
        let change = |counts| (Counts(counts).queued() > 0).then(|| counts - QUEUED);
        // ORDERING: as in `take`.
        self.counts.fetch_update(AcqRel, Relaxed, change).is_ok()
    }

    /// Fills a role. Whether it was free: those that one at most is to fill may not be.
    pub(super) fn fill(&self, role: Role) -> bool {
        if role == Role::Helping {
            self.helping.fetch_add(1, Relaxed);
            return true;
        }
        // ORDERING: none is needed: whoever changes the word sees this or is seen here.
        self.counts.fetch_or(role.bits(), Relaxed) & role.bits() == 0
    }

    /// Who was to fill the role does not come.
    pub(super) fn vacate(&self, role: Role) {
        // ORDERING: as above.
        match role {
            Role::Helping => self.helping.fetch_sub(1, Relaxed) as u64,
            _ => self.counts.fetch_and(!role.bits(), Relaxed),
        };
    }

    /// As [`vacate`](Self::vacate), but not while jobs wait. Whether it was.
    pub(super) fn vacate_if_none_waits(&self, role: Role) -> bool {
        let change = |counts| (Counts(counts).queued() == 0).then(|| counts & !role.bits());
        // ORDERING: as above.
        let is_vacated = self.counts.fetch_update(Relaxed, Relaxed, change).is_ok();
        if is_vacated && role == Role::Helping {
            self.helping.fetch_sub(1, Relaxed);
        }
        is_vacated
    }
}
