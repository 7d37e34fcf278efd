//! What a lock records about its holders.

use std::hint;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::task::Waker;

use super::owners::{self, FREE, MOVABLE, POLLS_SHIFT, UNCLAIMED, UNKNOWN};
use super::shared;
pub(in crate::sync) use super::shared::Hold;
use crate::task::activity::{self, WaitKind};
use crate::task::id::{self, Id};
use crate::task::{clock, waker};

/// How often a request that has to wait checks whether the owner has recorded itself.
const SPINS: u32 = if cfg!(all(test, loom)) { 1 } else { 100 };

/// The kind of the lock is in the upper bits; the lower ones have room for the maximum number of readers.
const KIND_SHIFT: u32 = 29;
const MAX_ALL: u32 = (1 << KIND_SHIFT) - 1;
const MAX_PERMITS: usize = MAX_ALL as usize;
const _: () = assert!((WaitKind::LAST_OF_LOCKS as u32) < 1 << (32 - KIND_SHIFT));

/// What a lock records about its holders: if it has one permit, the owner.
///
/// Only the owner of the permit writes the record, or the thread that grants the permit, under the queue's lock. So its
/// last value is that of the last owner. A request that has to wait may see [`FREE`] if the owner has not recorded
/// itself yet.
#[derive(Debug)]
pub(in crate::sync) struct HolderRecord {
    /// With one permit, the owner: see [`owners`].
    ///
    /// With several, the upper half is the identity of the lock, once it has had a holder or a request that waits. The
    /// lower half is the number of unclaimed grants without an entry. While there are any, a task that looks blocked
    /// may be about to be woken.
    state: AtomicU64,
    /// With one permit, the time at which it was acquired.
    since: AtomicU32,
    /// The kind in the upper bits, and the total number of permits in the lower ones; 0 if holders are not known.
    all: AtomicU32,
}

impl HolderRecord {
    pub(in crate::sync) const fn new(kind: WaitKind, permits: usize) -> Self {
        let all = match (kind, permits) {
            // The capacity of a channel has no holder.
            (WaitKind::Send, _) => 0,
            (_, 0..=MAX_PERMITS) => permits as u32,
            _ => 0,
        };
        Self {
            state: AtomicU64::new(0),
            since: AtomicU32::new(0),
            all: AtomicU32::new((kind as u32) << KIND_SHIFT | all),
        }
    }

    fn kind(&self) -> Option<WaitKind> {
        WaitKind::from_number((self.all.load(Relaxed) >> KIND_SHIFT) as u8)
    }

    #[inline]
    fn all(&self) -> u32 {
        self.all.load(Relaxed) & MAX_ALL
    }

