//! Event counters for [`RuntimeMetrics`](super::RuntimeMetrics).

use crate::loom::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A count that other threads may read at any time.
#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// Adds without an atomic exchange; only one thread at a time may call this.
    #[inline]
    pub(super) fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed) + count, Relaxed);
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    pub(super) fn add_shared(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
