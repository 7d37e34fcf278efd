//! Waiting for a sender that was interrupted between taking its place and filling it. It does not know that
//! anybody waits for it, so there is nothing to sleep on: the receiver looks again, less and less often.

#[cfg(not(all(test, loom)))]
use std::time::Duration;

use crate::loom::thread;

/// How often the thread yields before it sleeps. An interrupted sender has its turn by then, unless there
/// are more threads that compute than cores.
#[cfg(not(all(test, loom)))]
const YIELDS: u32 = 8;

/// The longest sleep, as a power of two, in microseconds.
#[cfg(not(all(test, loom)))]
const LONGEST: u32 = 10;

pub(super) struct Backoff(u32);

impl Backoff {
    pub(super) fn new() -> Self {
        Self(0)
    }

    /// What was waited for has come.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.0 = 0;
    }

    /// Lets other threads run, at first by yielding, then by sleeping for 16 microseconds to 1 millisecond.
    #[cfg(not(all(test, loom)))]
    #[cold]
    pub(super) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        if self.0 <= YIELDS {
            thread::yield_now();
        } else {
            let power = (self.0 - YIELDS + 3).min(LONGEST);
            thread::sleep(Duration::from_micros(1 << power));
        }
    }

    #[cfg(all(test, loom))]
    pub(super) fn wait(&mut self) {
        thread::yield_now();
    }
}
