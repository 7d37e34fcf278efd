//! Computing for a while: a fixed number of steps, not a fixed time. Otherwise two threads that share a core would seem
//! to do it twice as fast.

use std::hint;
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub(super) struct Computing {
    steps: u64,
}

impl Computing {
    /// Determines the number of steps that fit into this time on an undisturbed core.
    pub(super) fn of(duration: Duration) -> Self {
        const TRIES: usize = 40;
        const STEPS: u64 = 50_000;
        let fastest = (0..TRIES)
            .map(|_| {
                let started_at = Instant::now();
                Self { steps: STEPS }.run();
                started_at.elapsed()
            })
            .min()
            .expect("at least one");
        let steps = duration.as_secs_f64() / fastest.as_secs_f64() * STEPS as f64;
        Self {
            steps: steps as u64,
        }
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            steps: (self.steps as f64 * factor) as u64,
        }
    }

    /// Never inlined, so that the calibrated code is the code that runs.
    #[inline(never)]
    pub(super) fn run(self) {
        let mut number = 1_u64;
        for _ in 0..self.steps {
            number = hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005) + 1);
        }
    }
}
