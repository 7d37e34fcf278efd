//! Parks and unparks a thread.
//!
//! `std::thread::park` has one token per thread, so using it would consume unparks that the program sends for its own
//! purposes.
//!
//! Invariant: after an unpark, the next park returns, and the thread then sees what happened before the unpark.
//!
//! Cost: one exchange to unpark a thread that is awake. Waking a sleeping thread takes 30 ns longer than with `std`, of
//! 2 µs or more in total.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex};
use std::task::Waker;
use std::time::Duration;

use super::lock;

const AWAKE: u8 = 0;
/// The thread sleeps, or holds the lock and is about to.
const ASLEEP: u8 = 1;
/// The thread was unparked and has not noticed yet.
const WOKEN: u8 = 2;
/// The thread sleeps in a reactor or is about to; `reactor` wakes it.
const IN_REACTOR: u8 = 3;

/// Only the thread that created it may park.
pub(crate) struct Parker {
    state: AtomicU8,
    falls_asleep: Mutex<()>,
    wakes: Condvar,
    /// Ends the sleep in the reactor. Set before the state becomes [`IN_REACTOR`].
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

    /// Waits for an unpark, at most for `timeout`. Returns at once after an earlier unpark, and may return spuriously.
    pub(crate) fn park(&self, timeout: Option<Duration>) {
        if self.take_woken() {
            return;
        }
        let guard = lock(&self.falls_asleep);
        let is_woken = self
            .state
            // Relaxed: the lock orders the wait after this, and `take_woken` acquires.
            .compare_exchange(AWAKE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed)
            .is_err();
        if !is_woken {
            // `unpark` takes the lock before it signals, so the wait has begun by then.
            let _ = match timeout {
                None => self.wakes.wait(guard).map(drop).is_ok(),
                Some(timeout) => self.wakes.wait_timeout(guard, timeout).map(drop).is_ok(),
            };
        }
        self.take_woken();
    }

    /// As [`park`](Self::park), by calling `wait`, which returns once `reactor` was woken, even before the call.
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
            // ORDERING: Release pairs with the acquire of `unpark`, which then sees `reactor`.
            .compare_exchange(AWAKE, IN_REACTOR, Ordering::Release, Ordering::Relaxed);
        if falls_asleep.is_ok() {
            wait();
        }
        self.take_woken();
    }

    /// Drops the waker of the last reactor, whose runtime may have ended. Called by the thread itself.
    #[cfg(feature = "reactor")]
    pub(crate) fn forget_reactor(&self) {
        *lock(&self.reactor) = None;
    }

    /// Sets the state to [`AWAKE`] and returns whether there was an unpark.
    fn take_woken(&self) -> bool {
        // ORDERING: Acquire pairs with the release of the last `unpark`.
        self.state.swap(AWAKE, Ordering::Acquire) == WOKEN
    }

    pub(crate) fn unpark(&self) {
        // ORDERING: Release pairs with the acquire of `take_woken`, Acquire with the release of `park_in`.
        match self.state.swap(WOKEN, Ordering::AcqRel) {
            ASLEEP => {
                // The thread holds the lock until it waits.
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
