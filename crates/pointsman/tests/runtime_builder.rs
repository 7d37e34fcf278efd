//! Options of the runtime builder.

mod common;

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use common::must_end;
use pointsman::runtime::{Builder, RuntimeFlavor};
use pointsman::sync::Notify;
use pointsman::{task, time};

fn text_of<R>(make: impl FnOnce() -> R + std::panic::UnwindSafe) -> String {
    let panic = catch_unwind(make).map(drop).unwrap_err();
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().unwrap().to_string(),
    }
}

#[test]
fn invalid_numbers_are_rejected() {
    let zero = |set: fn(&mut Builder) -> &mut Builder| {
        text_of(move || {
            set(&mut Builder::new_multi_thread());
        })
    };
    assert_eq!(
        zero(|builder| builder.worker_threads(0)),
        "Worker threads cannot be set to 0"
    );
    assert_eq!(
        zero(|builder| builder.max_blocking_threads(0)),
        "Max blocking threads cannot be set to 0"
    );
    assert_eq!(
        zero(|builder| builder.event_interval(0)),
        "event_interval must be greater than 0"
    );
    assert_eq!(
        zero(|builder| builder.global_queue_interval(0)),
        "global_queue_interval must be greater than 0"
    );
}

#[test]
fn a_thread_whose_preparation_panics_is_there() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_start(|| panic!("no preparation"))
            .build()
            .unwrap();
        let task = runtime.spawn(async { 1 });
        let job = runtime.spawn_blocking(|| 2);
        let sum = async { task.await.unwrap() + job.await.unwrap() };
        assert_eq!(runtime.block_on(sum), 3);
    });
}

#[test]
fn a_name_that_panics_keeps_no_later_job_waiting() {
    must_end(|| {
        let names = AtomicUsize::new(0);
        let runtime = Builder::new_current_thread()
            .thread_name_fn(move || match names.fetch_add(1, SeqCst) {
                0 => panic!("no name"),
                _ => "named".into(),
            })
            .build()
            .unwrap();
        let start = std::panic::AssertUnwindSafe(|| runtime.spawn_blocking(|| 1));
        assert_eq!(text_of(start), "no name");
        let job = runtime.spawn_blocking(|| 2);
        assert_eq!(runtime.block_on(job).unwrap(), 2);
    });
}

#[test]
fn threads_have_the_name_that_was_given() {
    must_end(|| {
        let name = || thread::current().name().map(str::to_owned);
        let default = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let job = default.spawn_blocking(name);
        assert_eq!(
            default.block_on(job).unwrap().as_deref(),
            Some("pointsman-rt")
        );
        let count = Arc::new(AtomicUsize::new(0));
        let names = Arc::clone(&count);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name_fn(move || format!("number-{}", names.fetch_add(1, SeqCst)))
            .build()
            .unwrap();
        let worker = futures::executor::block_on(runtime.spawn(async move { name() })).unwrap();
        assert_eq!(worker.as_deref(), Some("number-0"));
        let job = futures::executor::block_on(runtime.spawn_blocking(name)).unwrap();
        assert_eq!(job.as_deref(), Some("number-1"));
    });
}

#[test]
fn threads_have_the_stack_that_was_asked_for() {
    fn deep(left: usize) -> usize {
        let frame = std::hint::black_box([left; 1_000]);
        match left {
            0 => frame[0],
            _ => deep(left - 1) + usize::from(frame[999] == left),
        }
    }
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_stack_size(64 << 20)
            .build()
            .unwrap();
        // 16 MB: more than a thread's default stack.
        let worker = futures::executor::block_on(runtime.spawn(async { deep(2_000) }));
        assert_eq!(worker.unwrap(), 2_000);
        let job = futures::executor::block_on(runtime.spawn_blocking(|| deep(2_000)));
        assert_eq!(job.unwrap(), 2_000);
    });
}

