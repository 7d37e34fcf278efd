//! Errors of the oneshot channel.

use std::error::Error;
use std::fmt;

/// Error of receiving: the sender was dropped without a value, or the receiver was closed before one was
/// sent.
///
/// ```
/// let (tx, rx) = pointsman::sync::oneshot::channel::<u32>();
/// drop(tx);
/// assert_eq!(rx.blocking_recv().unwrap_err().to_string(), "channel closed");
/// ```
#[derive(Debug, Eq, PartialEq, Clone)]
pub struct RecvError(pub(super) ());

impl fmt::Display for RecvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("channel closed")
    }
}

impl Error for RecvError {}

/// Error of [`try_recv`](super::Receiver::try_recv).
///
/// ```
/// use pointsman::sync::oneshot::{channel, error::TryRecvError};
///
/// let (tx, mut rx) = channel::<u32>();
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Debug, Eq, PartialEq, Clone)]
pub enum TryRecvError {
    /// No value has been sent yet.
    Empty,
    /// The channel is closed without a value, or the value was received already.
    Closed,
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "channel empty",
            Self::Closed => "channel closed",
        })
    }
}

impl Error for TryRecvError {}
