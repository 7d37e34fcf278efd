//! Options for the histogram of poll times.

use std::time::Duration;

use super::super::histogram::{HistogramConfiguration, HistogramScale, LegacyOptions};
use super::Builder;

impl Builder {
    /// Counts polls of tasks by how long they take; see
    /// [`poll_time_histogram_bucket_count`](crate::runtime::RuntimeMetrics::poll_time_histogram_bucket_count). Default:
    /// disabled, since it reads the clock before and after each poll. The default buckets are 10 of 100 µs each.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().enable_metrics_poll_time_histogram().build()?;
    /// assert!(runtime.metrics().poll_time_histogram_enabled());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enable_metrics_poll_time_histogram(&mut self) -> &mut Self {
        self.config.poll_times.is_enabled = true;
        self
    }

    /// Sets the buckets of the histogram.
    ///
    /// ```
    /// # use pointsman::runtime::{Builder, HistogramConfiguration, LogHistogram};
    /// # use std::time::Duration;
    /// let buckets = LogHistogram::builder().max_value(Duration::from_secs(1));
    /// let runtime = Builder::new_multi_thread()
    ///     .enable_metrics_poll_time_histogram()
    ///     .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(buckets))
    ///     .build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn metrics_poll_time_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.config.poll_times.legacy = None;
        self.config.poll_times.buckets = configuration.buckets;
        self
    }

    /// Sets whether all buckets have the same width.
    #[deprecated(note = "use `metrics_poll_time_histogram_configuration`")]
    pub fn metrics_poll_count_histogram_scale(&mut self, scale: HistogramScale) -> &mut Self {
        self.legacy().scale = scale;
        self
    }

    /// Sets the width of the first bucket.
    ///
    /// # Panics
    /// If the duration is 0 or above 1 s.
    #[deprecated(note = "use `metrics_poll_time_histogram_configuration`")]
    #[track_caller]
    pub fn metrics_poll_count_histogram_resolution(&mut self, resolution: Duration) -> &mut Self {
        assert!(!resolution.is_zero(), "resolution must be greater than 0");
        assert!(
            resolution <= Duration::from_secs(1),
            "resolution must be at most 1 s"
        );
        self.legacy().resolution = resolution;
        self
    }

    /// Sets the number of buckets.
    ///
    /// # Panics
    /// If the number is 0.
    #[deprecated(note = "use `metrics_poll_time_histogram_configuration`")]
    #[track_caller]
    pub fn metrics_poll_count_histogram_buckets(&mut self, buckets: usize) -> &mut Self {
        assert!(buckets > 0, "buckets must be greater than 0");
        self.legacy().count = buckets;
        self
    }

    #[doc(hidden)]
    #[deprecated(note = "renamed to `enable_metrics_poll_time_histogram`")]
    pub fn enable_metrics_poll_count_histogram(&mut self) -> &mut Self {
        self.enable_metrics_poll_time_histogram()
    }

    fn legacy(&mut self) -> &mut LegacyOptions {
        self.config.poll_times.legacy.get_or_insert_default()
    }
}
