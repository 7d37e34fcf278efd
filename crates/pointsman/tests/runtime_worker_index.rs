//! `worker_index()` returns the worker that runs the task, and `None` elsewhere.

mod common;

use std::sync::{Arc, Barrier};
use std::thread;

use common::{must_end, threads};
use pointsman::runtime::{Builder, worker_index};
use pointsman::task;

#[test]
fn a_thread_that_blocks_on_a_future_is_no_worker() {
    must_end(|| {
        assert_eq!(worker_index(), None);
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            let guard = runtime.enter();
            assert_eq!(worker_index(), None);
            drop(guard);
            runtime.block_on(async {
                assert_eq!(worker_index(), None);
                for _ in 0..20 {
                    task::spawn(async {}).await.unwrap();
                    task::yield_now().await;
                    assert_eq!(worker_index(), None);
                }
            });
        }
    });
}

#[test]
fn a_task_sees_the_index_of_a_worker() {
    must_end(|| {
        for workers in [1, 2, 4] {
            let runtime = threads(workers);
            let tasks: Vec<_> = (0..100)
                .map(|_| {
                    runtime.spawn(async {
                        let first = worker_index();
                        task::yield_now().await;
                        [first, worker_index()]
                    })
                })
                .collect();
            for task in tasks {
                for index in runtime.block_on(task).unwrap() {
                    assert!(index.is_some_and(|index| index < workers), "{index:?}");
                }
            }
        }
    });
}

#[test]
fn concurrent_tasks_see_different_worker_indexes() {
    must_end(|| {
        let runtime = threads(4);
        for _ in 0..20 {
            let meet = Arc::new(Barrier::new(4));
            let tasks = [(); 4].map(|()| {
                let meet = Arc::clone(&meet);
                runtime.spawn(async move {
                    meet.wait();
                    let index = worker_index();
                    meet.wait();
                    index
                })
            });
            let mut indices: Vec<_> = tasks
                .into_iter()
                .map(|task| runtime.block_on(task).unwrap().unwrap())
                .collect();
            indices.sort_unstable();
            assert_eq!(indices, [0, 1, 2, 3]);
        }
    });
}

#[test]
fn a_thread_in_block_in_place_has_no_worker_index() {
    must_end(|| {
        let runtime = threads(2);
        for _ in 0..20 {
            let task = runtime.spawn(async {
                assert_eq!(task::block_in_place(worker_index), None);
                task::yield_now().await;
                let index = worker_index();
                assert!(index.is_some_and(|index| index < 2), "{index:?}");
            });
            runtime.block_on(task).unwrap();
        }
        runtime.block_on(async { assert_eq!(task::block_in_place(worker_index), None) });
    });
}

#[test]
fn blocking_work_and_foreign_threads_are_no_workers() {
    must_end(|| {
        let runtime = threads(2);
        let job = runtime.spawn_blocking(worker_index);
        assert_eq!(runtime.block_on(job).unwrap(), None);
        let task = runtime.spawn(async { thread::spawn(worker_index).join().unwrap() });
        assert_eq!(runtime.block_on(task).unwrap(), None);
    });
}

#[test]
fn the_thread_that_drives_a_runtime_without_workers_is_worker_0() {
    must_end(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(async { worker_index() }), Some(0));
        let task = runtime.spawn(async { worker_index() });
        assert_eq!(runtime.block_on(task).unwrap(), Some(0));
    });
}
