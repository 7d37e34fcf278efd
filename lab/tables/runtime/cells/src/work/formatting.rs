//! The work of a receiver on each value: it writes ten random numbers into a growing string.

use std::fmt::Write;

/// Pseudo-random numbers, the same in every run.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn seeded(seed: usize) -> Self {
        Self(0x9E37_79B9_7F4A_7C15 ^ (seed as u64 + 1))
    }

    /// Between 0 and 1.
    pub(super) fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Returns the sum of the bytes, so that no work can be optimised away.
pub(super) fn work(numbers: &mut Numbers) -> u32 {
    let mut text = String::new();
    for position in 0..10 {
        write!(text, "{position}: {}; ", numbers.next()).expect("a string takes everything");
    }
    text.bytes().map(u32::from).sum()
}
