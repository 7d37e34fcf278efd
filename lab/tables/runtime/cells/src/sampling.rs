//! The timing of a test: warm-up, then slices of batches.
//!
//! Invariant: a batch takes about a millisecond or one turn, so reading the clock after it costs next to nothing. A
//! slice has at least one batch.

use std::time::{Duration, Instant};

use lab::{Lab, Samples};
use rustix::time::{ClockId, clock_gettime};

#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Microseconds,
    Nanoseconds,
}

const WARM_UP: Duration = Duration::from_millis(50);
const BATCH: Duration = Duration::from_millis(1);

/// Times `turns`, which performs the given number of turns. The sample `time` is the time of one turn in `unit`;
/// `processor` is the processor time of one turn in microseconds.
pub(crate) fn sample(lab: &Lab, unit: Unit, turns: impl FnMut(u64)) -> Samples {
    sample_beside(lab, unit, |_| {}, turns)
}

/// Like [`sample`], beside other work that `switch` turns on for a slice and off after it.
pub(crate) fn sample_beside(
    lab: &Lab,
    unit: Unit,
    switch: impl Fn(bool),
    mut turns: impl FnMut(u64),
) -> Samples {
    switch(true);
    let batch = batch_after_warming_up(&mut turns);
    switch(false);
    lab.serve(|duration| {
        switch(true);
        let processor_before = processor_time();
        let started_at = Instant::now();
        let mut done = 0;
        while done == 0 || started_at.elapsed() < duration {
            turns(batch);
            done += batch;
        }
        let time = started_at.elapsed();
        let processor = processor_time() - processor_before;
        switch(false);
        Samples::from([
            ("time", unit.of(time) / done as f64),
            ("processor", Unit::Microseconds.of(processor) / done as f64),
        ])
    })
}

/// Samples the latencies that `measure` returns, one per call, as [`spread`] does.
pub(crate) fn sample_latencies(lab: &Lab, mut measure: impl FnMut() -> f64) -> Samples {
    let mut during = |duration| {
        let since = Instant::now();
        let mut latencies = Vec::new();
        while latencies.is_empty() || since.elapsed() < duration {
            latencies.push(measure());
        }
        spread(&mut latencies)
    };
    during(WARM_UP);
    lab.serve(during)
}

/// Returns the `median` of these values, and `p99`, which one in a hundred exceeds.
pub(crate) fn spread(values: &mut [f64]) -> Samples {
    Samples::from([
        ("median", quantile(values, 0.5)),
        ("p99", quantile(values, 0.99)),
    ])
}

/// Returns the number of turns of a batch, by the fastest call, because other programs may have delayed the others.
fn batch_after_warming_up(turns: &mut impl FnMut(u64)) -> u64 {
    let since = Instant::now();
    let mut batch = 1;
    let mut fastest = f64::INFINITY;
    while since.elapsed() < WARM_UP {
        let started_at = Instant::now();
        turns(batch);
        let took = started_at.elapsed();
        fastest = fastest.min(took.as_secs_f64() / batch as f64);
        if took < BATCH {
            batch *= 2;
        }
    }
    ((BATCH.as_secs_f64() / fastest) as u64).max(1)
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

/// Returns the value below which this share of the values lies.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;

    use super::*;

    #[test]
    fn a_turn_that_takes_longer_than_the_warm_up_is_done_once() {
        let turns = Cell::new(0);
        let batch = batch_after_warming_up(&mut |count| {
            turns.set(turns.get() + count);
            thread::sleep(WARM_UP);
        });
        assert_eq!((turns.get(), batch), (1, 1));
    }

    #[test]
    fn short_turns_are_timed_in_batches() {
        let turns = Cell::new(0_u64);
        let batch = batch_after_warming_up(&mut |count| {
            for _ in 0..count {
                turns.set(std::hint::black_box(turns.get() + 1));
            }
        });
        assert!(batch > 1_000);
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let mut values = vec![5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(quantile(&mut values, 0.0), 1.0);
        assert_eq!(quantile(&mut values, 0.5), 3.0);
        assert_eq!(quantile(&mut values, 0.99), 5.0);
        assert_eq!(quantile(&mut [7.0], 0.5), 7.0);
    }
}
