//! What the wheel holds of a sleep: a node that lives in the pinned sleep itself.
//!
//! Invariant: in the wheel if and only if the state is a tick. Whoever leaves a tick for something else
//! owns the waker from then on, and the one that fires it touches nothing of the timer after that. Links,
//! slot and the waker are written under the driver's lock only; the owner may read the waker without it,
//! as nobody else ever writes one.
//!
//! Cost: a timer that is not in the wheel takes no lock, and one that waits takes none to be polled again
//! with the same waker or to be put off.

use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;

use crate::list::{Links, Node};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::{AtomicU64, Ordering};

/// In no wheel. All smaller values but the next two are the tick at which the timer is to fire.
const IDLE: u64 = u64::MAX;
const FIRED: u64 = u64::MAX - 1;
/// The runtime has shut down before the timer was due.
const CLOSED: u64 = u64::MAX - 2;

/// Where a timer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Idle,
    Waiting,
    Fired,
    Closed,
}

/// A timer's end, for the owner of its waker.
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
    /// Under the driver's lock.
    links: std::cell::UnsafeCell<Links<Timer>>,
    /// Which list of the wheel it is in. Under the driver's lock.
    slot: std::cell::UnsafeCell<u16>,
    /// In whose wheel it is. The owner's alone.
    shard: std::sync::atomic::AtomicU16,
    state: AtomicU64,
    /// Set while the state is a tick.
    waker: UnsafeCell<MaybeUninit<Waker>>,
    _pinned: PhantomPinned,
}

// SAFETY: links and slot are used under the driver's lock, the waker as the head of the file says.
unsafe impl Send for Timer {}
// SAFETY: as above.
unsafe impl Sync for Timer {}

// SAFETY: always the same field, reached without a reference to the whole.
unsafe impl Node for Timer {
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the node is live, and a cell's content is not null.
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
    pub(crate) fn state(&self) -> State {
        // ORDERING: with the release of `end`: the one that fired it has read all that it needed.
        match self.state.load(Ordering::Acquire) {
            IDLE => State::Idle,
            FIRED => State::Fired,
            CLOSED => State::Closed,
            _ => State::Waiting,
        }
    }

    /// Makes a timer that has ended ready to be armed again. For the owner.
    pub(crate) fn rewind(&self) {
        debug_assert_ne!(self.state(), State::Waiting);
        self.state.store(IDLE, Ordering::Relaxed);
    }

    /// Which shard's wheel it is in, if it waits. For the owner.
    pub(super) fn shard(&self) -> usize {
        self.shard.load(Ordering::Relaxed).into()
    }

    /// For the owner of an idle timer.
    pub(super) fn set_shard(&self, shard: usize) {
        self.shard.store(shard as u16, Ordering::Relaxed);
    }

