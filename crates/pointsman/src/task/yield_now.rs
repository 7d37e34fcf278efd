//! Yields to other tasks.

use std::future::poll_fn;
use std::task::Poll;

use super::coop;

/// Yields to the runtime once. The task is queued behind the tasks that are ready now.
///
/// Cancel safe.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let other = pointsman::spawn(async { "ran" });
/// pointsman::task::yield_now().await;
/// assert!(other.is_finished());
/// # }
/// ```
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        coop::yield_to_others(cx);
        Poll::Pending
    })
    .await;
}
