//! An idle runtime sleeps, and wakes for its timers only.
//!
//! Invariant: one test, as it counts how often the threads of its process sleep.

#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::thread;
use std::time::Duration;

use common::must_end;
use pointsman::runtime::Builder;
use pointsman::{task, time};

fn threads_of_this_process() -> HashSet<OsString> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    threads.map(|thread| thread.unwrap().file_name()).collect()
}

/// Context switches of all threads but these.
fn switches(but: &HashSet<OsString>) -> u64 {
    let mut sum = 0;
    for thread in threads_of_this_process().difference(but) {
        let path = fs::canonicalize("/proc/self/task").unwrap().join(thread);
        // The thread may have exited meanwhile.
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        for line in status.lines().filter(|line| line.contains("ctxt_switches")) {
            sum += line
                .split_whitespace()
                .last()
                .unwrap()
                .parse::<u64>()
                .unwrap();
        }
    }
    sum
}

#[test]
fn an_idle_runtime_wakes_for_its_timers_only() {
    must_end(|| {
        let others = threads_of_this_process();
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(4).enable_all().build().unwrap();
        let comes_to_rest = || loop {
            let before = switches(&others);
            thread::sleep(Duration::from_millis(300));
            if switches(&others) == before {
                break;
            }
        };
        comes_to_rest();
        let tasks: Vec<_> = (0..100).map(|_| runtime.spawn(task::yield_now())).collect();
        for task in tasks {
            futures::executor::block_on(task).unwrap();
        }
        comes_to_rest();
        // With a distant timer, too.
        runtime.spawn(async { time::sleep(Duration::from_secs(1_000)).await });
        comes_to_rest();

        const TICKS: u64 = 10;
        let interval = runtime.spawn(async {
            let mut interval = time::interval(Duration::from_millis(100));
            interval.tick().await;
            for _ in 0..TICKS {
                interval.tick().await;
            }
        });
        let before = switches(&others);
        futures::executor::block_on(interval).unwrap();
        let count = switches(&others) - before;
        // Two or three for each, as with Tokio: to wake and to sleep again. More if other programs keep the cores busy.
        assert!(count <= 12 * TICKS, "{count} in {TICKS} ticks");
    });
}
