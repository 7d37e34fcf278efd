//! Errors of the watch channel.

use std::error::Error;
use std::fmt;

/// Error of a send without receivers. Holds the value.
///
/// ```
/// let (tx, rx) = pointsman::sync::watch::channel("a");
/// drop(rx);
/// let error = tx.send("b").unwrap_err();
/// assert_eq!(error.to_string(), "channel closed");
/// assert_eq!(error.0, "b");
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("channel closed")
    }
}

impl<T> Error for SendError<T> {}

/// Error of waiting for a change: all senders are dropped.
///
/// ```
/// let (tx, rx) = pointsman::sync::watch::channel(1);
/// drop(tx);
/// assert_eq!(rx.has_changed().unwrap_err().to_string(), "channel closed");
/// ```
#[derive(Debug, Clone)]
pub struct RecvError(pub(super) ());

impl fmt::Display for RecvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("channel closed")
    }
}

impl Error for RecvError {}
