//! Points in time on the runtime's clock.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use super::clock;

/// About thirty years: each supported operating system can represent an instant that far away.
pub(super) const FAR_FUTURE: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// A point in time. Monotonic.
///
/// A wrapper of [`std::time::Instant`], to and from which it converts at no cost. [`now`](Self::now) reads the clock of
/// the current runtime, which tests can [`pause`](super::pause()).
///
/// ```
/// use pointsman::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let end = start + Duration::from_millis(20);
/// assert_eq!(end - start, Duration::from_millis(20));
/// assert_eq!(start - end, Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(std::time::Instant);

impl Instant {
    /// Returns the current time: that of the current runtime's clock if it was ever paused, otherwise of the operating
    /// system's monotonic clock.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, sleep};
    ///
    /// let start = Instant::now();
    /// sleep(Duration::from_secs(3600)).await;
    /// assert_eq!(start.elapsed(), Duration::from_secs(3600));
    /// # }
    /// ```
    #[inline]
    pub fn now() -> Self {
        clock::now()
    }

    /// Converts from `std`.
    ///
    /// ```
    /// # use pointsman::time::Instant;
    /// let before = std::time::Instant::now();
    /// assert!(Instant::from_std(before) <= Instant::now());
    /// ```
    #[inline]
    pub fn from_std(std: std::time::Instant) -> Self {
        Self(std)
    }

    /// Converts to `std`.
    ///
    /// ```
    /// # use pointsman::time::Instant;
    /// let now = Instant::now();
    /// assert_eq!(Instant::from_std(now.into_std()), now);
    /// ```
    #[inline]
    pub fn into_std(self) -> std::time::Instant {
        self.0
    }

    /// Returns the time elapsed since `earlier`, or zero if `earlier` is later.
    ///
    /// ```
    /// # use pointsman::time::{Duration, Instant};
    /// let start = Instant::now();
    /// let end = start + Duration::from_secs(1);
    /// assert_eq!(end.duration_since(start), Duration::from_secs(1));
    /// assert_eq!(start.duration_since(end), Duration::ZERO);
    /// ```
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time elapsed since `earlier`, or `None` if `earlier` is later.
    ///
    /// ```
    /// use pointsman::time::{Duration, Instant};
    ///
    /// let start = Instant::now();
    /// let end = start + Duration::from_secs(1);
    /// assert_eq!(end.checked_duration_since(start), Some(Duration::from_secs(1)));
    /// assert_eq!(start.checked_duration_since(end), None);
    /// ```
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Returns the time elapsed since `earlier`, or zero if `earlier` is later, like
    /// [`duration_since`](Self::duration_since).
    ///
    /// ```
    /// # use pointsman::time::{Duration, Instant};
    /// let deadline = Instant::now();
    /// let late = deadline + Duration::from_secs(1);
    /// assert_eq!(deadline.saturating_duration_since(late), Duration::ZERO);
    /// assert_eq!(late.saturating_duration_since(deadline), Duration::from_secs(1));
    /// ```
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time elapsed since this instant, or zero if it is in the future.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use pointsman::time::{Duration, Instant, advance};
    ///
    /// let start = Instant::now();
    /// advance(Duration::from_secs(2)).await;
    /// assert_eq!(start.elapsed(), Duration::from_secs(2));
    /// # }
    /// ```
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// Returns the instant that is later by `duration`, or `None` if it cannot be represented.
    ///
    /// ```
    /// use pointsman::time::{Duration, Instant};
    ///
    /// assert_eq!(Instant::now().checked_add(Duration::MAX), None);
    /// ```
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }

    /// Returns the instant that is earlier by `duration`, or `None` if it cannot be represented.
    ///
    /// ```
    /// # use pointsman::time::{Duration, Instant};
    /// let end = Instant::now() + Duration::from_secs(1);
    /// let start = end.checked_sub(Duration::from_secs(1)).unwrap();
    /// assert_eq!(end - start, Duration::from_secs(1));
    /// assert_eq!(end.checked_sub(Duration::MAX), None);
    /// ```
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration).map(Self)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(std: std::time::Instant) -> Self {
        Self(std)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> Self {
        instant.0
    }
}

/// Panics on overflow.
impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

/// Zero if `earlier` is later.
impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }
}

/// Panics on overflow.
impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0 - duration)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        self.0 -= duration;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
