//! The distribution of poll times; see
//! [`Builder::enable_metrics_poll_time_histogram`](super::Builder::enable_metrics_poll_time_histogram).

mod log;

use std::ops::Range;
use std::time::Duration;

pub use log::{InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder};

use super::counter::Counter;

/// How the buckets of a histogram grow. [`HistogramConfiguration`] has more choices.
///
/// ```
/// # #![allow(deprecated)]
/// use pointsman::runtime::{Builder, HistogramScale};
///
/// let runtime = Builder::new_current_thread()
///     .enable_metrics_poll_time_histogram()
///     .metrics_poll_count_histogram_scale(HistogramScale::Log)
///     .build()?;
/// assert!(runtime.metrics().poll_time_histogram_enabled());
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistogramScale {
    /// All buckets have the same width.
    Linear,
    /// Each bucket is twice as wide as the previous one.
    Log,
}

/// The buckets of a histogram.
///
/// ```
/// use pointsman::runtime::{Builder, HistogramConfiguration};
/// use std::time::Duration;
///
/// let runtime = Builder::new_current_thread()
///     .enable_metrics_poll_time_histogram()
///     .metrics_poll_time_histogram_configuration(HistogramConfiguration::linear(
///         Duration::from_micros(10),
///         5,
///     ))
///     .build()?;
/// let metrics = runtime.metrics();
/// assert_eq!(metrics.poll_time_histogram_num_buckets(), 5);
/// let second = Duration::from_micros(10)..Duration::from_micros(20);
/// assert_eq!(metrics.poll_time_histogram_bucket_range(1), second);
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HistogramConfiguration {
    pub(super) buckets: Buckets,
}

impl HistogramConfiguration {
    /// Returns `num_buckets` buckets of the same width. The last one also counts all larger values.
    ///
    /// # Panics
    /// If the width is less than a nanosecond or the number is 0.
    ///
    /// ```
    /// # use pointsman::runtime::HistogramConfiguration;
    /// # use std::time::Duration;
    /// HistogramConfiguration::linear(Duration::from_micros(100), 10);
    /// ```
    #[track_caller]
    pub fn linear(bucket_width: Duration, num_buckets: usize) -> Self {
        let width = nanoseconds(bucket_width);
        assert!(width > 0, "bucket_width must be at least a nanosecond");
        assert!(num_buckets > 0, "num_buckets must be greater than 0");
        Self {
            buckets: Buckets::Linear {
                count: num_buckets,
                width,
            },
        }
    }

    /// Returns buckets that grow with their values, so that each value has about the same relative error.
    ///
    /// ```
    /// # use pointsman::runtime::{HistogramConfiguration, LogHistogram};
    /// HistogramConfiguration::log(LogHistogram::builder().max_error(0.25));
    /// ```
    pub fn log(configuration: impl Into<LogHistogram>) -> Self {
        Self {
            buckets: Buckets::Log(configuration.into()),
        }
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Buckets {
    Linear {
        count: usize,
        width: u64,
    },
    /// Each is twice as wide as the previous one, beginning with a power of two.
    Doubling {
        count: usize,
        first_width: u64,
    },
    Log(LogHistogram),
}

impl Default for Buckets {
    fn default() -> Self {
        Self::Linear {
            count: 10,
            width: 100_000,
        }
    }
}

impl Buckets {
    fn count(self) -> usize {
        match self {
            Self::Linear { count, .. } | Self::Doubling { count, .. } => count,
            Self::Log(log) => log.count(),
        }
    }

    fn index(self, value: u64) -> usize {
        let index = match self {
            Self::Linear { width, .. } => value / width,
            Self::Doubling { first_width, .. } => match value / first_width {
                0 => 0,
                multiple => u64::from(multiple.ilog2()) + 1,
            },
            Self::Log(log) => log.index(value),
        };
        usize::try_from(index)
            .unwrap_or(usize::MAX)
            .min(self.count() - 1)
    }

    fn range(self, index: usize) -> Range<u64> {
        let begin = |index: usize| match self {
            Self::Linear { width, .. } => width.saturating_mul(index as u64),
            Self::Doubling { first_width, .. } => match index {
                0 => 0,
                _ => first_width
                    .checked_shl(index as u32 - 1)
                    .unwrap_or(u64::MAX),
            },
            Self::Log(log) => log.begin(index),
        };
        let is_last = index + 1 == self.count();
        begin(index)..if is_last { u64::MAX } else { begin(index + 1) }
    }
}

/// The options set by Tokio's two generations of methods.
#[derive(Clone, Default)]
pub(super) struct HistogramOptions {
    pub(super) is_enabled: bool,
    pub(super) buckets: Buckets,
    pub(super) legacy: Option<LegacyOptions>,
}

#[derive(Clone, Copy)]
pub(super) struct LegacyOptions {
    pub(super) scale: HistogramScale,
    pub(super) resolution: Duration,
    pub(super) count: usize,
}

impl Default for LegacyOptions {
    fn default() -> Self {
        Self {
            scale: HistogramScale::Linear,
            resolution: Duration::from_micros(100),
            count: 10,
        }
    }
}

impl HistogramOptions {
    pub(super) fn build(&self) -> Option<Histogram> {
        if !self.is_enabled {
            return None;
        }
        let buckets = match self.legacy {
            None => self.buckets,
            Some(LegacyOptions {
                scale,
                resolution,
                count,
            }) => {
                let width = nanoseconds(resolution);
                match scale {
                    HistogramScale::Linear => Buckets::Linear { count, width },
                    HistogramScale::Log => Buckets::Doubling {
                        count,
                        first_width: width.checked_next_power_of_two().unwrap_or(1 << 63),
                    },
                }
            }
        };
        Some(Histogram {
            buckets,
            counts: (0..buckets.count()).map(|_| Counter::default()).collect(),
        })
    }
}

/// The histogram of one worker, which alone adds to it.
pub(super) struct Histogram {
    buckets: Buckets,
    counts: Box<[Counter]>,
}

impl Histogram {
    pub(super) fn add(&self, value: Duration) {
        self.counts[self.buckets.index(nanoseconds(value))].add(1);
    }

    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn range(&self, bucket: usize) -> Range<Duration> {
        let range = self.buckets.range(bucket);
        Duration::from_nanos(range.start)..Duration::from_nanos(range.end)
    }

    pub(super) fn count(&self, bucket: usize) -> Option<u64> {
        self.counts.get(bucket).map(Counter::get)
    }
}
