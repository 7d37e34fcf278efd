//! Callbacks of a runtime that panic.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::must_end;
use pointsman::runtime::Builder;
use pointsman::time;

#[test]
fn a_callback_that_panics_in_block_on_ends_that_and_nothing_else() {
    must_end(|| {
        for at_park in [true, false] {
            let is_bad = Arc::new(AtomicBool::new(true));
            let panic_once = move || assert!(!is_bad.swap(false, SeqCst), "a callback");
            let mut builder = Builder::new_current_thread();
            match at_park {
                true => builder.on_thread_park(panic_once),
                false => builder.on_thread_unpark(panic_once),
            };
            let runtime = builder.enable_all().build().unwrap();
            let sleep = || async { time::sleep(Duration::from_millis(1)).await };
            let first = || runtime.block_on(sleep());
            catch_unwind(AssertUnwindSafe(first)).unwrap_err();
            let task = runtime.spawn(sleep());
            runtime.block_on(task).unwrap();
        }
    });
}

/// Without its workers the runtime would stand still, and nobody would know why.
#[test]
fn a_callback_that_panics_in_a_worker_ends_the_process() {
    const CHILD: &str = "POINTSMAN_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        let mut builder = Builder::new_multi_thread();
        let bad = || panic!("a callback");
        let runtime = builder.worker_threads(1).on_thread_park(bad).build();
        // Not so long, as the process is ended meanwhile.
        thread::sleep(Duration::from_secs(5));
        drop(runtime.unwrap());
        return;
    }
    must_end(|| {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "a_callback_that_panics_in_a_worker_ends_the_process",
            ])
            .arg("--nocapture")
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(!child.status.success(), "it went on");
        let said = String::from_utf8_lossy(&child.stderr).into_owned();
        assert!(said.contains("worker thread"), "{said}");
    });
}
