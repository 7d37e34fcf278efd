//! Helpers shared by the runtime's tests.
#![allow(dead_code)] // No test file uses all of them.

pub(crate) mod text;

use std::panic::{catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures::executor;
use pointsman::runtime::{Builder, Runtime};
use pointsman::task::JoinHandle;

/// Long enough for anything that does not hang, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test on its own thread, and fails if it hangs.
pub(crate) fn must_end<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (tx, rx) = mpsc::channel();
    let thread = thread::spawn(move || {
        let result = catch_unwind(std::panic::AssertUnwindSafe(test));
        let _ = tx.send(());
        result
    });
    if rx.recv_timeout(LIMIT).is_err() {
        panic!("the test hangs: it has not ended after {LIMIT:?}");
    }
    match thread.join().expect("panics are caught") {
        Ok(result) => result,
        Err(payload) => resume_unwind(payload),
    }
}

/// A multi-thread runtime with this many workers.
pub(crate) fn threads(count: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count).enable_all().build().unwrap()
}

pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Waits for a task without running any.
pub(crate) fn wait<T>(task: JoinHandle<T>) -> T {
    executor::block_on(task).unwrap()
}