#[test]
fn threads_start_and_stop_in_pairs() {
    must_end(|| {
        let started = Arc::new(AtomicUsize::new(0));
        let stopped = Arc::new(AtomicUsize::new(0));
        let (starts, stops) = (Arc::clone(&started), Arc::clone(&stopped));
        let runtime = Builder::new_multi_thread()
            .worker_threads(3)
            .on_thread_start(move || {
                starts.fetch_add(1, SeqCst);
            })
            .on_thread_stop(move || {
                stops.fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        let both = Arc::new(Barrier::new(2));
        let jobs = [Arc::clone(&both), both].map(|both| {
            runtime.spawn_blocking(move || {
                both.wait();
            })
        });
        for job in jobs {
            runtime.block_on(job).unwrap();
        }
        drop(runtime);
        assert!(started.load(SeqCst) >= 5);
        assert_eq!(started.load(SeqCst), stopped.load(SeqCst));
    });
}

#[test]
fn workers_go_to_sleep_and_wake_up_in_turn() {
    must_end(|| {
        for workers in [0, 1, 3] {
            let mut builder = match workers {
                0 => Builder::new_current_thread(),
                _ => Builder::new_multi_thread(),
            };
            if workers > 0 {
                builder.worker_threads(workers);
            }
            // Whether each thread sleeps.
            let asleep = Arc::new(Mutex::new(BTreeSet::new()));
            let slept = Arc::new(AtomicUsize::new(0));
            let wrong = Arc::new(AtomicUsize::new(0));
            let (sleeps, wakes) = (Arc::clone(&asleep), Arc::clone(&asleep));
            let (counts, twice, never) =
                (Arc::clone(&slept), Arc::clone(&wrong), Arc::clone(&wrong));
            let runtime = builder
                .enable_all()
                .on_thread_park(move || {
                    counts.fetch_add(1, SeqCst);
                    let number = format!("{:?}", thread::current().id());
                    if !sleeps.lock().unwrap().insert(number) {
                        twice.fetch_add(1, SeqCst);
                    }
                })
                .on_thread_unpark(move || {
                    let number = format!("{:?}", thread::current().id());
                    if !wakes.lock().unwrap().remove(&number) {
                        never.fetch_add(1, SeqCst);
                    }
                })
                .build()
                .unwrap();
            let task = runtime.spawn(async {
                for _ in 0..5 {
                    time::sleep(Duration::from_millis(1)).await;
                }
            });
            if workers == 0 {
                runtime.block_on(task).unwrap();
            } else {
                futures::executor::block_on(task).unwrap();
            }
            while slept.load(SeqCst) == 0 {
                thread::yield_now();
            }
            drop(runtime);
            assert_eq!(wrong.load(SeqCst), 0);
            assert!(asleep.lock().unwrap().is_empty());
        }
    });
}

#[test]
fn the_park_hook_may_wake_the_future_and_spawn_tasks() {
    must_end(|| {
        for is_multi_thread in [false, true] {
            for spawns in [false, true] {
                let notify = Arc::new(Notify::new());
                let is_armed = Arc::new(AtomicBool::new(false));
                let is_first = Arc::clone(&is_armed);
                let notifies = Arc::clone(&notify);
                let mut builder = match is_multi_thread {
                    false => Builder::new_current_thread(),
                    true => Builder::new_multi_thread(),
                };
                let runtime = builder
                    .on_thread_park(move || {
                        if !is_first.swap(false, SeqCst) {
                            return;
                        }
                        if spawns {
                            let notify = Arc::clone(&notifies);
                            task::spawn(async move { notify.notify_one() });
                        } else {
                            notifies.notify_one();
                        }
                    })
                    .build()
                    .unwrap();
                // A few short tasks are not worth a wakeup.
                runtime.block_on(async {
                    for _ in 0..10_000 {
                        task::spawn(async {}).await.unwrap();
                    }
                });
                is_armed.store(true, SeqCst);
                // The workers may already be asleep: one falls asleep again.
                runtime.spawn(async {});
                runtime.block_on(notify.notified());
            }
        }
    });
}

#[test]
fn a_runtime_without_timers_has_none() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let task = runtime.spawn(async { time::sleep(Duration::from_millis(1)).await });
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async { time::sleep(Duration::from_millis(1)).await });
    });
}

#[test]
fn a_clock_that_stands_still_needs_a_runtime_of_one_thread() {
    must_end(|| {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let passed = runtime.block_on(async {
            let start = time::Instant::now();
            task::spawn(async { time::sleep(Duration::from_secs(3_600)).await })
                .await
                .unwrap();
            start.elapsed()
        });
        assert_eq!(passed, Duration::from_secs(3_600));
        let text = text_of(|| {
            let _ = Builder::new_multi_thread().start_paused(true).build();
        });
        assert!(text.contains("requires the `current_thread`"), "{text}");
    });
}

#[test]
fn a_builder_can_be_used_again() {
    must_end(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).enable_all();
        let runtimes = [builder.build().unwrap(), builder.build().unwrap()];
        assert_ne!(runtimes[0].handle().id(), runtimes[1].handle().id());
        for runtime in &runtimes {
            assert_eq!(runtime.metrics().num_workers(), 2);
            assert_eq!(
                runtime.handle().runtime_flavor(),
                RuntimeFlavor::MultiThread
            );
        }
        let runtime = Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.metrics().num_workers(), 1);
        assert_eq!(
            runtime.handle().runtime_flavor(),
            RuntimeFlavor::CurrentThread
        );
    });
}
