//! Periodic ticks.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::instant::FAR_FUTURE;
#[cfg(feature = "tracing")]
use super::span::IntervalSpan;
use super::{Instant, Sleep, sleep_until};

/// A tick counts as missed if it is taken more than this late, as in Tokio.
const TOLERANCE: Duration = Duration::from_millis(5);

/// Creates an interval that ticks at once and then every `period`. A period above about thirty years is shortened to
/// that.
///
/// # Panics
/// If the period is zero. If called outside of a runtime, or in one without time.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use pointsman::time::{Duration, Instant, interval};
///
/// let start = Instant::now();
/// let mut interval = interval(Duration::from_secs(10));
/// interval.tick().await;
/// interval.tick().await;
/// interval.tick().await;
/// assert_eq!(start.elapsed(), Duration::from_secs(20));
/// # }
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    check(period);
    interval_at(Instant::now(), period)
}

/// Creates an interval that ticks at `start` and then every `period`. A period above about thirty years is shortened to
/// that.
///
/// # Panics
/// If the period is zero. If called outside of a runtime, or in one without time.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use pointsman::time::{Duration, Instant, interval_at};
///
/// let start = Instant::now() + Duration::from_secs(1);
/// let mut interval = interval_at(start, Duration::from_secs(10));
/// assert_eq!(interval.tick().await, start);
/// assert_eq!(interval.tick().await, start + Duration::from_secs(10));
/// # }
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    check(period);
    Interval {
        delay: Box::pin(sleep_until(start)),
        period: period.min(FAR_FUTURE),
        missed_tick_behavior: MissedTickBehavior::default(),
        #[cfg(feature = "tracing")]
        span: IntervalSpan::new(),
    }
}

#[track_caller]
fn check(period: Duration) {
    assert!(!period.is_zero(), "`period` must be non-zero.");
}

/// What an [`Interval`] does about a missed tick: one that is taken more than five milliseconds after it was due.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use pointsman::time::{Duration, Instant, MissedTickBehavior, advance, interval};
///
/// let start = Instant::now();
/// let mut interval = interval(Duration::from_secs(10));
/// interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
/// interval.tick().await;
/// advance(Duration::from_secs(25)).await;
/// assert_eq!(interval.tick().await - start, Duration::from_secs(10));
/// assert_eq!(interval.tick().await - start, Duration::from_secs(30));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MissedTickBehavior {
    /// Missed ticks fire at once, until the interval has caught up. The number of ticks is right.
    #[default]
    Burst,
    /// The next tick fires one period after the late one. Ticks are at least a period apart.
    Delay,
    /// Missed ticks are skipped. Each tick fires a multiple of the period after the first.
    Skip,
}

impl MissedTickBehavior {
    /// When the next tick is due after one that was due at `due` and is taken at `now`.
    fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        match self {
            Self::Burst => due + period,
            Self::Delay => now + period,
            Self::Skip => {
                let since = (now - due).as_nanos() % period.as_nanos();
                // Less than the period, which is below 2^64 nanoseconds: see `FAR_FUTURE`.
                now + (period - Duration::from_nanos(since as u64))
            }
        }
    }
}

/// A sequence of periodic ticks, from [`interval`] and [`interval_at`].
///
///
/// ```
/// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use pointsman::time::{Duration, Instant, interval};
///
/// let start = Instant::now();
/// let mut beats = interval(Duration::from_secs(1));
/// for beat in 0..3 {
///     assert_eq!(beats.tick().await, start + beat * beats.period());
/// }
/// # }
/// ```
pub struct Interval {
    /// Boxed, so that the interval can be moved.
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed_tick_behavior: MissedTickBehavior,
    #[cfg(feature = "tracing")]
    span: IntervalSpan,
}

impl Interval {
    /// Waits for the next tick, and returns the instant at which it was due.
    ///
    /// # Cancel safety
    /// Cancel safe: a tick is consumed only when the future is ready.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, interval};
    ///
    /// let start = Instant::now();
    /// let mut interval = interval(Duration::from_millis(10));
    /// assert_eq!(interval.tick().await, start);
    /// assert_eq!(interval.tick().await, start + Duration::from_millis(10));
    /// # }
    /// ```
    pub async fn tick(&mut self) -> Instant {
        #[cfg(feature = "tracing")]
        let span = self.span.span();
        let ticked = poll_fn(|cx| self.poll_tick(cx));
        traced_op!(&span, "Interval::tick", "poll_tick", ticked).await
    }

