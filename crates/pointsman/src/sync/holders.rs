//! The holders of locks, for dumps: of mutexes, write locks, cells that are initialized, and semaphores if one task
//! holds all permits.
//!
//! A lock records its holder beside its permits. A dump cannot read it there, since a lock that a task waits for may be
//! freed during the dump. So a request that has to wait copies the holder to a table of the process, and so does each
//! later change while requests wait. The table has a fixed size. If two locks with waiters have the same place, one
//! entry is lost, and a dump shows no holder of that lock.
//!
//! # Invariants
//!
//! - Only an owner of the permits writes the record, or the thread that grants them, under the queue's lock. So its
//!   last value is that of the last owner. A request that has to wait may see [`FREE`], if the owner has not recorded
//!   itself yet.
//! - The entry of a lock with waiters has the last value of the record, or for a moment an earlier one; see `publish`.
//! - The holder and a tag, which is part of a hash of the lock's address, are one word. So a reader does not take the
//!   holder of one lock for that of another.
//!
//! Cost: 16 bytes per lock and two stores to acquire it, two more to wait for it. Nothing without the
//! feature `diagnostics`.

use crate::task::activity::WaitKind;

/// The holder of a lock that has waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockHolder {
    /// The low half of the task's id; 0 if no task holds it.
    pub(crate) number: u32,
    /// The time at which the lock was acquired, by the coarse clock.
    pub(crate) since: u32,
    /// If the lock was granted to a future that has not been polled since: the task's number of polls at that time,
    /// modulo 2^30.
    pub(crate) granted_at: Option<u32>,
    /// Whether the guard can be sent to another task. The holder is then only the task that acquired the lock.
    pub(crate) may_have_moved: bool,
}

/// Returns the holder of a lock with waiters, by the kind and identity that a waiting task has noted.
pub(crate) fn of(kind: WaitKind, identity: u32) -> Option<LockHolder> {
    match kind {
        WaitKind::Mutex | WaitKind::RwLock | WaitKind::Semaphore | WaitKind::OnceCell => {
            implementation::read(identity)
        }
        _ => None,
    }
}