    /// Puts a waiting timer off to a tick that is not earlier. It stays where it is in the wheel, and is
    /// moved when that place comes up. For the owner; false if it is not waiting or would be earlier.
    pub(crate) fn put_off(&self, tick: u64) -> bool {
        let mut before = self.state.load(Ordering::Relaxed);
        // The values that are no ticks are greater than all ticks.
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

    /// Whether a waiting timer would wake the same task. For the owner, who needs no lock for it.
    #[inline]
    pub(crate) fn wakes(&self, waker: &Waker) -> bool {
        // SAFETY: only the owner writes it, and it was written before the timer began to wait. One that
        // fires it meanwhile copies it out and leaves these bytes alone. A waker that is not dropped yet
        // cannot be equal to one that is freed: the one of the same task would keep it.
        self.waker
            .with(|own| unsafe { (*own).assume_init_ref().will_wake(waker) })
    }

    /// Ends a timer that never waits. For the owner.
    pub(super) fn end_at_once(&self, end: End) {
        self.state.store(end.value(), Ordering::Relaxed);
    }

    /// Begins to wait.
    ///
    /// # Safety
    /// The caller is the owner, holds the driver's lock and puts the timer into the wheel. It is idle.
    pub(super) unsafe fn begin(&self, tick: u64, waker: Waker) {
        // SAFETY: nobody else looks at an idle timer.
        self.waker
            .with_mut(|own| unsafe { (*own).write(waker) as *mut Waker });
        self.state.store(tick, Ordering::Relaxed);
    }

    /// Ends the wait at `now`, and gives the waker; the tick if it was put off.
    ///
    /// # Safety
    /// The caller holds the driver's lock and has taken the timer out of the wheel. It does not touch it
    /// again if it has ended.
    pub(super) unsafe fn end_if_due(&self, now: u64) -> Result<Waker, u64> {
        let tick = self.state.load(Ordering::Relaxed);
        if tick > now {
            return Err(tick);
        }
        // The copy comes first: after the exchange the timer may be gone. It counts only if the exchange
        // is done.
        // SAFETY: the timer waits, so it has a waker, and nobody writes it without the lock.
        let waker = self.waker.with(|own| unsafe { own.read() });
        // ORDERING: release: the copy is made before the owner sees the end; with the acquire of `state`.
        match self
            .state
            .compare_exchange(tick, FIRED, Ordering::Release, Ordering::Relaxed)
        {
            // SAFETY: it was a tick, so there is a waker, and now it is ours.
            Ok(_) => Ok(unsafe { waker.assume_init() }),
            Err(later) => Err(later),
        }
    }

    /// Ends the wait whatever its tick is, and gives the waker.
    ///
    /// # Safety
    /// As for [`end_if_due`](Self::end_if_due).
    pub(super) unsafe fn close(&self) -> Waker {
        // SAFETY: the timer waits, so it has a waker, and nobody writes it without the lock.
        let waker = self.waker.with(|own| unsafe { own.read() });
        // ORDERING: release: the copy is made before the owner sees the end; with the acquire of `state`.
        self.state.swap(CLOSED, Ordering::Release);
        // SAFETY: it was a tick, so there is a waker, and now it is ours.
        unsafe { waker.assume_init() }
    }

    /// Ends the wait without firing, and gives the waker back.
    ///
    /// # Safety
    /// The caller is the owner, holds the driver's lock and has taken the timer, which waited, out of the
    /// wheel.
    pub(super) unsafe fn give_up(&self) -> Waker {
        self.state.store(IDLE, Ordering::Relaxed);
        // SAFETY: it waited, so there is a waker, and nobody else can reach it now.
        self.waker.with(|own| unsafe { own.read().assume_init() })
    }

    /// Changes the waker of a waiting timer, and gives the one before.
    ///
    /// # Safety
    /// The caller is the owner and holds the driver's lock; the timer waits.
    pub(super) unsafe fn replace_waker(&self, waker: Waker) -> Waker {
        // SAFETY: those who only hold the lock read it under the lock.
        self.waker
            .with_mut(|own| unsafe { std::mem::replace((*own).assume_init_mut(), waker) })
    }

    /// # Safety
    /// The timer is live, and the caller holds the driver's lock.
    pub(super) unsafe fn slot(timer: NonNull<Self>) -> u16 {
        // SAFETY: it is under the lock.
        unsafe { *timer.as_ref().slot.get() }
    }

    /// # Safety
    /// As for [`slot`](Self::slot).
    pub(super) unsafe fn set_slot(timer: NonNull<Self>, slot: u16) {
        // SAFETY: it is under the lock.
        unsafe { *timer.as_ref().slot.get() = slot };
    }

    /// Stands for the end of the timer's memory, which nobody may read meanwhile.
    #[cfg(all(test, loom))]
    pub(super) fn wipe(&self) {
        // SAFETY: that nobody reads it is what the model checks.
        self.waker
            .with_mut(|own| unsafe { *own = MaybeUninit::uninit() });
    }

    /// When it is to fire.
    ///
    /// # Safety
    /// The timer is live and in the wheel, and the caller holds the driver's lock.
    pub(super) unsafe fn tick(timer: NonNull<Self>) -> u64 {
        // SAFETY: it is live.
        unsafe { timer.as_ref() }.state.load(Ordering::Relaxed)
    }
}
