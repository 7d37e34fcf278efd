//! Runtime metrics.

mod common;

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{current_thread, must_end, threads};
use futures::executor;
use pointsman::runtime::{Builder, Handle, RuntimeFlavor};
use pointsman::{task, time};

fn until(what: impl Fn() -> bool) {
    while !what() {
        thread::yield_now();
    }
}

#[test]
fn workers_are_counted() {
    assert_eq!(current_thread().metrics().num_workers(), 1);
    assert_eq!(threads(1).metrics().num_workers(), 1);
    assert_eq!(threads(3).handle().metrics().num_workers(), 3);
}

#[test]
fn tasks_are_counted_while_they_live() {
    must_end(|| {
        for runtime in [current_thread(), threads(2)] {
            let metrics = runtime.metrics();
            assert_eq!(metrics.num_alive_tasks(), 0);
            let (stays, goes) = (runtime.spawn(pending::<()>()), runtime.spawn(async {}));
            runtime.block_on(goes).unwrap();
            until(|| metrics.num_alive_tasks() == 1);
            runtime.block_on(async {
                for _ in 0..10 {
                    task::spawn(async {}).await.unwrap();
                }
            });
            until(|| metrics.num_alive_tasks() == 1);
            assert_eq!(metrics.spawned_tasks_count(), 12);
            stays.abort();
            assert!(runtime.block_on(stays).is_err());
            until(|| metrics.num_alive_tasks() == 0);
            runtime.spawn(pending::<()>());
            drop(runtime);
            // Metrics can still be read.
            assert_eq!(metrics.num_alive_tasks(), 0);
            assert_eq!(metrics.spawned_tasks_count(), 13);
        }
    });
}

#[test]
fn jobs_that_wait_for_a_thread_are_counted() {
    must_end(|| {
        let runtime = current_thread();
        let metrics = runtime.metrics();
        assert_eq!(metrics.global_queue_depth(), 0);
        let handle = runtime.handle().clone();
        thread::spawn(move || {
            handle.spawn(async {});
            handle.spawn(async {});
        })
        .join()
        .unwrap();
        assert_eq!(metrics.global_queue_depth(), 2);
        runtime.block_on(async {
            for _ in 0..3 {
                task::yield_now().await;
            }
            task::spawn(async {}).await.unwrap();
        });
        assert_eq!(metrics.global_queue_depth(), 0);
        runtime.block_on(async {
            task::spawn(async {
                for _ in 0..5 {
                    task::spawn(async {});
                }
                let metrics = Handle::current().metrics();
                assert_eq!(metrics.worker_local_queue_depth(0), 5);
            })
            .await
            .unwrap();
        });
    });
}

#[test]
fn blocking_work_and_its_threads_are_counted() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let metrics = runtime.metrics();
        assert_eq!(metrics.num_blocking_threads(), 0);
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let first = runtime.spawn_blocking(move || {
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
        });
        has_begun.recv().unwrap();
        let second = runtime.spawn_blocking(|| ());
        assert_eq!(metrics.num_blocking_threads(), 1);
        assert_eq!(metrics.num_idle_blocking_threads(), 0);
        assert_eq!(metrics.blocking_queue_depth(), 1);
        go_on.send(()).unwrap();
        executor::block_on(first).unwrap();
        executor::block_on(second).unwrap();
        assert_eq!(metrics.blocking_queue_depth(), 0);
        until(|| metrics.num_idle_blocking_threads() == 1);
        // Jobs are not tasks.
        assert_eq!(metrics.spawned_tasks_count(), 0);
        drop(runtime);
        assert_eq!(metrics.num_blocking_threads(), 0);
    });
}

#[test]
fn sleep_and_work_of_a_thread_are_counted() {
    must_end(|| {
        for runtime in [current_thread(), threads(1)] {
            let metrics = runtime.metrics();
            let task = runtime.spawn(async {
                let until = std::time::Instant::now() + Duration::from_millis(5);
                while std::time::Instant::now() < until {}
                time::sleep(Duration::from_millis(1)).await;
            });
            if runtime.handle().runtime_flavor() == RuntimeFlavor::CurrentThread {
                runtime.block_on(task).unwrap();
            } else {
                executor::block_on(task).unwrap();
            }
            until(|| metrics.worker_park_count(0) >= 1);
            until(|| metrics.worker_total_busy_duration(0) >= Duration::from_millis(5));
            let parks = metrics.worker_park_count(0);
            assert!(metrics.worker_park_unpark_count(0) >= 2 * parks - 1);
            drop(runtime);
            assert_eq!(
                metrics.worker_park_unpark_count(0),
                2 * metrics.worker_park_count(0)
            );
        }
    });
}

#[test]
fn there_are_no_figures_of_a_worker_that_is_none() {
    let metrics = threads(2).metrics();
    let panic = catch_unwind(AssertUnwindSafe(|| metrics.worker_park_count(2)));
    assert!(panic.is_err());
    let panic = catch_unwind(AssertUnwindSafe(|| metrics.worker_local_queue_depth(5)));
    assert!(panic.is_err());
}

#[test]
fn tasks_queued_in_a_thread_in_block_on_are_counted() {
    must_end(|| {
        let runtime = threads(1);
        let metrics = runtime.metrics();
        let (has_begun, begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let blocking = runtime.spawn(async move {
            has_begun.send(()).unwrap();
            released.recv().unwrap();
        });
        begun.recv().unwrap();
        runtime.block_on(async move {
            let tasks = [(); 2].map(|()| task::spawn(async {}));
            assert_eq!(metrics.global_queue_depth(), 2);
            release.send(()).unwrap();
            for task in tasks {
                task.await.unwrap();
            }
            blocking.await.unwrap();
            assert_eq!(metrics.global_queue_depth(), 0);
        });
    });
}

#[test]
fn a_job_sees_its_own_thread() {
    must_end(|| {
        for _ in 0..100 {
            let runtime = current_thread();
            let job = runtime.spawn_blocking(|| Handle::current().metrics().num_blocking_threads());
            assert_eq!(runtime.block_on(job).unwrap(), 1);
        }
    });
}
