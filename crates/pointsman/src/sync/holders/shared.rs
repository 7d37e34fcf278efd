//! The holders of locks with several permits, and the first request that waits for each.
//!
//! The identity of a lock determines its bucket, which it shares with other locks. Each [lane](super::lanes) has all
//! buckets. A holder takes a free entry of the bucket in the lane of its thread. If there is none, the holder is not
//! known.
//!
//! # Invariants
//!
//! - The entry of a holder belongs to its [`Hold`], and that of a request to the thread that has the lock of the queue.
//!   Other threads only empty entries of holders ([`forget_holders`]), after which dumps do not know these holders.
//! - An entry in use names a task and has the tag of its lock. The tag and the bucket together determine the identity,
//!   so a reader does not confuse the holders of locks with different identities.
//! - `what` is written before `who` names the task, or by that task.

use super::lanes::{self, LANES, SHARED};
use super::{FirstRequest, Grant, LockFacts, LockHolder};
use crate::loom::sync::atomic::AtomicU64;
use crate::loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::task::clock;

/// The task is unknown, or it is a thread outside of tasks.
pub(super) const OUTSIDE: u32 = u32::MAX;
/// Set beside a task if the permits were granted and not claimed.
const UNCLAIMED: u64 = 1 << 32;
/// Set beside a task whose guard can move to another one.
const MOVABLE: u64 = 1 << 33;
/// The bits from here to the tag are the low bits of the task's number of polls, if the permits were not claimed.
const POLLS_SHIFT: u32 = 34;
const POLLS_MASK: u32 = (1 << (TAG_SHIFT - POLLS_SHIFT)) - 1;
/// In the entry of a request, the bits from here to the tag are the number of permits that it still lacks.
const LACKS_SHIFT: u32 = 32;
/// The request lacks this number of permits or more.
const MANY: u64 = (1 << (TAG_SHIFT - LACKS_SHIFT)) - 1;
const TAG_SHIFT: u32 = 42;
/// The entry is not free and names no task.
const BUSY: u64 = 1 << 32;

const TAG_BITS: u32 = 64 - TAG_SHIFT;
/// The index of a bucket has the bits of the identity that are not in the tag.
const BUCKETS: usize = if cfg!(all(test, loom)) {
    1
} else {
    1 << (32 - TAG_BITS)
};
/// The entries of a bucket in a lane: first those of holders, then those of requests, which are only in the shared lane.
const IN_BUCKET: usize = 8;
const HOLDERS: usize = if cfg!(all(test, loom)) { 2 } else { 6 };
const IN_LANE: usize = BUCKETS * IN_BUCKET;
/// Two megabytes, of which a program touches what it uses.
const ENTRIES: usize = LANES * IN_LANE;

#[derive(Debug)]
struct Entry {
    /// The task in the lower half, then flags, and the tag of the lock; 0 if the entry is free.
    who: AtomicU64,
    /// Of a holder, the number of its permits in the lower half, and the time at which it acquired them in the upper
    /// one. Of a request, the number of permits that it requests, and the number of all permits of the lock.
    what: AtomicU64,
}

/// A bucket begins with a cache line.
#[repr(align(128))]
struct Table([Entry; ENTRIES]);

#[cfg(not(all(test, loom)))]
static TABLE: Table = Table([const { Entry::new() }; ENTRIES]);

#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref TABLE: Table = Table(std::array::from_fn(|_| Entry::new()));
}

/// The first entry of a lock's bucket in the shared lane, and the lock's tag in the bits of `who`.
#[inline]
fn place(identity: u32) -> (usize, u64) {
    // Fibonacci hashing. The factor is odd, so different identities have different hashes.
    let hash = u64::from(identity.wrapping_mul(0x9e37_79b1));
    let bucket = (hash >> TAG_BITS) as usize % BUCKETS;
    (bucket * IN_BUCKET, hash << TAG_SHIFT)
}

/// The entries of holders in a bucket, in all lanes.
fn holders(first: usize) -> impl Iterator<Item = &'static Entry> {
    let firsts = (0..lanes::used()).map(move |lane| lane * IN_LANE + first);
    firsts.flat_map(|first| &TABLE.0[first..first + HOLDERS])
}

/// The entries of requests in a bucket.
fn requests(first: usize) -> impl Iterator<Item = &'static Entry> {
    TABLE.0[first + HOLDERS..first + IN_BUCKET].iter()
}