#[cfg(feature = "diagnostics")]
mod implementation {
    use std::hint;
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};
    use std::sync::atomic::{AtomicU32, AtomicU64};
    use std::task::Waker;

    use super::LockHolder;
    use crate::task::activity::{self, WaitKind};
    use crate::task::id::{self, Id};
    use crate::task::{clock, waker};

    /// No owner of all permits has recorded itself since they were released.
    const FREE: u64 = 0;
    /// The owner is a thread outside of tasks.
    const OUTSIDE: u64 = u32::MAX as u64;
    /// There may be several owners.
    const SHARED: u64 = OUTSIDE - 1;
    /// Set beside a task if the permits were granted and not claimed.
    const UNCLAIMED: u64 = 1 << 32;

    /// How often a request that has to wait checks whether the owner has recorded itself.
    const SPINS: u32 = if cfg!(all(test, loom)) { 1 } else { 100 };

    /// Set beside a task whose guard can move to another one.
    const MOVABLE: u64 = 1 << 33;
    /// The bits from here on are the task's number of polls, if the permits were not claimed.
    const POLLS_SHIFT: u32 = 34;
    const OWNER: u64 = (1 << POLLS_SHIFT) - 1;

    /// The holder that a lock records.
    #[derive(Debug)]
    pub(in crate::sync) struct HolderRecord {
        /// The low half of the id of the task with [`UNCLAIMED`] and its polls or [`MOVABLE`], or one of the values
        /// above.
        owner: AtomicU64,
        since: AtomicU32,
        /// The kind in the upper bits, and in the lower ones the number of all permits: an owner of that many is the
        /// only one. 0 if the holder is never known.
        all: AtomicU32,
    }

    /// The kinds of locks come first, and the maximum number of readers takes the other bits.
    const KIND_SHIFT: u32 = 29;
    const MAX_ALL: u32 = (1 << KIND_SHIFT) - 1;
    const MAX_PERMITS: usize = MAX_ALL as usize;
    const _: () = assert!((WaitKind::LAST_OF_LOCKS as u32) < 1 << (32 - KIND_SHIFT));

    impl HolderRecord {
        pub(in crate::sync) const fn new(kind: WaitKind, permits: usize) -> Self {
            let all = match permits {
                0..=MAX_PERMITS => permits as u32,
                _ => 0,
            };
            Self {
                owner: AtomicU64::new(if all == 0 { SHARED } else { FREE }),
                since: AtomicU32::new(0),
                all: AtomicU32::new((kind as u32) << KIND_SHIFT | all),
            }
        }

        /// Called when the number of permits changes: a holder of the initial number may not be the only one.
        pub(in crate::sync) fn forget_number(&self) {
            self.all.fetch_and(!MAX_ALL, Relaxed);
            self.shared();
        }

        fn kind(&self) -> Option<WaitKind> {
            WaitKind::from_number((self.all.load(Relaxed) >> KIND_SHIFT) as u8)
        }

        #[inline]
        fn all(&self) -> usize {
            (self.all.load(Relaxed) & MAX_ALL) as usize
        }

        /// Called by the owner of permits that it has just acquired without waiting.
        #[inline]
        pub(in crate::sync) fn acquired(&self, permits: usize) {
            if permits == self.all() && permits != 0 {
                let task = id::try_id().map_or(OUTSIDE, number_of);
                self.since.store(clock::now(), Relaxed);
                self.owner.store(task, Relaxed);
            } else if permits != 0 && self.owner.load(Relaxed) != SHARED {
                self.owner.store(SHARED, Relaxed);
            }
        }

        /// Called by the owner of permits that it has just acquired, if it gets a guard that can move to another task.
        pub(in crate::sync) fn may_move(&self, permits: usize) {
            if permits != self.all() || permits == 0 {
                return;
            }
            let owner = self.owner.load(Relaxed);
            // ORDERING: SeqCst, here and in `publish`: either this sees the entry of a request that begins to wait, or
            // that request sees the flag.
            self.owner.swap(owner | MOVABLE, SeqCst);
            let (entry, tag) = entry_of(activity::identity(WaitKind::Mutex, self.address()));
            if entry.word.load(SeqCst) >> TAG_SHIFT == tag >> TAG_SHIFT {
                self.publish();
            }
        }

        /// Called by a future that was woken with its permits.
        pub(in crate::sync) fn claimed(&self, permits: usize) {
            if permits == self.all() {
                self.acquired(permits);
                self.publish();
            }
        }

        /// Called by the owner before it releases permits.
        #[inline]
        pub(in crate::sync) fn released(&self, permits: usize) {
            if permits == self.all() {
                self.owner.store(FREE, Relaxed);
            }
        }

        /// Called when there may be several owners from now on.
        pub(in crate::sync) fn shared(&self) {
            // If the record is `SHARED` already, so is the entry.
            if self.owner.load(Relaxed) != SHARED {
                self.owner.store(SHARED, Relaxed);
                self.publish();
            }
        }

        /// Called under the queue's lock when permits are granted to a waiter, which has not seen it yet.
        pub(in crate::sync) fn granted(&self, permits: usize, waker: Option<&Waker>) {
            if permits != self.all() {
                self.shared();
                return;
            }
            let (task, polls) = match waker.and_then(waker::task_and_polls) {
                Some((id, polls)) => (number_of(id), u64::from(polls) << POLLS_SHIFT),
                None => (OUTSIDE, 0),
            };
            self.since.store(clock::now(), Relaxed);
            self.owner.store(UNCLAIMED | task | polls, Relaxed);
            self.publish();
        }

        /// Called under the queue's lock when a request begins to wait.
        pub(in crate::sync) fn waiter_came(&self, waker: &Waker) {
            let owner = self.owner.load(Relaxed);
            if owner != SHARED
                || read(activity::identity(WaitKind::Mutex, self.address())).is_some()
            {
                for _ in 0..SPINS {
                    if self.owner.load(Relaxed) != FREE {
                        break;
                    }
                    hint::spin_loop();
                }
                self.publish();
            }
            self.still_waits(waker);
        }

        /// Called when a waiting future is polled again and still waits.
        pub(in crate::sync) fn still_waits(&self, waker: &Waker) {
            if let Some(kind) = self.kind() {
                activity::note_wait(kind, self.address(), waker);
            }
        }

        /// Called when a wait has ended.
        pub(in crate::sync) fn waiter_left(&self) {
            if let Some(kind) = self.kind() {
                activity::forget_wait(kind, self.address());
            }
        }

        fn address(&self) -> usize {
            std::ptr::from_ref(self).addr()
        }

        #[cold]
        fn publish(&self) {
            let (entry, tag) = entry_of(activity::identity(WaitKind::Mutex, self.address()));
            let mut owner = self.owner.load(Relaxed);
            // The holder of a lock that always has waiters has already published this value.
            if entry.word.load(Relaxed) == tag | owner & OWNER
                && entry.since.load(Relaxed) == self.since.load(Relaxed)
            {
                return;
            }
            loop {
                entry.since.store(self.since.load(Relaxed), Relaxed);
                entry.polls.store((owner >> POLLS_SHIFT) as u32, Relaxed);
                // ORDERING: SeqCst: if this replaces the entry of a later owner, the load below sees the record
                // of that owner, which it has written before. It also pairs with `may_move`.
                entry.word.swap(tag | owner & OWNER, SeqCst);
                let now = self.owner.load(SeqCst);
                if now == owner {
                    return;
                }
                owner = now;
            }
        }
    }

    fn number_of(id: Id) -> u64 {
        u64::from(id.as_number() as u32)
    }

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

    pub(super) fn read(identity: u32) -> Option<LockHolder> {
        let (entry, tag) = entry_of(identity);
        let word = entry.word.load(Relaxed);
        let owner = word & u64::from(u32::MAX);
        if word >> TAG_SHIFT != tag >> TAG_SHIFT || owner == FREE || owner == SHARED {
            return None;
        }
        Some(LockHolder {
            number: if owner == OUTSIDE { 0 } else { owner as u32 },
            since: entry.since.load(Relaxed),
            granted_at: (word & UNCLAIMED != 0).then(|| entry.polls.load(Relaxed)),
            may_have_moved: word & MOVABLE != 0,
        })
    }
}

#[cfg(not(feature = "diagnostics"))]
mod implementation {
    use std::task::Waker;

    use super::LockHolder;
    use crate::task::activity::WaitKind;

    #[derive(Debug)]
    pub(in crate::sync) struct HolderRecord;

    impl HolderRecord {
        pub(in crate::sync) const fn new(_: WaitKind, _: usize) -> Self {
            Self
        }

        pub(in crate::sync) fn forget_number(&self) {}

        #[inline]
        pub(in crate::sync) fn acquired(&self, _: usize) {}

        pub(in crate::sync) fn may_move(&self, _: usize) {}

        pub(in crate::sync) fn claimed(&self, _: usize) {}

        #[inline]
        pub(in crate::sync) fn released(&self, _: usize) {}

        pub(in crate::sync) fn shared(&self) {}

        pub(in crate::sync) fn granted(&self, _: usize, _: Option<&Waker>) {}

        pub(in crate::sync) fn waiter_came(&self, _: &Waker) {}

        pub(in crate::sync) fn still_waits(&self, _: &Waker) {}

        pub(in crate::sync) fn waiter_left(&self) {}
    }

    pub(super) fn read(_: u32) -> Option<LockHolder> {
        None
    }
}

pub(in crate::sync) use implementation::HolderRecord;
