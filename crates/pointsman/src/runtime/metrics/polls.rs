//! Metrics of the number and the duration of polls.

use std::ops::Range;
use std::time::Duration;

use super::RuntimeMetrics;

impl RuntimeMetrics {
    /// Returns how often the worker with this index has polled a task.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// let task = runtime.spawn(async {
    ///     pointsman::task::yield_now().await;
    /// });
    /// runtime.block_on(task).unwrap();
    /// assert_eq!(runtime.metrics().worker_poll_count(0), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        self.worker(worker).polls() as u64
    }

    /// Returns how long a poll takes on the worker with this index: a moving mean, in which recent polls count more. 0
    /// before the first ones.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// let work = Duration::from_millis(2);
    /// let task = runtime.spawn(async move {
    ///     let start = Instant::now();
    ///     while start.elapsed() < work {}
    /// });
    /// runtime.block_on(task).unwrap();
    /// assert!(runtime.metrics().worker_mean_poll_time(0) >= work);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_mean_poll_time(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.worker(worker).counters.mean_poll.get())
    }

    /// Returns how often the worker with this index has gone to sleep without having polled a task since the last time.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// let metrics = runtime.metrics();
    /// // The worker has no tasks.
    /// while metrics.worker_noop_count(0) == 0 {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_noop_count(&self, worker: usize) -> u64 {
        self.worker(worker).counters.idle_parks.get()
    }

    /// Returns how often a task has yielded because it had spent its budget; see [`coop`](crate::task::coop).
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// runtime.block_on(async {
    ///     for _ in 0..1_000 {
    ///         pointsman::task::consume_budget().await;
    ///     }
    /// });
    /// assert!(runtime.metrics().budget_forced_yield_count() > 0);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.shared.forced_yields.get()
    }

    /// Returns whether the runtime counts polls by how long they take; see
    /// [`enable_metrics_poll_time_histogram`](super::super::Builder::enable_metrics_poll_time_histogram).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert!(!metrics.poll_time_histogram_enabled());
    /// # }
    /// ```
    pub fn poll_time_histogram_enabled(&self) -> bool {
        self.shared.slots[0].poll_times.is_some()
    }

    /// Returns the number of buckets of the histogram; 0 if there is none.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().enable_metrics_poll_time_histogram().build()?;
    /// assert_eq!(runtime.metrics().poll_time_histogram_num_buckets(), 10);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn poll_time_histogram_num_buckets(&self) -> usize {
        let histogram = self.shared.slots[0].poll_times.as_ref();
        histogram.map_or(0, |histogram| histogram.len())
    }

    /// Returns the durations that a bucket of the histogram counts; an empty range if there is no histogram.
    ///
    /// # Panics
    /// If `bucket` is not below [`poll_time_histogram_num_buckets`](Self::poll_time_histogram_num_buckets).
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// # use std::time::Duration;
    /// let runtime = Builder::new_current_thread().enable_metrics_poll_time_histogram().build()?;
    /// let range = runtime.metrics().poll_time_histogram_bucket_range(0);
    /// assert_eq!(range, Duration::ZERO..Duration::from_micros(100));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn poll_time_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        let Some(histogram) = &self.shared.slots[0].poll_times else {
            return Range::default();
        };
        let buckets = histogram.len();
        assert!(
            bucket < buckets,
            "bucket is {bucket}, but there are {buckets} buckets"
        );
        histogram.range(bucket)
    }

    /// Returns how many polls of the worker with this index took as long as the bucket says; 0 if there is no
    /// histogram.
    ///
    /// # Panics
    /// If there is no such worker or bucket.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().enable_metrics_poll_time_histogram().build()?;
    /// runtime.block_on(runtime.spawn(async {})).unwrap();
    /// let metrics = runtime.metrics();
    /// let counts = (0..metrics.poll_time_histogram_num_buckets())
    ///     .map(|bucket| metrics.poll_time_histogram_bucket_count(0, bucket));
    /// assert_eq!(counts.sum::<u64>(), 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn poll_time_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        let Some(histogram) = &self.worker(worker).poll_times else {
            return 0;
        };
        histogram.count(bucket).unwrap_or_else(|| {
            let buckets = histogram.len();
            panic!("bucket is {bucket}, but there are {buckets} buckets")
        })
    }
}

/// Tokio's earlier names, which programs may still use.
#[doc(hidden)]
impl RuntimeMetrics {
    #[deprecated(note = "renamed to `poll_time_histogram_enabled`")]
    pub fn poll_count_histogram_enabled(&self) -> bool {
        self.poll_time_histogram_enabled()
    }

    #[deprecated(note = "renamed to `poll_time_histogram_num_buckets`")]
    pub fn poll_count_histogram_num_buckets(&self) -> usize {
        self.poll_time_histogram_num_buckets()
    }

    #[deprecated(note = "renamed to `poll_time_histogram_bucket_range`")]
    #[track_caller]
    pub fn poll_count_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.poll_time_histogram_bucket_range(bucket)
    }

    #[deprecated(note = "renamed to `poll_time_histogram_bucket_count`")]
    #[track_caller]
    pub fn poll_count_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.poll_time_histogram_bucket_count(worker, bucket)
    }
}