fn pair(lower: u32, upper: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

impl Entry {
    const_unless_loom! {
        const fn new() -> Self {
            Self {
                who: AtomicU64::new(0),
                what: AtomicU64::new(0),
            }
        }
    }

    /// Takes the entry if it is free.
    #[inline]
    fn take(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `empty`: what the last owner wrote comes before.
        self.who.load(Relaxed) == 0 && self.who.compare_exchange(0, BUSY, Acquire, Relaxed).is_ok()
    }

    /// Whether the entry is free. Called by the thread that owns the lane, which then may take it.
    #[inline]
    fn is_free(&self) -> bool {
        // ORDERING: Acquire, as in `take`.
        self.who.load(Acquire) == 0
    }

    /// Called by the owner of an entry that names no task.
    #[inline]
    fn set(&self, who: u64, what: u64) {
        // ORDERING: Release pairs with the Acquire of `read`: a reader of `what` also sees that the entry named no task.
        self.what.store(what, Release);
        // ORDERING: Release pairs with the Acquire of `read`: a reader of `who` also sees `what`.
        self.who.store(who, Release);
    }

    #[inline]
    fn empty(&self) {
        // ORDERING: Release pairs with the Acquire of `take` and `is_free`.
        self.who.store(0, Release);
    }

    /// Returns `who` if the entry belongs to the lock.
    #[inline]
    fn who(&self, tag: u64) -> Option<u64> {
        // ORDERING: Acquire pairs with the Release of `set`.
        let who = self.who.load(Acquire);
        (who >> TAG_SHIFT == tag >> TAG_SHIFT && who as u32 != 0).then_some(who)
    }

    /// Returns `who` and `what` if the entry belongs to the lock.
    fn read(&self, tag: u64) -> Option<(u64, u64)> {
        let who = self.who(tag)?;
        // ORDERING: Acquire pairs with the Release of `set`.
        let what = self.what.load(Acquire);
        (self.who.load(Relaxed) == who).then_some((who, what))
    }
}

/// The entry of a guard's permits: the task that the entry names in the upper half, and the index of the entry plus 1
/// in the lower one. If the task is 0, there is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sync) struct Hold(u64);

impl Hold {
    pub(in crate::sync) const NONE: Self = Self(0);
    /// For permits that were granted when no entry was free.
    pub(super) const UNRECORDED: Self = Self(1);

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Whether the permits were granted when no entry was free.
    pub(in crate::sync) fn is_unrecorded(self) -> bool {
        self == Self::UNRECORDED
    }

    /// Called by the holder when permits are split or merged, since guards cannot share an entry.
    pub(in crate::sync) fn forget(&mut self) {
        self.release(self.task());
        *self = Self::NONE;
    }

    #[inline]
    fn task(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The entry and its `who`, if it still belongs to this hold.
    #[inline]
    fn entry(self) -> Option<(&'static Entry, u64)> {
        let number = (self.0 as u32).wrapping_sub(1) as usize;
        let entry = &TABLE.0[number % ENTRIES];
        let who = entry.who.load(Relaxed);
        (who as u32 == self.task() && self.task() != 0).then_some((entry, who))
    }

    /// Empties the entry. Returns true if another task than `current` acquired the permits, though the guard is not
    /// [marked as movable](Self::may_move).
    #[inline]
    pub(super) fn release(self, current: u32) -> bool {
        let Some((entry, who)) = self.entry() else {
            return false;
        };
        entry.empty();
        current != self.task() && self.task() != OUTSIDE && who & MOVABLE == 0
    }

    /// Called by the holder of all permits before it releases all but one.
    pub(in crate::sync) fn keep_one(self) {
        if let Some((entry, _)) = self.entry() {
            entry.what.store(pair(1, clock::now()), Relaxed);
        }
    }

    /// Called by the holder if its guard can move to another task.
    pub(super) fn may_move(self) {
        if let Some((entry, who)) = self.entry() {
            // ORDERING: Release, as in `Entry::set`, which has written `what`.
            entry.who.store(who | MOVABLE, Release);
        }
    }

    /// Called by a future that was woken with its permits. `task` may be another task than the one they were granted
    /// to.
    pub(super) fn claim(self, task: u32) -> Self {
        let Some((entry, who)) = self.entry() else {
            return Self::NONE;
        };
        let tag = who >> TAG_SHIFT << TAG_SHIFT;
        // ORDERING: Release, as in `Entry::set`, which has written `what`.
        entry
            .who
            .store(tag | who & MOVABLE | u64::from(task), Release);
        Self(pair(self.0 as u32, task))
    }
}

/// Records a holder, if an entry is free. `granted` is set if the permits were granted to a waiter: the number of polls
/// that its task then had.
#[inline]
pub(super) fn take(identity: u32, task: u32, permits: usize, granted: Option<u32>) -> Option<Hold> {
    let (first, tag) = place(identity);
    let lane = lanes::own();
    let first = lane * IN_LANE + first;
    let mut places = first..first + HOLDERS;
    let at = match lane {
        SHARED => places.find(|&at| TABLE.0[at].take())?,
        _ => places.find(|&at| TABLE.0[at].is_free())?,
    };
    let grant = granted.map_or(0, |polls| {
        UNCLAIMED | u64::from(polls & POLLS_MASK) << POLLS_SHIFT
    });
    let what = pair(permits as u32, clock::now());
    TABLE.0[at].set(tag | grant | u64::from(task), what);
    Some(Hold(pair(at as u32 + 1, task)))
}

/// Empties the entries of earlier locks with this identity, whose guards were leaked. A holder that takes an entry meanwhile
/// may lose it.
#[cold]
pub(super) fn forget_holders(identity: u32) {
    let (first, tag) = place(identity);
    for entry in holders(first) {
        if let Some(who) = entry.who(tag) {
            // ORDERING: Release, as in `Entry::empty`.
            let _ = entry.who.compare_exchange(who, 0, Release, Relaxed);
        }
    }
}

fn request_of(first: usize, tag: u64) -> Option<&'static Entry> {
    requests(first).find(|entry| entry.who(tag).is_some())
}

/// Sets the first request, under the queue's lock. It wants `wants` permits, and still lacks `lacks` of them.
pub(super) fn set_request(identity: u32, task: u32, wants: u32, lacks: usize, all: u32) {
    let (first, tag) = place(identity);
    let who = tag | u64::from(task) | (lacks as u64).min(MANY) << LACKS_SHIFT;
    let what = pair(wants, all);
    match request_of(first, tag) {
        // ORDERING: Release, as in `Entry::set`, which has written the same.
        Some(entry) if entry.what.load(Relaxed) == what => entry.who.store(who, Release),
        Some(entry) => {
            entry.who.store(BUSY, Relaxed);
            entry.set(who, what);
        }
        None => {
            if let Some(entry) = requests(first).find(|entry| entry.take()) {
                entry.set(who, what);
            }
        }
    }
}

/// Called under the queue's lock if no request waits, or if it is unknown which ones are blocked.
pub(super) fn forget_request(identity: u32) {
    let (first, tag) = place(identity);
    if let Some(entry) = request_of(first, tag) {
        entry.empty();
    }
}

pub(super) fn read(identity: u32) -> LockFacts {
    let (first, tag) = place(identity);
    let number_of = |who: u64| match who as u32 {
        OUTSIDE => 0,
        number => number,
    };
    let holder = |(who, what): (u64, u64)| LockHolder {
        number: number_of(who),
        permits: what as u32,
        since: (what >> 32) as u32,
        granted: (who & UNCLAIMED != 0).then_some(Grant {
            polls: (who >> POLLS_SHIFT) as u32 & POLLS_MASK,
            mask: POLLS_MASK,
        }),
        may_have_moved: who & MOVABLE != 0,
    };
    let entries = holders(first).filter_map(|entry| entry.read(tag));
    let holders: Vec<_> = entries.map(holder).collect();
    let request = requests(first).find_map(|entry| entry.read(tag));
    let mut others = 0;
    let first = request.map(|(who, what)| {
        let spare = (what >> 32) as u32 - what as u32;
        let lacks = who >> LACKS_SHIFT & MANY;
        if lacks < MANY {
            // While a request waits, all permits are held except those already assigned to it.
            let known: u32 = holders.iter().map(|holder| holder.permits).sum();
            others = (spare + lacks as u32).saturating_sub(known);
        }
        FirstRequest {
            number: number_of(who),
            spare,
        }
    });
    LockFacts {
        holders,
        others,
        first,
        has_one_permit: false,
    }
}
