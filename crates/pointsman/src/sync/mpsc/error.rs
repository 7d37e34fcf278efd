//! Errors of the mpsc channels.

use std::error::Error;
use std::fmt;

/// Error of a send to a channel whose receiver was dropped or closed. Holds the message.
///
/// ```
/// let (tx, rx) = pointsman::sync::mpsc::unbounded_channel();
/// drop(rx);
/// let error = tx.send("a").unwrap_err();
/// assert_eq!(error.to_string(), "channel closed");
/// assert_eq!(error.0, "a");
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

/// Error of [`try_send`](super::Sender::try_send). Holds the message.
///
/// ```
/// use pointsman::sync::mpsc::{channel, error::TrySendError};
///
/// let (tx, rx) = channel(1);
/// tx.try_send(1).unwrap();
/// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
/// drop(rx);
/// assert_eq!(tx.try_send(2), Err(TrySendError::Closed(2)));
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// The channel has no capacity now.
    Full(T),
    /// The receiver was dropped or closed.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// Returns the message.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::mpsc::channel(1);
    /// tx.try_send("a").unwrap();
    /// assert_eq!(tx.try_send("b").unwrap_err().into_inner(), "b");
    /// drop(rx);
    /// assert_eq!(tx.try_send("c").unwrap_err().into_inner(), "c");
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(message) | Self::Closed(message) => message,
        }
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(
            match self {
                Self::Full(_) => "Full(..)",
                Self::Closed(_) => "Closed(..)",
            },
            formatter,
        )
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Full(_) => "no available capacity",
            Self::Closed(_) => "channel closed",
        })
    }
}

impl<T> Error for TrySendError<T> {}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        Self::Closed(error.0)
    }
}

/// Error of [`try_recv`](super::Receiver::try_recv).
///
/// ```
/// use pointsman::sync::mpsc::{error::TryRecvError, unbounded_channel};
///
/// let (tx, mut rx) = unbounded_channel::<u32>();
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum TryRecvError {
    /// There is no message yet.
    Empty,
    /// The channel is closed and empty.
    Disconnected,
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "receiving on an empty channel",
            Self::Disconnected => "receiving on a closed channel",
        })
    }
}

impl Error for TryRecvError {}

/// Error of [`send_timeout`](super::Sender::send_timeout). Holds the message.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// # use std::time::Duration;
/// use pointsman::sync::mpsc::{channel, error::SendTimeoutError};
///
/// let (tx, rx) = channel(1);
/// tx.send(1).await.unwrap();
/// let late = tx.send_timeout(2, Duration::from_millis(1)).await;
/// assert_eq!(late, Err(SendTimeoutError::Timeout(2)));
/// drop(rx);
/// let closed = tx.send_timeout(2, Duration::from_secs(1)).await;
/// assert_eq!(closed, Err(SendTimeoutError::Closed(2)));
/// # }
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum SendTimeoutError<T> {
    /// There was no capacity in time.
    Timeout(T),
    /// The receiver was dropped or closed.
    Closed(T),
}

impl<T> SendTimeoutError<T> {
    /// Returns the message.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// # use std::time::Duration;
    /// let (tx, rx) = pointsman::sync::mpsc::channel(1);
    /// drop(rx);
    /// let error = tx.send_timeout("a", Duration::from_secs(1)).await.unwrap_err();
    /// assert_eq!(error.into_inner(), "a");
    /// # }
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(message) | Self::Closed(message) => message,
        }
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(
            match self {
                Self::Timeout(_) => "Timeout(..)",
                Self::Closed(_) => "Closed(..)",
            },
            formatter,
        )
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Timeout(_) => "timed out waiting on send operation",
            Self::Closed(_) => "channel closed",
        })
    }
}

impl<T> Error for SendTimeoutError<T> {}
