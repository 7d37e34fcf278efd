//! The latencies of requests, each recorded when it was answered.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// In microseconds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p99: f64,
}

pub struct Latencies(Histogram<u64>);

const SIGNIFICANT_DIGITS: u8 = 3;
/// A minute, in nanoseconds; longer times count as that.
const LONGEST: u64 = 60_000_000_000;

impl Default for Latencies {
    fn default() -> Self {
        Self(
            Histogram::new_with_max(LONGEST, SIGNIFICANT_DIGITS)
                .expect("what a histogram can have"),
        )
    }
}

impl Latencies {
    pub fn record(&mut self, took: Duration) {
        self.0.saturating_record(took.as_nanos() as u64);
    }

    pub fn add(&mut self, other: &Self) {
        self.0
            .add(&other.0)
            .expect("a histogram of the same bounds");
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    pub fn percentiles(&self) -> Percentiles {
        let microseconds = |share| self.0.value_at_quantile(share) as f64 / 1e3;
        Percentiles {
            p50: microseconds(0.5),
            p99: microseconds(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_in_a_hundred_exceeds_is_seen_by_the_last_percentile_alone() {
        let mut latencies = Latencies::default();
        for _ in 0..985 {
            latencies.record(Duration::from_micros(20));
        }
        for _ in 0..15 {
            latencies.record(Duration::from_millis(10));
        }
        let Percentiles { p50, p99 } = latencies.percentiles();
        assert_eq!(p50.round(), 20.0);
        assert!(p99 > 9_900.0);
    }
}
