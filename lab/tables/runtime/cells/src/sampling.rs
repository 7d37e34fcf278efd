//! The timing of a test: warm-up, then batches until the time has elapsed.
//!
//! Invariant: a sample is the time of a whole batch divided by its turns, so reading the clock and the work once per
//! batch cost next to nothing. A test slower than its time still yields the minimum number of samples.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::measurement::{MOST_SAMPLES, Measurement};

pub(crate) struct Budget {
    pub(crate) warm_up: Duration,
    pub(crate) measure: Duration,
}

#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Microseconds,
    Nanoseconds,
}

const FEWEST_SAMPLES: usize = 2;
const AIMED_SAMPLES: u32 = 60;

/// Times `turns`, which performs the given number of turns: `time` for one turn, and `processor`, its processor time.
pub(crate) fn sample(budget: &Budget, unit: Unit, mut turns: impl FnMut(u64)) -> Measurement {
    let batch = batch_after_warming_up(budget, &mut turns);
    let mut samples = Vec::with_capacity(MOST_SAMPLES);
    let processor_before = processor_time();
    let measuring_since = Instant::now();
    while samples.len() < FEWEST_SAMPLES
        || (samples.len() < MOST_SAMPLES && measuring_since.elapsed() < budget.measure)
    {
        let started_at = Instant::now();
        turns(batch);
        samples.push(unit.of(started_at.elapsed()) / batch as f64);
    }
    let processor = unit.of(processor_time() - processor_before);
    let all_turns = samples.len() as f64 * batch as f64;
    Measurement::new()
        .with("time", samples)
        .with("processor", vec![processor / all_turns])
}

/// Returns the number of turns that take as long as a sample should.
fn batch_after_warming_up(budget: &Budget, turns: &mut impl FnMut(u64)) -> u64 {
    let aimed = budget.measure / AIMED_SAMPLES;
    let since = Instant::now();
    let mut batch = 1;
    let mut long_calls = 0;
    loop {
        let started_at = Instant::now();
        turns(batch);
        let took = started_at.elapsed();
        let is_long = took >= aimed / 4;
        long_calls = if is_long { long_calls + 1 } else { 0 };
        // A single long call may have been delayed by another process.
        let is_settled = long_calls >= 2 || took >= budget.measure / 2;
        if is_settled && since.elapsed() >= budget.warm_up {
            let fitting = u128::from(batch) * aimed.as_nanos() / took.as_nanos();
            return u64::try_from(fitting).unwrap_or(u64::MAX).max(1);
        }
        if took < aimed {
            batch *= 2;
        }
    }
}

impl Unit {
    fn of(self, duration: Duration) -> f64 {
        match self {
            Self::Microseconds => duration.as_secs_f64() * 1e6,
            Self::Nanoseconds => duration.as_secs_f64() * 1e9,
        }
    }
}

/// Returns the processor time of all threads of this process.
pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;

    use super::*;

    #[test]
    fn a_turn_that_takes_longer_than_the_budget_gives_the_fewest_samples() {
        let budget = Budget {
            warm_up: Duration::ZERO,
            measure: Duration::from_millis(1),
        };
        let turns = Cell::new(0);
        let found = sample(&budget, Unit::Microseconds, |count| {
            turns.set(turns.get() + count);
            thread::sleep(Duration::from_millis(2));
        });
        assert_eq!(turns.get(), 1 + FEWEST_SAMPLES as u64);
        assert_eq!(found.samples("time").len(), FEWEST_SAMPLES);
        assert!(
            found
                .samples("time")
                .iter()
                .all(|&sample| sample >= 2_000.0)
        );
    }

    #[test]
    fn short_turns_are_timed_in_batches() {
        let budget = Budget {
            warm_up: Duration::from_millis(2),
            measure: Duration::from_millis(6),
        };
        let calls = Cell::new(0);
        let turns = Cell::new(0_u64);
        let found = sample(&budget, Unit::Nanoseconds, |count| {
            calls.set(calls.get() + 1);
            for _ in 0..count {
                turns.set(std::hint::black_box(turns.get() + 1));
            }
        });
        assert!(turns.get() > calls.get());
        assert!(found.samples("time").len() <= MOST_SAMPLES);
    }
}
