//! What can go wrong with time.

use std::fmt;
use std::io;

/// Why a timer could not be kept.
///
/// No operation of this crate returns it: a timer that cannot be kept panics. It exists for code that
/// names it.
#[derive(Clone, Copy, Debug)]
pub struct Error(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// The runtime of the timer has shut down.
    pub fn shutdown() -> Self {
        Self(Kind::Shutdown)
    }

    /// Whether the runtime of the timer has shut down.
    ///
    /// ```
    /// use pointsman::time::error::Error;
    ///
    /// assert!(Error::shutdown().is_shutdown());
    /// assert!(!Error::invalid().is_shutdown());
    /// ```
    pub fn is_shutdown(&self) -> bool {
        matches!(self.0, Kind::Shutdown)
    }

    /// There are too many timers.
    pub fn at_capacity() -> Self {
        Self(Kind::AtCapacity)
    }

    /// Whether there are too many timers.
    pub fn is_at_capacity(&self) -> bool {
        matches!(self.0, Kind::AtCapacity)
    }

    /// The deadline is too far away.
    pub fn invalid() -> Self {
        Self(Kind::Invalid)
    }

    /// Whether the deadline is too far away.
    pub fn is_invalid(&self) -> bool {
        matches!(self.0, Kind::Invalid)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Kind::Shutdown => "the runtime of the timer has shut down",
            Kind::AtCapacity => "there are too many timers",
            Kind::Invalid => "the deadline is too far away",
        })
    }
}

impl std::error::Error for Error {}

/// The time of a [`timeout`](super::timeout()) was over before its future was ready.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::time::{Duration, timeout};
///
/// let outcome = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
/// let elapsed = outcome.unwrap_err();
/// assert_eq!(elapsed.to_string(), "deadline has elapsed");
/// assert_eq!(std::io::Error::from(elapsed).kind(), std::io::ErrorKind::TimedOut);
/// # }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl Elapsed {
    pub(crate) fn new() -> Self {
        Self(())
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        "deadline has elapsed".fmt(formatter)
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(_: Elapsed) -> Self {
        io::ErrorKind::TimedOut.into()
    }
}
