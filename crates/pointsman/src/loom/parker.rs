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
use std::time::Duration;

use super::lock;

const AWAKE: u8 = 0;
/// It sleeps, or has the lock to do so.
const ASLEEP: u8 = 1;
/// It was woken, and has not seen it yet.
const WOKEN: u8 = 2;

/// See the module. Only its own thread may park.
pub(crate) struct Parker {
    state: AtomicU8,
    falls_asleep: Mutex<()>,
    wakes: Condvar,
}

impl Parker {
    pub(crate) fn current() -> Self {
        Self {
            state: AtomicU8::new(AWAKE),
            falls_asleep: Mutex::new(()),
            wakes: Condvar::new(),
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

    /// Whether there was an unpark. This thread is awake.
    fn take_woken(&self) -> bool {
        // ORDERING: Acquire pairs with the release in `unpark`, also in one that came after the first.
        self.state.swap(AWAKE, Ordering::Acquire) == WOKEN
    }

    pub(crate) fn unpark(&self) {
        // ORDERING: Release pairs with the acquire in `take_woken`.
        if self.state.swap(WOKEN, Ordering::Release) == ASLEEP {
            // It has said so, and waits when the lock is free.
            drop(lock(&self.falls_asleep));
            self.wakes.notify_one();
        }
    }
}
