//! What the tests of the runtime share.

use std::panic::{catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Long enough for anything that does not hang, on a machine that has much else to do.
const LIMIT: Duration = Duration::from_secs(20);

/// Runs a test in a thread of its own, and fails if it hangs.
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