    /// Polls for the next tick. If pending, the task is woken when the tick is due. If ready, no wakeup is scheduled
    /// for the following tick until it is polled for.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, interval};
    /// use std::future::poll_fn;
    /// use std::task::Poll;
    ///
    /// let mut interval = interval(Duration::from_secs(10));
    /// poll_fn(|cx| {
    ///     assert!(interval.poll_tick(cx).is_ready());
    ///     assert!(interval.poll_tick(cx).is_pending());
    ///     Poll::Ready(())
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.delay.as_mut().poll(cx));
        let due = self.delay.deadline();
        let now = Instant::now();
        let next = if now > due + TOLERANCE {
            self.missed_tick_behavior.next(due, now, self.period)
        } else {
            due + self.period
        };
        self.delay.as_mut().restart(next);
        Poll::Ready(due)
    }

    /// Resets the interval: the next tick fires one period from now.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, advance, interval};
    ///
    /// let start = Instant::now();
    /// let mut interval = interval(Duration::from_secs(10));
    /// interval.tick().await;
    /// advance(Duration::from_secs(4)).await;
    /// interval.reset();
    /// assert_eq!(interval.tick().await - start, Duration::from_secs(14));
    /// # }
    /// ```
    pub fn reset(&mut self) {
        self.reset_at(Instant::now() + self.period);
    }

    /// Resets the interval: the next tick fires now, the others every period after it.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, advance, interval};
    ///
    /// let start = Instant::now();
    /// let mut interval = interval(Duration::from_secs(10));
    /// interval.tick().await;
    /// advance(Duration::from_secs(4)).await;
    /// interval.reset_immediately();
    /// assert_eq!(interval.tick().await - start, Duration::from_secs(4));
    /// assert_eq!(interval.tick().await - start, Duration::from_secs(14));
    /// # }
    /// ```
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// Resets the interval: the next tick fires after this time, the others every period after it.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, interval};
    ///
    /// let start = Instant::now();
    /// let mut interval = interval(Duration::from_secs(10));
    /// interval.reset_after(Duration::from_secs(3));
    /// assert_eq!(interval.tick().await - start, Duration::from_secs(3));
    /// assert_eq!(interval.tick().await - start, Duration::from_secs(13));
    /// # }
    /// ```
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now() + after.min(FAR_FUTURE));
    }

    /// Resets the interval: the next tick fires at `deadline`, the others every period after it.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, interval};
    ///
    /// let next = Instant::now() + Duration::from_secs(3);
    /// let mut interval = interval(Duration::from_secs(10));
    /// interval.reset_at(next);
    /// assert_eq!(interval.tick().await, next);
    /// assert_eq!(interval.tick().await, next + Duration::from_secs(10));
    /// # }
    /// ```
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.as_mut().reset(deadline);
    }

    /// Returns the behavior for missed ticks; [`Burst`](MissedTickBehavior::Burst) by default.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::time::{Duration, MissedTickBehavior, interval};
    ///
    /// let interval = interval(Duration::from_secs(10));
    /// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Burst);
    /// # }
    /// ```
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed_tick_behavior
    }

    /// Sets the behavior for missed ticks, from the next tick on.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, MissedTickBehavior, advance, interval};
    ///
    /// let start = Instant::now();
    /// let mut interval = interval(Duration::from_secs(10));
    /// interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    /// advance(Duration::from_secs(12)).await;
    /// assert_eq!(interval.tick().await - start, Duration::ZERO);
    /// assert_eq!(interval.tick().await - start, Duration::from_secs(22));
    /// # }
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed_tick_behavior = behavior;
    }

    /// Returns the period.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::time::{Duration, interval};
    ///
    /// assert_eq!(interval(Duration::from_secs(3)).period(), Duration::from_secs(3));
    /// # }
    /// ```
    pub fn period(&self) -> Duration {
        self.period
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Interval")
            .field("next", &self.delay.deadline())
            .field("period", &self.period)
            .field("missed_tick_behavior", &self.missed_tick_behavior)
            .finish()
    }
}