    /// The identity of waits for the lock.
    #[inline]
    pub(super) fn identity(&self) -> u32 {
        activity::identity(WaitKind::Mutex, self.address())
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Whether holders are known.
    pub(in crate::sync) fn is_known(&self) -> bool {
        self.all() != 0
    }

    /// Called under the queue's lock when a dump can no longer tell which tasks could release or add permits.
    pub(in crate::sync) fn forget(&self) {
        let before = self.all.fetch_and(!MAX_ALL, Relaxed) & MAX_ALL;
        match before {
            1 => self.publish(),
            _ => shared::forget_request(self.identity()),
        }
    }

    /// Called by a request that has just acquired permits without waiting.
    #[inline]
    pub(in crate::sync) fn acquired(&self, permits: usize) -> Hold {
        match self.all() {
            1 if permits == 1 => {
                self.since.store(clock::now(), Relaxed);
                self.state.store(u64::from(current_task()), Relaxed);
                Hold::NONE
            }
            0 | 1 => Hold::NONE,
            _ => self.acquired_of_several(permits),
        }
    }

    #[inline(never)]
    fn acquired_of_several(&self, permits: usize) -> Hold {
        if permits == 0 {
            return Hold::NONE;
        }
        self.settle();
        shared::take(self.identity(), current_task(), permits, None).unwrap_or(Hold::NONE)
    }

    /// Forgets, once per lock, the holders of earlier locks with several permits at this address.
    #[inline]
    fn settle(&self) {
        let state = self.state.load(Relaxed);
        if (state >> 32) as u32 != self.identity() {
            self.move_in(state);
        }
    }

    #[cold]
    fn move_in(&self, state: u64) {
        let moved = u64::from(self.identity()) << 32;
        let set = self.state.compare_exchange(state, moved, Relaxed, Relaxed);
        if set.is_ok() {
            shared::forget_holders(self.identity());
        }
    }

    /// Called by a request that has just acquired permits, if its guard can move to another task.
    pub(in crate::sync) fn may_move(&self, hold: Hold) {
        if self.all() != 1 {
            return hold.may_move();
        }
        let owner = self.state.load(Relaxed);
        // ORDERING: SeqCst, here and in `publish`: either this sees the entry of a request that begins to wait, or
        // that request sees the flag.
        self.state.swap(owner | MOVABLE, SeqCst);
        if owners::has(self.identity()) {
            self.publish();
        }
    }

    /// Called by a future that was woken with its permits.
    pub(in crate::sync) fn claimed(&self, granted: Hold, permits: usize) -> Hold {
        if granted.is_unrecorded() {
            return Hold::NONE;
        }
        if !granted.is_none() {
            return granted.claim(current_task());
        }
        if self.all() == 1 && permits == 1 {
            self.acquired(permits);
            self.publish();
        }
        Hold::NONE
    }

    /// Called before permits are released. Returns true if another task acquired them with a guard that borrows the
    /// lock, which can be sent only if the lock lives for ever. The caller then has to call [`forget`](Self::forget).
    #[inline]
    pub(in crate::sync) fn released(&self, permits: usize, hold: Hold) -> bool {
        if hold.is_none() {
            if permits == 1 && self.all() == 1 {
                self.state.store(FREE, Relaxed);
            }
            return false;
        }
        self.released_of_several(hold)
    }

    #[inline(never)]
    fn released_of_several(&self, hold: Hold) -> bool {
        hold.release(current_task())
    }

    /// Called under the queue's lock when permits are granted to a waiter, which has not claimed them yet.
    #[inline(never)]
    pub(in crate::sync) fn granted(&self, permits: usize, waker: Option<&Waker>) -> Hold {
        let all = self.all();
        if all == 0 || permits == 0 {
            return Hold::NONE;
        }
        let (task, polls) = match waker.and_then(waker::task_and_polls) {
            Some((id, polls)) => (number_of(id), polls),
            None => (shared::OUTSIDE, 0),
        };
        if all > 1 {
            self.settle();
            let hold = shared::take(self.identity(), task, permits, Some(polls));
            return hold.unwrap_or_else(|| {
                self.state.fetch_add(1, Relaxed);
                Hold::UNRECORDED
            });
        }
        self.since.store(clock::now(), Relaxed);
        let granted = UNCLAIMED | u64::from(polls) << POLLS_SHIFT;
        self.state.store(granted | u64::from(task), Relaxed);
        self.publish();
        Hold::NONE
    }

    /// Called under the queue's lock when permits that were granted without an entry were claimed or released again.
    pub(in crate::sync) fn unrecorded_ended(&self) {
        self.state.fetch_sub(1, Relaxed);
    }

    /// Called under the queue's lock when a request begins to wait.
    pub(in crate::sync) fn waiter_came(&self, waker: &Waker) {
        if self.all() == 1 {
            for _ in 0..SPINS {
                if self.state.load(Relaxed) != FREE {
                    break;
                }
                hint::spin_loop();
            }
            self.publish();
        } else if self.kind() != Some(WaitKind::Send) {
            // An earlier lock at this address may have left an entry.
            if owners::has(self.identity()) {
                self.publish();
            }
            if !self.is_known() {
                self.settle();
                self.no_first();
            }
        }
        self.still_waits(waker);
    }

    /// Whether [`first_is`](Self::first_is) has to be called.
    #[inline]
    pub(in crate::sync) fn has_several(&self) -> bool {
        self.all() > 1
    }

    /// Called under the queue's lock when the first request changes. It wants `wants` permits, and still lacks `lacks`
    /// of them.
    pub(in crate::sync) fn first_is(&self, waker: Option<&Waker>, wants: usize, lacks: usize) {
        let all = self.all();
        // A request for more permits than there are waits for `add_permits`.
        if wants > all as usize {
            self.forget();
        }
        let task = match waker.and_then(waker::task_and_polls) {
            Some((id, _)) => number_of(id),
            None => shared::OUTSIDE,
        };
        self.settle();
        let has_unrecorded = self.state.load(Relaxed) as u32 != 0;
        match self.all() > 1 && !has_unrecorded {
            true => shared::set_request(self.identity(), task, wants as u32, lacks, all),
            false => self.no_first(),
        }
    }

    /// Called under the queue's lock when no request waits any more.
    pub(in crate::sync) fn no_first(&self) {
        shared::forget_request(self.identity());
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

    #[cold]
    fn publish(&self) {
        let owner = || match self.all() {
            // ORDERING: SeqCst, see `owners::publish`.
            1 => self.state.load(SeqCst),
            _ => UNKNOWN,
        };
        owners::publish(self.identity(), || self.since.load(Relaxed), owner);
    }
}

/// The [`Hold`] of permits that were granted to a request, which has not claimed them yet.
#[derive(Debug)]
pub(in crate::sync) struct GrantedHold(AtomicU64);

impl GrantedHold {
    pub(in crate::sync) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(in crate::sync) fn set(&self, hold: Hold) {
        self.0.store(hold.bits(), Relaxed);
    }

    pub(in crate::sync) fn get(&self) -> Hold {
        Hold::from_bits(self.0.load(Relaxed))
    }
}

/// Returns the low half of the id. Three of the four billion numbers have other meanings: tasks with these numbers
/// count as threads outside of tasks, or as unknown.
fn number_of(id: Id) -> u32 {
    match id.as_number() as u32 {
        0 => shared::OUTSIDE,
        number => number,
    }
}

#[inline]
fn current_task() -> u32 {
    id::try_id().map_or(shared::OUTSIDE, number_of)
}
