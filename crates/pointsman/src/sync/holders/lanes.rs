//! The lane of entries in which a thread records holders.
//!
//! Invariant: each lane except [`SHARED`] belongs to at most one thread at a time, so its owner takes a free entry without a
//! compare-and-exchange. Other threads may empty entries.

use std::cell::Cell;

use crate::loom::sync::atomic::Ordering::{Acquire, Relaxed};
use crate::loom::sync::atomic::{AtomicU32, AtomicUsize};

pub(super) const LANES: usize = if cfg!(all(test, loom)) { 2 } else { 16 };
/// The lane of all threads that have none of their own.
pub(super) const SHARED: usize = 0;
const UNSET: usize = usize::MAX;

struct Lanes {
    /// A bit for each lane that no thread owns.
    free: AtomicU32,
    /// The number of lanes that may have entries.
    used: AtomicUsize,
}

impl Lanes {
    const_unless_loom! {
        const fn new() -> Self {
            Self {
                free: AtomicU32::new((1 << LANES) - 1 - (1 << SHARED)),
                used: AtomicUsize::new(1),
            }
        }
    }
}

#[cfg(not(all(test, loom)))]
static ALL: Lanes = Lanes::new();

#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref ALL: Lanes = Lanes::new();
}

struct Own(Cell<usize>);

#[cfg(not(all(test, loom)))]
std::thread_local! {
    static OWN: Own = const { Own(Cell::new(UNSET)) };
}

#[cfg(all(test, loom))]
loom::thread_local! {
    static OWN: Own = Own(Cell::new(UNSET));
}

// Loom's static items may be gone when its threads end.
#[cfg(not(all(test, loom)))]
impl Drop for Own {
    fn drop(&mut self) {
        let lane = self.0.get();
        if lane != UNSET && lane != SHARED {
            // ORDERING: Release pairs with the Acquire of `allot`: the next owner sees which entries are in use.
            let release = crate::loom::sync::atomic::Ordering::Release;
            ALL.free.fetch_or(1 << lane, release);
        }
    }
}

/// The lane of this thread.
#[inline]
pub(super) fn own() -> usize {
    let lane = OWN.try_with(|own| match own.0.get() {
        UNSET => {
            own.0.set(allot());
            own.0.get()
        }
        lane => lane,
    });
    lane.unwrap_or(SHARED)
}

#[cold]
fn allot() -> usize {
    let mut free = ALL.free.load(Relaxed);
    while free != 0 {
        let lane = free.trailing_zeros() as usize;
        // ORDERING: Acquire pairs with the Release of the last owner.
        match ALL
            .free
            .compare_exchange_weak(free, free & (free - 1), Acquire, Relaxed)
        {
            Ok(_) => {
                ALL.used.fetch_max(lane + 1, Relaxed);
                return lane;
            }
            Err(now) => free = now,
        }
    }
    SHARED
}

/// The number of lanes that may have entries, counted from the first.
pub(super) fn used() -> usize {
    ALL.used.load(Relaxed)
}
