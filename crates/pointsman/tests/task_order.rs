//! The ids of tasks, and the order in which they run.

mod common;

use std::collections::HashSet;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::must_end;
use futures::executor;
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::oneshot;
use pointsman::{task, time};

fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(Builder::new_current_thread().enable_all().build().unwrap());
        for threads in [1, 3] {
            let mut builder = Builder::new_multi_thread();
            test(
                builder
                    .worker_threads(threads)
                    .enable_all()
                    .build()
                    .unwrap(),
            );
        }
    });
}

#[test]
fn each_task_has_a_number_of_its_own() {
    each(|runtime| {
        runtime.block_on(async {
            let mut seen = HashSet::new();
            let mut tasks = Vec::new();
            for _ in 0..1_000 {
                tasks.push(task::spawn(async { task::id() }));
            }
            for task in tasks {
                let number = task.id();
                assert_eq!(task.abort_handle().id(), number);
                assert_eq!(task.await.unwrap(), number);
                assert!(seen.insert(number));
            }
            let job = task::spawn_blocking(task::id);
            let number = job.id();
            assert_eq!(job.await.unwrap(), number);
            assert!(seen.insert(number));
            // The future of `block_on` is not a task.
            assert!(task::try_id().is_none());
        });
    });
}

#[test]
fn a_task_has_its_number_while_it_is_dropped() {
    struct Asks(Arc<Mutex<Vec<Option<task::Id>>>>);
    impl Drop for Asks {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(task::try_id());
        }
    }
    each(|runtime| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let [ready, aborted, ended, output] = [(); 4].map(|()| Asks(Arc::clone(&seen)));
        let mut numbers = Vec::new();
        runtime.block_on(async {
            let task = task::spawn(async move { drop(ready) });
            numbers.push(Some(task.id()));
            task.await.unwrap();
            let task = task::spawn(async move {
                let _held = aborted;
                pending::<()>().await;
            });
            numbers.push(Some(task.id()));
            task.abort();
            assert!(task.await.is_err());
            // An output of a detached task.
            let (tx, rx) = oneshot::channel::<()>();
            let task = task::spawn(async move {
                rx.await.unwrap();
                output
            });
            numbers.push(Some(task.id()));
            drop(task);
            tx.send(()).unwrap();
            while seen.lock().unwrap().len() < 3 {
                task::yield_now().await;
            }
        });
        let task = runtime.spawn(async move {
            let _held = ended;
            pending::<()>().await;
        });
        numbers.push(Some(task.id()));
        drop(runtime);
        assert_eq!(*seen.lock().unwrap(), numbers);
    });
}

// --- order ---

#[test]
fn tasks_of_one_thread_run_in_the_order_in_which_they_were_spawned_and_yield() {
    must_end(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        runtime.block_on(async {
            let tasks: Vec<_> = (0..5)
                .map(|n| {
                    let order = Arc::clone(&order);
                    task::spawn(async move {
                        for round in 0..3 {
                            order.lock().unwrap().push((round, n));
                            task::yield_now().await;
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        let expected: Vec<_> = (0..3)
            .flat_map(|round| (0..5).map(move |n| (round, n)))
            .collect();
        assert_eq!(*order.lock().unwrap(), expected);
    });
}

#[test]
fn a_yielding_task_lets_all_ready_tasks_run() {
    must_end(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        runtime.block_on(async {
            let counts = Arc::clone(&ran);
            task::spawn(async move {
                for _ in 0..200 {
                    let counts = Arc::clone(&counts);
                    task::spawn(async move {
                        counts.fetch_add(1, SeqCst);
                    });
                }
                task::yield_now().await;
                assert_eq!(counts.load(SeqCst), 200);
            })
            .await
            .unwrap();
        });
    });
}

#[test]
fn a_result_is_awaited_outside_of_any_runtime() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let tasks: Vec<_> = (0..100)
            .map(|n| {
                runtime.spawn(async move {
                    time::sleep(Duration::from_micros(n)).await;
                    n
                })
            })
            .collect();
        let sum: u64 = executor::block_on(futures::future::join_all(tasks))
            .into_iter()
            .map(Result::unwrap)
            .sum();
        assert_eq!(sum, (0..100).sum());
    });
}

#[test]
fn handles_are_send_and_sync_and_may_cross_a_panic() {
    fn check<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    check::<task::JoinHandle<std::cell::Cell<u8>>>();
    check::<task::AbortHandle>();
    fn shared<T: Send + Sync>() {}
    shared::<task::JoinError>();
    shared::<task::Id>();
    shared::<Runtime>();
    shared::<pointsman::runtime::Handle>();
}
