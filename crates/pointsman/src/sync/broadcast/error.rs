//! Errors of the broadcast channel.

use std::error::Error;
use std::fmt;

/// Error of a send without receivers. Holds the message.
///
/// ```
/// let tx = pointsman::sync::broadcast::Sender::new(1);
/// let error = tx.send("a").unwrap_err();
/// assert_eq!(error.to_string(), "channel closed");
/// assert_eq!(error.0, "a");
/// ```
#[derive(Debug)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("channel closed")
    }
}

impl<T: fmt::Debug> Error for SendError<T> {}

/// Error of [`recv`](super::Receiver::recv).
///
/// ```
/// use pointsman::sync::broadcast::{channel, error::RecvError};
///
/// let (tx, mut rx) = channel(1);
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// drop(tx);
/// assert_eq!(rx.blocking_recv(), Err(RecvError::Lagged(1)));
/// assert_eq!(rx.blocking_recv(), Ok(2));
/// assert_eq!(rx.blocking_recv(), Err(RecvError::Closed));
/// ```
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum RecvError {
    /// All senders are dropped and all messages received.
    Closed,
    /// The receiver missed this many messages, which were overwritten. The next call returns the oldest
    /// retained message.
    Lagged(u64),
}

impl fmt::Display for RecvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => formatter.write_str("channel closed"),
            Self::Lagged(missed) => write!(formatter, "channel lagged by {missed}"),
        }
    }
}

impl Error for RecvError {}

/// Error of [`try_recv`](super::Receiver::try_recv).
///
/// ```
/// use pointsman::sync::broadcast::{channel, error::TryRecvError};
///
/// let (tx, mut rx) = channel(1);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(1)));
/// assert_eq!(rx.try_recv(), Ok(2));
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum TryRecvError {
    /// There is no message yet.
    Empty,
    /// All senders are dropped and all messages received.
    Closed,
    /// The receiver missed this many messages, which were overwritten. The next call returns the oldest
    /// retained message.
    Lagged(u64),
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("channel empty"),
            Self::Closed => formatter.write_str("channel closed"),
            Self::Lagged(missed) => write!(formatter, "channel lagged by {missed}"),
        }
    }
}

impl Error for TryRecvError {}
