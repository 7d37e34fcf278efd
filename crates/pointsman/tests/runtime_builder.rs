//! What a runtime can be made with.

mod common;

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use common::must_end;
use pointsman::runtime::{Builder, Runtime, RuntimeFlavor};
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
fn numbers_that_make_no_sense_are_refused() {
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
        // 16 MB: more than a thread has by itself.
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
            // By thread: whether it sleeps.
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
fn what_is_called_before_sleep_may_wake_the_future_and_spawn_tasks() {
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
                // Of short tasks a few are not worth a wake-up.
                runtime.block_on(async {
                    for _ in 0..10_000 {
                        task::spawn(async {}).await.unwrap();
                    }
                });
                is_armed.store(true, SeqCst);
                // The workers may be asleep already: one goes to sleep anew.
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

/// Run by the test below, in a process of its own.
#[test]
#[ignore = "run by another test"]
fn say_how_many_workers_there_are() {
    let runtime = Runtime::new().unwrap();
    println!("workers: {}", runtime.metrics().num_workers());
}

#[test]
fn the_environment_says_how_many_workers_there_are() {
    let run = |value: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "say_how_many_workers_there_are", "--ignored"]);
        command.arg("--nocapture");
        match value {
            Some(value) => command.env("TOKIO_WORKER_THREADS", value),
            None => command.env_remove("TOKIO_WORKER_THREADS"),
        };
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text)
    };
    let (is_success, text) = run(Some("3"));
    assert!(is_success && text.contains("workers: 3"), "{text}");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (is_success, text) = run(None);
    assert!(is_success && text.contains(&format!("workers: {cores}")));
    let (is_success, text) = run(Some("0"));
    let says = "\"TOKIO_WORKER_THREADS\" cannot be set to 0";
    assert!(!is_success && text.contains(says), "{text}");
    for wrong in ["many", "-1", ""] {
        let (is_success, text) = run(Some(wrong));
        let says = "\"TOKIO_WORKER_THREADS\" must be usize, error: ";
        assert!(!is_success && text.contains(says), "{text}");
        assert!(text.contains(&format!(", value: {wrong}")), "{text}");
    }
}

/// Linux truncates longer names, so that two threads of one runtime would look alike.
#[cfg(target_os = "linux")]
#[test]
fn the_names_of_threads_are_shown_whole() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        while threads_named("pointsman-rt") < 2 {
            thread::yield_now();
        }
        // The watchdog starts for a task that waits behind a blocked worker.
        while threads_named("pointsman-watch") == 0 {
            let (tx, rx) = std::sync::mpsc::channel();
            let task = runtime.spawn(async move {
                for _ in 0..10 {
                    let tx = tx.clone();
                    pointsman::spawn(async move { tx.send(()).unwrap() });
                }
                rx.recv().unwrap();
            });
            runtime.block_on(task).unwrap();
        }
    });
}

/// Threads of this process with a name that only one test gives.
#[cfg(target_os = "linux")]
fn threads_named(name: &str) -> usize {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok())
        .filter(|comm| comm.trim() == name)
        .count()
}

#[cfg(target_os = "linux")]
#[test]
fn no_thread_is_left_behind() {
    must_end(|| {
        for round in 0..20 {
            let runtime = Builder::new_multi_thread()
                .worker_threads(3)
                .thread_name("left-behind")
                .enable_all()
                .build()
                .unwrap();
            let jobs: Vec<_> = (0..5).map(|_| runtime.spawn_blocking(|| ())).collect();
            for job in jobs {
                runtime.block_on(job).unwrap();
            }
            runtime.spawn(async { time::sleep(Duration::from_secs(60)).await });
            if round == 0 {
                while threads_named("left-behind") < 3 {
                    thread::yield_now();
                }
            }
            match round % 3 {
                0 => drop(runtime),
                1 => runtime.shutdown_timeout(Duration::from_secs(10)),
                _ => runtime.shutdown_background(),
            }
        }
        // Whoever was not waited for needs a moment.
        while threads_named("left-behind") > 0 {
            thread::yield_now();
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_runtime_whose_threads_cannot_be_started_is_an_error() {
    must_end(|| {
        let error = Builder::new_multi_thread()
            // Together their stacks are as large as the whole address space.
            .worker_threads(16)
            .thread_stack_size(1 << (usize::BITS - 4))
            .build()
            .unwrap_err();
        assert!(!error.to_string().is_empty());
    });
}

#[test]
fn a_name_that_no_thread_can_have_is_refused_where_it_is_given() {
    let refused = std::panic::catch_unwind(|| {
        Builder::new_current_thread().thread_name("a\0b");
    });
    let message = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains(r#""a\0b""#), "{message}");
}
