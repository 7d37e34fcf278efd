//! Limits the duration of a future.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use crate::task::coop;

use super::error::Elapsed;
use super::{Instant, Sleep, sleep_until};

/// Requires a future to complete within `duration`, counted from this call.
///
/// The future is polled first, so a future that is ready at once or at its deadline completes. A future that does not
/// return from its poll cannot be interrupted. A duration that overflows [`Instant`] sets no limit.
///
/// An elapsed timeout does not drop the future: dropping the [`Timeout`] does, and [`Timeout::into_inner`] returns it.
///
/// # Errors
/// [`Elapsed`] if the future did not complete in time.
///
/// # Panics
/// If called outside of a runtime, or in one without time.
///
/// # Cancel safety
/// That of the future.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::time::{Duration, timeout};
///
/// let limit = Duration::from_millis(2);
/// assert_eq!(timeout(limit, async { 7 }).await, Ok(7));
/// assert!(timeout(limit, std::future::pending::<()>()).await.is_err());
/// # }
/// ```
#[inline]
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    let now = Instant::now();
    #[expect(
        clippy::manual_map,
        reason = "within a closure the panic would not name the caller"
    )]
    let delay = match now.checked_add(duration) {
        Some(deadline) => Some(Sleep::new(deadline, Some(now))),
        None => None,
    };
    Timeout {
        value: future.into_future(),
        delay,
    }
}

/// Requires a future to complete before `deadline`. See [`timeout`].
///
/// # Errors
/// [`Elapsed`] if the future did not complete in time.
///
/// # Panics
/// If called outside of a runtime, or in one without time.
///
/// # Cancel safety
/// That of the future.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::time::{Duration, Instant, timeout_at};
///
/// // One limit for two steps.
/// let deadline = Instant::now() + Duration::from_secs(1);
/// assert_eq!(timeout_at(deadline, async { "connected" }).await, Ok("connected"));
/// assert_eq!(timeout_at(deadline, async { "answered" }).await, Ok("answered"));
/// # }
/// ```
#[inline]
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        value: future.into_future(),
        delay: Some(sleep_until(deadline)),
    }
}

pin_project! {
    /// Future of [`timeout`] and [`timeout_at`].
    ///
    /// Dropping it drops the future.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Timeout, sleep, timeout};
    ///
    /// let slow = sleep(Duration::from_secs(60));
    /// let limited: Timeout<_> = timeout(Duration::from_secs(1), slow);
    /// assert!(limited.await.is_err());
    /// # }
    /// ```
    #[must_use = "futures do nothing unless they are awaited"]
    #[derive(Debug)]
    pub struct Timeout<T> {
        #[pin]
        value: T,
        // None if there is no limit.
        #[pin]
        delay: Option<Sleep>,
    }
}

impl<T> Timeout<T> {
    /// Returns a reference to the future.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::time::{Duration, timeout};
    ///
    /// let task = pointsman::spawn(async { 7 });
    /// let limited = timeout(Duration::from_secs(1), task);
    /// assert!(!limited.get_ref().is_finished());
    /// # }
    /// ```
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns a mutable reference to the future.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::time::{Duration, timeout};
    /// use std::future::ready;
    ///
    /// let mut limited = timeout(Duration::from_secs(1), ready(3));
    /// *limited.get_mut() = ready(4);
    /// assert_eq!(limited.await, Ok(4));
    /// # }
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the future without its limit.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::time::{Duration, timeout};
    ///
    /// let limited = timeout(Duration::from_secs(1), std::future::ready(3));
    /// assert_eq!(limited.into_inner().await, 3);
    /// # }
    /// ```
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(value) = this.value.poll(cx) {
            return Poll::Ready(Ok(value));
        }
        match this.delay.as_pin_mut() {
            Some(delay) => poll_delay(delay, had_budget, cx).map(|()| Err(Elapsed::new())),
            None => Poll::Pending,
        }
    }
}

/// A future that uses up the budget at each poll must not keep its timeout from being polled.
fn poll_delay(delay: Pin<&mut Sleep>, had_budget: bool, cx: &mut Context<'_>) -> Poll<()> {
    if had_budget && !coop::has_budget_remaining() {
        coop::without_budget(|| delay.poll(cx))
    } else {
        delay.poll(cx)
    }
}
