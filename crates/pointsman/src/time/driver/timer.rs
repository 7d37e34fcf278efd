//! The node of a sleep in the wheel, stored in the pinned sleep itself.
//!
//! Invariant: a timer is in the wheel if and only if its state is a tick. The thread that changes a tick to another
//! state owns the waker from then on; the thread that fires the timer does not touch the timer afterwards. Links, slot
//! and waker are written only under the lock of the timer's shard. The owner may read the waker without the lock, as no
//! other thread writes it.
//!
//! Cost: a timer that is not in the wheel takes no lock. A waiting timer takes none to be polled again with the same
//! waker or to be postponed.

use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;

use crate::list::{Links, Node};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::{AtomicU64, Ordering};

/// Not in a wheel. Values below these three are the tick at which the timer is to fire.
const IDLE: u64 = u64::MAX;
const FIRED: u64 = u64::MAX - 1;
/// The runtime has shut down before the timer was due.
const CLOSED: u64 = u64::MAX - 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerState {
    Idle,
    Waiting,
    Fired,
    Closed,
}

/// How a timer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Fired,
    Closed,
}

impl End {
    fn value(self) -> u64 {
        match self {
            Self::Fired => FIRED,
            Self::Closed => CLOSED,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Timer {
    /// Accessed under the shard's lock.
    links: std::cell::UnsafeCell<Links<Timer>>,
    /// The wheel's list that the timer is in. Accessed under the shard's lock.
    slot: std::cell::UnsafeCell<u16>,
    /// The shard whose wheel the timer is in. Accessed by the owner only.
    shard: std::sync::atomic::AtomicU16,
    state: AtomicU64,
    /// Initialized while the state is a tick.
    waker: UnsafeCell<MaybeUninit<Waker>>,
    _pinned: PhantomPinned,
}

// SAFETY: links and slot are accessed only under the shard's lock, which the driver takes. The waker, itself Send and
// Sync, is written under it too, and read without it only by the owner.
unsafe impl Send for Timer {}
// SAFETY: links and slot are accessed only under the shard's lock, which the driver takes; shared access without it
// reads atomics only, but for the owner's `wakes`, which no write can overlap: only the owner writes the waker.
unsafe impl Sync for Timer {}

// SAFETY: `links` returns the same field for each node, and creates no reference to the whole timer.
unsafe impl Node for Timer {
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the caller guarantees that the node is live, so the field's address is valid and not null.
        unsafe {
            let cell = &raw const (*node.as_ptr()).links;
            NonNull::new_unchecked(std::cell::UnsafeCell::raw_get(cell))
        }
    }
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self {
            links: std::cell::UnsafeCell::new(Links::new()),
            slot: std::cell::UnsafeCell::new(0),
            shard: std::sync::atomic::AtomicU16::new(0),
            state: AtomicU64::new(IDLE),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
            _pinned: PhantomPinned,
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> TimerState {
        // ORDERING: pairs with the releases of `end_if_due` and `close`: the thread that ended the timer has copied the
        // waker before the owner sees the end and reuses the memory.
        match self.state.load(Ordering::Acquire) {
            IDLE => TimerState::Idle,
            FIRED => TimerState::Fired,
            CLOSED => TimerState::Closed,
            _ => TimerState::Waiting,
        }
    }

    /// Makes a timer that has ended idle again. Called by the owner.
    pub(crate) fn rewind(&self) {
        debug_assert_ne!(self.state(), TimerState::Waiting);
        self.state.store(IDLE, Ordering::Relaxed);
    }

    /// The shard that the timer was last registered in. Called by the owner.
    pub(super) fn shard(&self) -> usize {
        self.shard.load(Ordering::Relaxed).into()
    }

    /// Called by the owner of an idle timer.
    pub(super) fn set_shard(&self, shard: usize) {
        self.shard.store(shard as u16, Ordering::Relaxed);
    }

    /// Postpones a waiting timer to a tick that is not earlier. The timer stays in its slot, and is moved when the slot
    /// is due. Called by the owner. Returns false if the timer does not wait or the tick is earlier.
    pub(crate) fn postpone(&self, tick: u64) -> bool {
        let mut before = self.state.load(Ordering::Relaxed);
        // The values that are not ticks are greater than all ticks.
        while before <= tick {
            match self.state.compare_exchange_weak(
                before,
                tick,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => before = now,
            }
        }
        false
    }

    /// Whether a waiting timer would wake the same task. Called by the owner, without a lock.
    #[inline]
    pub(crate) fn wakes(&self, waker: &Waker) -> bool {
        // SAFETY: only the owner writes the waker, and it wrote it before the timer began to wait. A thread that fires
        // the timer meanwhile copies the waker out and leaves these bytes unchanged. `will_wake` only compares
        // pointers, so a waker that the firing thread has dropped is not dereferenced.
        self.waker
            .with(|own| unsafe { (*own).assume_init_ref().will_wake(waker) })
    }

    /// Ends an idle timer without registering it. Called by the owner.
    pub(super) fn end_at_once(&self, end: End) {
        self.state.store(end.value(), Ordering::Relaxed);
    }

    /// Sets the tick and the waker of an idle timer.
    ///
    /// # Safety
    /// The caller is the owner, holds the shard's lock and inserts the timer into the wheel. The timer is idle.
    pub(super) unsafe fn begin(&self, tick: u64, waker: Waker) {
        // SAFETY: the timer is idle, so it is in no wheel and only its owner, the caller, accesses the waker.
        self.waker
            .with_mut(|own| unsafe { (*own).write(waker) as *mut Waker });
        self.state.store(tick, Ordering::Relaxed);
    }

    /// Ends the wait if the tick has come by `now`, and returns the waker; otherwise returns the postponed tick.
    ///
    /// # Safety
    /// The caller holds the shard's lock and has removed the timer from the wheel. It does not touch the timer again if
    /// the wait has ended.
    pub(super) unsafe fn end_if_due(&self, now: u64) -> Result<Waker, u64> {
        let tick = self.state.load(Ordering::Relaxed);
        if tick > now {
            return Err(tick);
        }
        // The waker is copied first, as the timer may be freed after the exchange. The copy counts only if the exchange
        // succeeds.
        // SAFETY: the timer waits, so its waker is initialized; wakers are written only under the lock, which the
        // caller holds.
        let waker = self.waker.with(|own| unsafe { own.read() });
        // ORDERING: releases the copy of the waker to the owner, whose acquire load in `state` sees the end.
        match self
            .state
            .compare_exchange(tick, FIRED, Ordering::Release, Ordering::Relaxed)
        {
            // SAFETY: the state was a tick, so the waker is initialized. This exchange ended the wait, which makes the
            // copy the only owner.
            Ok(_) => Ok(unsafe { waker.assume_init() }),
            Err(later) => Err(later),
        }
    }

    /// Ends the wait regardless of its tick, and returns the waker.
    ///
    /// # Safety
    /// That of [`end_if_due`](Self::end_if_due).
    pub(super) unsafe fn close(&self) -> Waker {
        // SAFETY: the timer waits, so its waker is initialized; wakers are written only under the lock, which the
        // caller holds.
        let waker = self.waker.with(|own| unsafe { own.read() });
        // ORDERING: releases the copy of the waker to the owner, whose acquire load in `state` sees the end.
        self.state.swap(CLOSED, Ordering::Release);
        // SAFETY: the state was a tick, so the waker is initialized. The swap ended the wait, which makes the copy the
        // only owner.
        unsafe { waker.assume_init() }
    }

    /// Makes a waiting timer idle, and returns its waker.
    ///
    /// # Safety
    /// The caller is the owner, holds the shard's lock and has removed the waiting timer from the wheel.
    pub(super) unsafe fn cancel(&self) -> Waker {
        self.state.store(IDLE, Ordering::Relaxed);
        // SAFETY: the timer waited, so its waker is initialized. It is in no wheel now, so only the caller reads the
        // waker, once.
        self.waker.with(|own| unsafe { own.read().assume_init() })
    }

    /// Replaces the waker of a waiting timer, and returns the previous one.
    ///
    /// # Safety
    /// The caller is the owner and holds the shard's lock; the timer waits.
    pub(super) unsafe fn replace_waker(&self, waker: Waker) -> Waker {
        // SAFETY: the timer waits, so its waker is initialized. Other threads read it only under the lock, which the
        // caller holds; the owner is the caller.
        self.waker
            .with_mut(|own| unsafe { std::mem::replace((*own).assume_init_mut(), waker) })
    }

    /// # Safety
    /// The timer is live, and the caller holds the shard's lock.
    pub(super) unsafe fn slot(timer: NonNull<Self>) -> u16 {
        // SAFETY: the caller guarantees that the timer is live, and holds the lock that guards the slot.
        unsafe { *timer.as_ref().slot.get() }
    }

    /// # Safety
    /// That of [`slot`](Self::slot).
    pub(super) unsafe fn set_slot(timer: NonNull<Self>, slot: u16) {
        // SAFETY: the caller guarantees that the timer is live, and holds the lock that guards the slot.
        unsafe { *timer.as_ref().slot.get() = slot };
    }

    /// Simulates that the timer's memory is freed.
    #[cfg(all(test, loom))]
    pub(super) fn wipe(&self) {
        // SAFETY: the timer has ended or was cancelled, so only its owner may access the waker; loom reports any other
        // access.
        self.waker
            .with_mut(|own| unsafe { *own = MaybeUninit::uninit() });
    }

    /// The tick at which a waiting timer is to fire.
    ///
    /// # Safety
    /// The timer is live and in the wheel, and the caller holds the shard's lock.
    pub(super) unsafe fn tick(timer: NonNull<Self>) -> u64 {
        // SAFETY: the caller guarantees that the timer is live.
        unsafe { timer.as_ref() }.state.load(Ordering::Relaxed)
    }
}
