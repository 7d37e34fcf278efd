//! Errors of the semaphore.

use std::error::Error;
use std::fmt;

/// Error of an acquire from a [closed](super::Semaphore::close) semaphore.
///
/// ```
/// # use pointsman::sync::Semaphore;
/// let semaphore = Semaphore::new(1);
/// semaphore.close();
/// let error = semaphore.blocking_acquire().unwrap_err();
/// assert_eq!(error.to_string(), "semaphore closed");
/// ```
#[derive(Debug)]
pub struct AcquireError(pub(super) ());

impl fmt::Display for AcquireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("semaphore closed")
    }
}

impl Error for AcquireError {}

/// Error of [`Semaphore::try_acquire`](super::Semaphore::try_acquire).
///
/// ```
/// # use pointsman::sync::{Semaphore, TryAcquireError};
/// let semaphore = Semaphore::new(0);
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
/// semaphore.close();
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is [closed](super::Semaphore::close).
    Closed,
    /// Fewer permits are available than requested, or other tasks wait.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Closed => "semaphore closed",
            Self::NoPermits => "no permits available",
        })
    }
}

impl Error for TryAcquireError {}
