//! A runtime and a task that are observed by tokio-metrics.

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::yield_now;
use tokio_metrics::{RuntimeMonitor, TaskMonitor};

const TASKS: usize = 20;

fn main() {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all();
    #[cfg(tokio_unstable)]
    builder.enable_metrics_poll_time_histogram();
    let runtime = builder.build().unwrap();
    let monitor = RuntimeMonitor::new(runtime.handle());
    let mut intervals = monitor.intervals();
    let tasks = TaskMonitor::new();
    runtime.block_on(async {
        let spawned: Vec<_> = (0..TASKS)
            .map(|_| {
                tokio::spawn(tasks.instrument(async {
                    yield_now().await;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }))
            })
            .collect();
        for task in spawned {
            task.await.unwrap();
        }
    });
    let of_tasks = tasks.cumulative();
    assert_eq!(of_tasks.instrumented_count, TASKS as u64);
    assert_eq!(of_tasks.dropped_count, TASKS as u64);
    assert!(of_tasks.total_poll_count >= 2 * TASKS as u64);
    // The workers write their counts before they sleep.
    let mut parks = 0;
    while parks == 0 {
        std::thread::sleep(Duration::from_millis(1));
        let interval = intervals.next().unwrap();
        assert_eq!(interval.workers_count, 2);
        parks += interval.total_park_count;
        #[cfg(tokio_unstable)]
        if parks > 0 {
            assert!(
                interval.total_polls_count >= 2 * TASKS as u64,
                "{interval:?}"
            );
            let counted: u64 = interval
                .poll_time_histogram
                .buckets()
                .iter()
                .map(|it| it.count())
                .sum();
            assert!(counted >= 2 * TASKS as u64, "{interval:?}");
            assert!(interval.mean_poll_duration > Duration::ZERO, "{interval:?}");
            assert!(
                interval.num_remote_schedules >= TASKS as u64,
                "{interval:?}"
            );
        }
    }
    println!("{TASKS} tasks in {} polls", of_tasks.total_poll_count);
}
