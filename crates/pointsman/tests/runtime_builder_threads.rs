//! The threads of a built runtime: number, names, and failure to start.

mod common;

use std::process::Command;
use std::thread;
use std::time::Duration;

use common::must_end;
use pointsman::runtime::{Builder, Runtime};
use pointsman::time;

/// Run by the test below, in its own process.
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

/// Threads of this process whose name only one test uses.
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
        // A thread that was not joined may need a moment to exit.
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
            // Together their stacks exceed the address space.
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
