//! The owners of locks with one permit that have waiters: a copy that dumps can read.
//!
//! If two locks with waiters have the same entry, it names the owner of one; the owner of the other is not known.
//!
//! # Invariants
//!
//! - The entry of a lock with waiters names the last owner that the lock recorded, or for a moment an earlier one; see
//!   [`publish`].
//! - The owner and a tag, which is part of a hash of the lock's identity, are one word. So a reader does not confuse
//!   two locks with the same entry.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::{Grant, LockHolder};

/// No owner has recorded itself since the lock was released.
pub(super) const FREE: u64 = 0;
/// The owner is a thread outside of tasks.
const OUTSIDE: u64 = u32::MAX as u64;
/// The lock has no entry.
pub(super) const UNKNOWN: u64 = OUTSIDE - 1;
/// Set beside a task if the permit was granted and not claimed.
pub(super) const UNCLAIMED: u64 = 1 << 32;
/// Set beside a task whose guard can move to another one.
pub(super) const MOVABLE: u64 = 1 << 33;
/// The bits from here on are the task's number of polls, if the permit was not claimed.
pub(super) const POLLS_SHIFT: u32 = 34;
const OWNER: u64 = (1 << POLLS_SHIFT) - 1;

struct Entry {
    /// Bits 0 to 33: the owner; 34 to 63: the tag of the lock.
    word: AtomicU64,
    since: AtomicU32,
    polls: AtomicU32,
}

/// A power of two. With 64 locks that have waiters, the probability that two share an entry is about 40 %.
const ENTRIES: usize = 4096;
const TAG_SHIFT: u32 = 34;

static TABLE: [Entry; ENTRIES] = [const {
    Entry {
        word: AtomicU64::new(0),
        since: AtomicU32::new(0),
        polls: AtomicU32::new(0),
    }
}; ENTRIES];

fn entry_of(identity: u32) -> (&'static Entry, u64) {
    // Fibonacci hashing; the index and the tag use different bits.
    let hash = u64::from(identity).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let index = (hash >> 20) as usize % ENTRIES;
    // Never 0, which is the tag of an empty entry.
    let tag = (hash >> TAG_SHIFT | 1) << TAG_SHIFT;
    (&TABLE[index], tag)
}

/// Copies the owner of a lock, and the time at which it acquired the lock, to its entry. The functions return the
/// latest values.
#[cold]
pub(super) fn publish(identity: u32, since: impl Fn() -> u32, latest: impl Fn() -> u64) {
    let (entry, tag) = entry_of(identity);
    let mut owner = latest();
    // The holder of a lock that always has waiters has already published this value.
    if entry.word.load(Relaxed) == tag | owner & OWNER && entry.since.load(Relaxed) == since() {
        return;
    }
    loop {
        entry.since.store(since(), Relaxed);
        entry.polls.store((owner >> POLLS_SHIFT) as u32, Relaxed);
        // ORDERING: SeqCst: if this replaces the entry of a later owner, `latest` sees the record of that owner,
        // which was written before the entry. It also pairs with `HolderRecord::may_move`.
        entry.word.swap(tag | owner & OWNER, SeqCst);
        let now = latest();
        if now == owner {
            return;
        }
        owner = now;
    }
}

fn word_of(identity: u32) -> Option<(&'static Entry, u64)> {
    let (entry, tag) = entry_of(identity);
    // ORDERING: SeqCst pairs with `publish` in `HolderRecord::may_move`.
    let word = entry.word.load(SeqCst);
    let is_known = word >> TAG_SHIFT == tag >> TAG_SHIFT && word & OWNER != UNKNOWN;
    is_known.then_some((entry, word))
}

/// Whether the lock has an entry.
pub(super) fn has(identity: u32) -> bool {
    word_of(identity).is_some()
}

pub(super) fn read(identity: u32) -> Option<LockHolder> {
    let (entry, word) = word_of(identity)?;
    let owner = word & u64::from(u32::MAX);
    (owner != FREE).then(|| LockHolder {
        number: if owner == OUTSIDE { 0 } else { owner as u32 },
        permits: 1,
        since: entry.since.load(Relaxed),
        granted: (word & UNCLAIMED != 0).then(|| Grant {
            polls: entry.polls.load(Relaxed),
            mask: (1 << (64 - POLLS_SHIFT)) - 1,
        }),
        may_have_moved: word & MOVABLE != 0,
    })
}
