//! Buckets whose width grows with their values: there is the same number between any two adjacent powers of two.
//!
//! The formula is that of Tokio and of the H2 histogram, so that dashboards show the same buckets. With a precision of
//! `p`, values below `2^(p+1)` have a bucket each, and from then on each power of two has `2^p` buckets.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::nanoseconds;

const DEFAULT_MIN: Duration = Duration::from_nanos(100);
const DEFAULT_MAX: Duration = Duration::from_secs(60);
const DEFAULT_PRECISION: u32 = 2;
const MAX_PRECISION: u32 = 10;

/// Buckets that grow with their values, so that each value has about the same relative error. By default from 100 ns to
/// 60 s with an error of at most 25 %.
///
/// ```
/// use pointsman::runtime::LogHistogram;
/// use std::time::Duration;
///
/// let buckets = LogHistogram::builder()
///     .min_value(Duration::from_micros(10))
///     .max_value(Duration::from_secs(1))
///     .max_error(0.1)
///     .build();
/// // In nanoseconds.
/// assert!(buckets.max_value() >= 1_000_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHistogram {
    count: usize,
    precision: u32,
    /// The number of buckets for values that are too small to be distinguished.
    first: usize,
}

impl Default for LogHistogram {
    fn default() -> Self {
        LogHistogramBuilder::default().build()
    }
}

impl From<LogHistogramBuilder> for LogHistogram {
    fn from(builder: LogHistogramBuilder) -> Self {
        builder.build()
    }
}

impl LogHistogram {
    /// Returns a builder with the default values.
    ///
    /// ```
    /// # use pointsman::runtime::LogHistogram;
    /// assert_eq!(LogHistogram::builder().build(), LogHistogram::default());
    /// ```
    pub fn builder() -> LogHistogramBuilder {
        LogHistogramBuilder::default()
    }

    /// Returns the value in nanoseconds from which on all values are counted in the last bucket.
    ///
    /// ```
    /// # use pointsman::runtime::LogHistogram;
    /// # use std::time::Duration;
    /// let buckets = LogHistogram::builder().max_value(Duration::from_secs(1)).build();
    /// assert!(Duration::from_nanos(buckets.max_value()) >= Duration::from_secs(1));
    /// ```
    pub fn max_value(&self) -> u64 {
        self.begin(self.count - 1)
    }

    pub(super) fn count(self) -> usize {
        self.count
    }

    pub(super) fn index(self, value: u64) -> u64 {
        index(value, self.precision).saturating_sub(self.first as u64)
    }

    /// The smallest value of a bucket.
    pub(super) fn begin(self, bucket: usize) -> u64 {
        let precision = self.precision;
        let at = match bucket {
            0 => return 0,
            _ => (bucket + self.first) as u64,
        };
        match (at >> precision).checked_sub(1) {
            None => at,
            Some(doublings) => {
                let offset = at & ((1 << precision) - 1);
                (1_u64 << doublings << precision) + (offset << doublings)
            }
        }
    }
}

/// The bucket of a value, if there is one for each value from 0 on.
fn index(value: u64, precision: u32) -> u64 {
    match value.checked_ilog2() {
        Some(power) if power > precision => {
            let doublings = power - precision;
            (u64::from(doublings + 1) << precision) + ((value - (1 << power)) >> doublings)
        }
        _ => value,
    }
}

/// Builds a [`LogHistogram`].
///
/// ```
/// use pointsman::runtime::{HistogramConfiguration, LogHistogram};
///
/// HistogramConfiguration::log(LogHistogram::builder().precision_exact(3));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LogHistogramBuilder {
    max: Option<Duration>,
    min: Option<Duration>,
    precision: Option<u32>,
}

impl LogHistogramBuilder {
    /// Sets the largest relative error of a value. Default: 25 %. The smallest that is possible is 0.1 %.
    ///
    /// # Panics
    /// If `max_error` is not above 0 and below 1.
    ///
    /// ```
    /// # use pointsman::runtime::LogHistogram;
    /// let (fine, coarse) = (0.05, 0.25);
    /// let buckets = |error| LogHistogram::builder().max_error(error).max_buckets(300);
    /// assert!(buckets(coarse).is_ok() && buckets(fine).is_err());
    /// ```
    #[track_caller]
    pub fn max_error(mut self, max_error: f64) -> Self {
        assert!(max_error > 0.0, "max_error must be greater than 0");
        assert!(max_error < 1.0, "max_error must be less than 1");
        let needed = (-max_error.log2()).ceil() as u32;
        self.precision = Some(needed.clamp(2, MAX_PRECISION));
        self
    }

