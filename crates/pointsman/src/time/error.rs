//! Errors of timers.

use std::fmt;
use std::io;

/// An error of a timer.
///
/// No operation of this crate returns it: a timer that cannot be registered panics. It exists for code that names the
/// type.
///
/// ```
/// use pointsman::time::error::Error;
///
/// let error: Box<dyn std::error::Error> = Error::at_capacity().into();
/// assert_eq!(error.to_string(), "there are too many timers");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Error(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// Creates the error that the runtime of the timer has shut down.
    ///
    /// ```
    /// # use pointsman::time::error::Error;
    /// assert!(Error::shutdown().to_string().contains("has shut down"));
    /// ```
    pub fn shutdown() -> Self {
        Self(Kind::Shutdown)
    }

    /// Returns whether the runtime of the timer has shut down.
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

    /// Creates the error that there are too many timers.
    ///
    /// ```
    /// # use pointsman::time::error::Error;
    /// assert!(Error::at_capacity().to_string().contains("too many"));
    /// ```
    pub fn at_capacity() -> Self {
        Self(Kind::AtCapacity)
    }

    /// Returns whether there are too many timers.
    ///
    /// ```
    /// # use pointsman::time::error::Error;
    /// assert!(Error::at_capacity().is_at_capacity());
    /// assert!(!Error::shutdown().is_at_capacity());
    /// ```
    pub fn is_at_capacity(&self) -> bool {
        matches!(self.0, Kind::AtCapacity)
    }

    /// Creates the error that the deadline is too far away.
    ///
    /// ```
    /// # use pointsman::time::error::Error;
    /// assert!(Error::invalid().to_string().contains("too far away"));
    /// ```
    pub fn invalid() -> Self {
        Self(Kind::Invalid)
    }

    /// Returns whether the deadline is too far away.
    ///
    /// ```
    /// # use pointsman::time::error::Error;
    /// assert!(Error::invalid().is_invalid());
    /// assert!(!Error::at_capacity().is_invalid());
    /// ```
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

/// The error of a [`timeout`](super::timeout()) that elapsed before its future completed.
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
