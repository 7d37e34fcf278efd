//! Waits for a sender that was preempted between reserving a position and filling its slot. The sender does
//! not know that the receiver waits and cannot wake it, so the receiver polls with growing pauses.

#[cfg(not(all(test, loom)))]
use std::time::Duration;

use crate::loom::thread;

/// The number of yields before the first sleep. A preempted sender runs by then, unless more threads compute
/// than there are cores. Bounds the processor time of a receiver on an overloaded machine.
#[cfg(not(all(test, loom)))]
const YIELDS: u32 = 8;

/// The longest sleep in microseconds, as a power of two: 1 ms bounds the delay of a message whose sender was
/// preempted.
#[cfg(not(all(test, loom)))]
const MAX_SLEEP: u32 = 10;

pub(super) struct Backoff(u32);

impl Backoff {
    pub(super) fn new() -> Self {
        Self(0)
    }

    /// Restarts the sequence after a success.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.0 = 0;
    }

    /// Pauses the thread: yields at first, then sleeps for 16 µs to 1 ms.
    #[cfg(not(all(test, loom)))]
    #[cold]
    pub(super) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        if self.0 <= YIELDS {
            thread::yield_now();
        } else {
            let power = (self.0 - YIELDS + 3).min(MAX_SLEEP);
            thread::sleep(Duration::from_micros(1 << power));
        }
    }

    #[cfg(all(test, loom))]
    pub(super) fn wait(&mut self) {
        thread::yield_now();
    }
}
