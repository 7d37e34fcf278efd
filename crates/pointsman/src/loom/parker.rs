//! What a thread sleeps by.
//!
//! `std`'s own `park` has one token for each thread: to sleep by it would take wake-ups that the program has
//! given the thread for purposes of its own.
//!
//! Invariant: after an unpark the next park returns, and what was done before is seen then.
//!
//! Cost: an exchange to wake a thread that is awake. To wake one that sleeps takes 30 ns more than with `std`,
//! of the 2 µs and more that it takes in all.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex};
use std::task::Waker;
use std::time::Duration;

use super::lock;

const AWAKE: u8 = 0;
/// It sleeps, or has the lock to do so.
const ASLEEP: u8 = 1;
/// It was woken, and has not seen it yet.
const WOKEN: u8 = 2;
/// It sleeps in a reactor, or is about to: that is told.
const IN_REACTOR: u8 = 3;

/// See the module. Only its own thread may park.
pub(crate) struct Parker {
    state: AtomicU8,
    falls_asleep: Mutex<()>,
    wakes: Condvar,
    /// What ends the sleep in the reactor. Set before the state says that it sleeps there.
    reactor: Mutex<Option<Waker>>,
}

impl Parker {
    pub(crate) fn current() -> Self {
        Self {
            state: AtomicU8::new(AWAKE),
            falls_asleep: Mutex::new(()),
            wakes: Condvar::new(),
            reactor: Mutex::new(None),
        }
    }

    /// Returns after an unpark, also one from before, after this time, or for no reason.
    pub(crate) fn park(&self, timeout: Option<Duration>) {
        if self.take_woken() {
            return;
        }
        let guard = lock(&self.falls_asleep);
        let is_woken = self
            .state
            // ORDERING: none here; see `take_woken`.
            .compare_exchange(AWAKE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed)
            .is_err();
        if !is_woken {
            // Whoever wakes this thread waits for the lock, and so for what is done here.
            let _ = match timeout {
                None => self.wakes.wait(guard).map(drop).is_ok(),
                Some(timeout) => self.wakes.wait_timeout(guard, timeout).map(drop).is_ok(),
            };
        }
        self.take_woken();
    }

    /// As [`park`](Self::park), by `wait`, which returns after `reactor` was woken, also before.
    #[cfg(feature = "reactor")]
    pub(crate) fn park_in(&self, reactor: &Waker, wait: impl FnOnce()) {
        if self.take_woken() {
            return;
        }
        lock(&self.reactor)
            .get_or_insert_with(|| reactor.clone())
            .clone_from(reactor);
        let falls_asleep = self
            .state
            // ORDERING: Release shows the reactor to who unparks.
            .compare_exchange(AWAKE, IN_REACTOR, Ordering::Release, Ordering::Relaxed);
        if falls_asleep.is_ok() {
            wait();
        }
        self.take_woken();
    }

    /// Lets go of the reactor that it has slept in last, which may have ended. This thread is awake.
    #[cfg(feature = "reactor")]
    pub(crate) fn forget_reactor(&self) {
        *lock(&self.reactor) = None;
    }

    pub(crate) fn is_in_reactor(&self) -> bool {
        self.state.load(Ordering::Relaxed) == IN_REACTOR
    }

    /// Whether there was an unpark. This thread is awake.
    fn take_woken(&self) -> bool {
        // ORDERING: Acquire pairs with the release in `unpark`, also in one that came after the first.
        self.state.swap(AWAKE, Ordering::Acquire) == WOKEN
    }

    pub(crate) fn unpark(&self) {
        // ORDERING: Release pairs with the acquire in `take_woken`.
        // Acquire pairs with that of `park_in`.
        match self.state.swap(WOKEN, Ordering::AcqRel) {
            ASLEEP => {
                // It has said so, and waits when the lock is free.
                drop(lock(&self.falls_asleep));
                self.wakes.notify_one();
            }
            IN_REACTOR => {
                if let Some(reactor) = &*lock(&self.reactor) {
                    reactor.wake_by_ref();
                }
            }
            _ => (),
        }
    }
}