    /// Sets the number of buckets between two powers of two, as a power of two. Default: 2, which is 4 buckets.
    ///
    /// # Panics
    /// If `p` is above 10.
    ///
    /// ```
    /// # use pointsman::runtime::LogHistogram;
    /// LogHistogram::builder().precision_exact(0).build();
    /// ```
    #[track_caller]
    pub fn precision_exact(mut self, p: u32) -> Self {
        assert!(p <= MAX_PRECISION, "precision must be <= {MAX_PRECISION}");
        self.precision = Some(p);
        self
    }

    /// Sets a value below which values need not be distinguished. Default: 100 ns.
    ///
    /// ```
    /// # use pointsman::runtime::LogHistogram;
    /// # use std::time::Duration;
    /// LogHistogram::builder().min_value(Duration::from_micros(1)).build();
    /// ```
    pub fn min_value(mut self, duration: Duration) -> Self {
        self.min = Some(duration);
        self
    }

    /// Sets a value from which on values need not be distinguished. Default: 60 s.
    ///
    /// # Panics
    /// If the duration is 0.
    ///
    /// ```
    /// # use pointsman::runtime::LogHistogram;
    /// # use std::time::Duration;
    /// LogHistogram::builder().max_value(Duration::from_secs(5)).build();
    /// ```
    #[track_caller]
    pub fn max_value(mut self, duration: Duration) -> Self {
        assert!(!duration.is_zero(), "max value must be greater than 0");
        self.max = Some(duration);
        self
    }

    /// Builds the buckets, unless there are more than `max_buckets`.
    ///
    /// # Errors
    /// If there are more.
    ///
    /// ```
    /// # use pointsman::runtime::{InvalidHistogramConfiguration, LogHistogram};
    /// let error = LogHistogram::builder().max_buckets(10).unwrap_err();
    /// let InvalidHistogramConfiguration::TooManyBuckets { required_bucket_count } = error;
    /// assert!(required_bucket_count > 10);
    /// ```
    pub fn max_buckets(
        &mut self,
        max_buckets: usize,
    ) -> Result<LogHistogram, InvalidHistogramConfiguration> {
        let built = self.build();
        match built.count > max_buckets {
            true => Err(InvalidHistogramConfiguration::TooManyBuckets {
                required_bucket_count: built.count,
            }),
            false => Ok(built),
        }
    }

    /// Builds the buckets.
    ///
    /// ```
    /// # use pointsman::runtime::LogHistogram;
    /// LogHistogram::builder().build();
    /// ```
    pub fn build(&self) -> LogHistogram {
        let precision = self.precision.unwrap_or(DEFAULT_PRECISION);
        let min = nanoseconds(self.min.unwrap_or(DEFAULT_MIN));
        let max = nanoseconds(self.max.unwrap_or(DEFAULT_MAX)).min(1 << 63);
        let first = index(min, precision).max(1) - 1;
        // Up to the bucket that ends at `max` or above, and one for all larger values.
        let end = index(max - 1, precision);
        LogHistogram {
            count: (end.saturating_sub(first) + 2) as usize,
            precision,
            first: first as usize,
        }
    }
}

/// The error of [`LogHistogramBuilder::max_buckets`].
///
/// ```
/// # use pointsman::runtime::LogHistogram;
/// let error = LogHistogram::builder().max_buckets(1).unwrap_err();
/// assert!(error.to_string().contains("would have required"));
/// ```
#[derive(Debug)]
pub enum InvalidHistogramConfiguration {
    /// There are more buckets than allowed.
    TooManyBuckets {
        /// The number of buckets that the configuration needs.
        required_bucket_count: usize,
    },
}

impl fmt::Display for InvalidHistogramConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TooManyBuckets {
            required_bucket_count,
        } = self;
        write!(
            f,
            "The configuration for this histogram would have required {required_bucket_count} buckets"
        )
    }
}

impl Error for InvalidHistogramConfiguration {}
