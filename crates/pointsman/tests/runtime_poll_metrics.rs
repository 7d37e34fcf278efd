//! The metrics about polls and about where tasks are queued.

mod common;

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use common::must_end;
use pointsman::runtime::{Builder, HistogramConfiguration, LogHistogram, Runtime};
use pointsman::task::{consume_budget, yield_now};
use pointsman::time::sleep;
use proptest::prelude::*;

fn total(runtime: &Runtime, count: impl Fn(usize) -> u64) -> u64 {
    (0..runtime.metrics().num_workers()).map(count).sum()
}

#[test]
fn polls_are_counted_while_workers_sleep_and_wake() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            for _ in 0..50 {
                pointsman::spawn(sleep(Duration::from_micros(100)))
                    .await
                    .unwrap();
            }
        });
        let metrics = runtime.metrics();
        // A task is polled once or twice: the timer may have fired before the first poll.
        let polls = total(&runtime, |worker| metrics.worker_poll_count(worker));
        assert!((50..=100).contains(&polls), "{polls}");
        assert!((0..2).any(|worker| metrics.worker_mean_poll_time(worker) > Duration::ZERO));
    });
}

#[test]
fn each_task_is_scheduled_locally_or_remotely() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let metrics = runtime.metrics();
    for _ in 0..3 {
        runtime.spawn(async {});
    }
    assert_eq!(metrics.remote_schedule_count(), 3);
    runtime.block_on(async {
        for _ in 0..5 {
            pointsman::spawn(yield_now()).await.unwrap();
        }
    });
    assert_eq!(metrics.remote_schedule_count(), 3);
    assert_eq!(metrics.worker_local_schedule_count(0), 10);
    assert_eq!(metrics.worker_poll_count(0), 13);
}

#[test]
fn a_worker_steals_what_a_blocked_worker_cannot_run() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        let metrics = runtime.metrics();
        runtime.block_on(async {
            pointsman::spawn(async {
                let (tx, rx) = mpsc::channel();
                for _ in 0..20 {
                    let tx = tx.clone();
                    pointsman::spawn(async move { tx.send(()).unwrap() });
                }
                // This worker runs none of them.
                for _ in 0..20 {
                    rx.recv().unwrap();
                }
            })
            .await
            .unwrap();
        });
        let stolen = total(&runtime, |worker| metrics.worker_steal_count(worker));
        let steals = total(&runtime, |worker| metrics.worker_steal_operations(worker));
        assert!(
            stolen >= 20 && (1..=stolen).contains(&steals),
            "{stolen} in {steals}"
        );
        let spawned = total(&runtime, |worker| {
            metrics.worker_local_schedule_count(worker)
        });
        assert_eq!(spawned, 20);
    });
}

#[test]
fn a_poll_that_spends_its_budget_counts_once() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let spend = || async {
        for _ in 0..100 {
            consume_budget().await;
        }
    };
    // 128 in the first poll, the others in the second.
    runtime.block_on(async { pointsman::join!(spend(), spend()) });
    assert_eq!(runtime.metrics().budget_forced_yield_count(), 1);
}

#[test]
fn the_thread_of_a_worker_is_known_once_it_runs() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let metrics = runtime.metrics();
    assert_eq!(metrics.worker_thread_id(0), None);
    runtime.block_on(async {});
    assert_eq!(metrics.worker_thread_id(0), Some(thread::current().id()));

    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let (worker, thread) = runtime
        .block_on(
            runtime.spawn(async { (pointsman::runtime::worker_index(), thread::current().id()) }),
        )
        .unwrap();
    assert_eq!(
        runtime.metrics().worker_thread_id(worker.unwrap()),
        Some(thread)
    );
}

fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {}
}

#[test]
fn long_polls_are_in_the_upper_buckets() {
    let runtime = Builder::new_current_thread()
        .enable_metrics_poll_time_histogram()
        .metrics_poll_time_histogram_configuration(HistogramConfiguration::linear(
            Duration::from_millis(2),
            2,
        ))
        .build()
        .unwrap();
    for _ in 0..3 {
        let task = runtime.spawn(async { spin(Duration::from_millis(2)) });
        runtime.block_on(task).unwrap();
    }
    let metrics = runtime.metrics();
    assert_eq!(metrics.poll_time_histogram_bucket_count(0, 1), 3);
}

#[test]
fn polls_of_a_multi_thread_runtime_are_each_in_one_bucket() {
    must_end(|| {
        let runtime = Arc::new(
            Builder::new_multi_thread()
                .worker_threads(2)
                .enable_metrics_poll_time_histogram()
                .build()
                .unwrap(),
        );
        runtime.block_on(async {
            let tasks: Vec<_> = (0..500).map(|_| pointsman::spawn(yield_now())).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        let metrics = runtime.metrics();
        // The drop waits for the workers, which count the last poll after it.
        drop(Arc::into_inner(runtime));
        let counts = (0..2).flat_map(|worker| (0..10).map(move |bucket| (worker, bucket)));
        let counts =
            counts.map(|(worker, bucket)| metrics.poll_time_histogram_bucket_count(worker, bucket));
        assert_eq!(counts.sum::<u64>(), 1_000);
    });
}

#[test]
fn there_is_no_histogram_by_default() {
    let metrics = Builder::new_current_thread().build().unwrap().metrics();
    assert!(!metrics.poll_time_histogram_enabled());
    assert_eq!(metrics.poll_time_histogram_num_buckets(), 0);
    assert_eq!(metrics.poll_time_histogram_bucket_count(0, 3), 0);
}

#[test]
#[should_panic(expected = "bucket is 10, but there are 10 buckets")]
fn a_bucket_that_is_not_there_panics() {
    let runtime = Builder::new_current_thread()
        .enable_metrics_poll_time_histogram()
        .build()
        .unwrap();
    runtime.metrics().poll_time_histogram_bucket_range(10);
}

proptest! {
    /// The buckets cover all durations without a gap, and only the first and the last are wider than their values
    /// allow.
    #[test]
    fn log_buckets_are_contiguous(
        min in 0..20_000_000_000_u64,
        max in 1_000_000_000..1_000_000_000_000_u64,
        precision in 0..10_u32,
    ) {
        prop_assume!(min < max);
        let buckets = LogHistogram::builder()
            .min_value(Duration::from_nanos(min))
            .max_value(Duration::from_nanos(max))
            .precision_exact(precision)
            .build();
        let metrics = Builder::new_current_thread()
            .enable_metrics_poll_time_histogram()
            .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(buckets))
            .build()
            .unwrap()
            .metrics();
        let count = metrics.poll_time_histogram_num_buckets();
        let ranges: Vec<_> =
            (0..count).map(|bucket| metrics.poll_time_histogram_bucket_range(bucket)).collect();
        prop_assert_eq!(ranges[0].start, Duration::ZERO);
        prop_assert_eq!(ranges[count - 1].end, Duration::from_nanos(u64::MAX));
        prop_assert_eq!(ranges[count - 1].start, Duration::from_nanos(buckets.max_value()));
        prop_assert!(ranges[0].end <= Duration::from_nanos(min.max(1)));
        prop_assert!(ranges[count - 1].start >= Duration::from_nanos(max));
        prop_assert!(ranges[count - 2].start < Duration::from_nanos(max));
        for pair in ranges.windows(2) {
            prop_assert_eq!(pair[0].end, pair[1].start);
        }
        for range in &ranges[1..count - 1] {
            let width = (range.end - range.start).as_nanos();
            prop_assert!(width == 1 || width << precision <= range.start.as_nanos());
        }
    }
}
