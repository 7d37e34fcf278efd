//! Seeds of the random numbers that a runtime uses.

use std::sync::atomic::{AtomicU64, Ordering};

/// A seed for the random numbers of a runtime; see [`Builder::rng_seed`](super::Builder::rng_seed).
///
/// ```
/// let seed = pointsman::runtime::RngSeed::from_bytes(b"any bytes");
/// ```
#[derive(Clone, Debug)]
pub struct RngSeed(u64);

impl RngSeed {
    /// Generates a seed from bytes: the same seed with every version of Rust and on every platform.
    ///
    /// ```
    /// # use pointsman::runtime::RngSeed;
    /// let number: u64 = 17;
    /// let seed = RngSeed::from_bytes(&number.to_le_bytes());
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // FNV-1a. `DefaultHasher` may change between versions of Rust.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(mix(hash))
    }
}

/// The finalizer of splitmix64: a bijection in which each input bit affects each output bit.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A sequence of seeds that depends only on the first.
#[derive(Debug)]
pub(super) struct Seeds {
    first: u64,
    taken: AtomicU64,
}

impl Seeds {
    pub(super) fn new(seed: &RngSeed) -> Self {
        Self {
            first: seed.0,
            taken: AtomicU64::new(0),
        }
    }

    pub(super) fn next(&self) -> RngSeed {
        self.at(self.taken.fetch_add(1, Ordering::Relaxed))
    }

    /// The seed of a worker thread: it does not depend on the order in which the threads start.
    pub(super) fn of_worker(&self, index: usize) -> RngSeed {
        self.at(!(index as u64))
    }

    fn at(&self, index: u64) -> RngSeed {
        RngSeed(mix(self.first.wrapping_add(mix(index))))
    }
}

impl RngSeed {
    pub(super) fn number(&self) -> u64 {
        self.0
    }
}
