//! Unbounded channels.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use super::channel::{Consumer, Producer, WeakProducer, channel};
use super::error::{SendError, TryRecvError};
use super::limit::Unbounded;
use crate::park::block_outside;

/// Creates an unbounded channel. Sending does not wait; the number of messages is limited by memory only.
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::mpsc::unbounded_channel();
/// tx.send(1).unwrap();
/// drop(tx);
/// assert_eq!(rx.recv().await, Some(1));
/// assert_eq!(rx.recv().await, None);
/// # });
/// ```
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (producer, consumer) = channel(Unbounded);
    (UnboundedSender(producer), UnboundedReceiver(consumer))
}

/// Sends messages to the associated [`UnboundedReceiver`]. Can be cloned. Created by [`unbounded_channel`].
///
/// ```
/// let (tx, mut rx) = pointsman::sync::mpsc::unbounded_channel();
/// let other = tx.clone();
/// tx.send("a").unwrap();
/// other.send("b").unwrap();
/// assert_eq!((rx.try_recv(), rx.try_recv()), (Ok("a"), Ok("b")));
/// ```
pub struct UnboundedSender<T>(Producer<T, Unbounded>);

impl<T> UnboundedSender<T> {
    /// Sends a message, without waiting. `Ok` means that the receiver was open, not that it receives the
    /// message.
    ///
    /// # Errors
    /// Returns the message if the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::mpsc::unbounded_channel();
    /// drop(rx);
    /// assert_eq!(tx.send(1).unwrap_err().0, 1);
    /// ```
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.channel().queue.push(message).map_err(SendError)
    }

    /// Waits until the receiver is dropped or closed. Cancel safe.
    ///
    /// ```
    /// # use std::pin::pin;
    /// # futures::executor::block_on(async {
    /// let (tx, rx) = pointsman::sync::mpsc::unbounded_channel::<()>();
    /// let mut closed = pin!(tx.closed());
    /// assert!(futures::poll!(closed.as_mut()).is_pending());
    /// drop(rx);
    /// closed.await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        self.0.channel().closed(|| self.is_closed()).await;
    }

    /// Returns whether the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::unbounded_channel::<u32>();
    /// assert!(!tx.is_closed());
    /// rx.close();
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.channel().queue.is_closed()
    }

    /// Returns whether both senders belong to the same channel.
    ///
    /// ```
    /// # use pointsman::sync::mpsc;
    /// let (tx, _rx) = mpsc::unbounded_channel::<u32>();
    /// let (other, _other_rx) = mpsc::unbounded_channel();
    /// assert!(tx.same_channel(&tx.clone()));
    /// assert!(!tx.same_channel(&other));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    /// Returns a sender that does not keep the channel open.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::unbounded_channel::<u32>();
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert_eq!(rx.blocking_recv(), None);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use = "the sender itself stays as it is"]
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender(self.0.downgrade())
    }

    /// Returns the number of senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::unbounded_channel::<u32>();
    /// let other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// drop(other);
    /// assert_eq!(tx.strong_count(), 1);
    /// ```
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.0.channel().strong_count()
    }

    /// Returns the number of weak senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::unbounded_channel::<u32>();
    /// let weak = tx.downgrade();
    /// assert_eq!((tx.strong_count(), tx.weak_count()), (1, 1));
    /// drop(weak);
    /// assert_eq!(tx.weak_count(), 0);
    /// ```
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.0.channel().weak_count()
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("UnboundedSender")
            .field(&self.0)
            .finish()
    }
}

/// A sender that does not keep the channel open. [`upgrade`](Self::upgrade) it to send. Created by
/// [`UnboundedSender::downgrade`].
///
/// ```
/// let (tx, _rx) = pointsman::sync::mpsc::unbounded_channel::<u32>();
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakUnboundedSender<T>(WeakProducer<T, Unbounded>);

impl<T> WeakUnboundedSender<T> {
    /// Returns a sender, unless all senders are dropped.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::unbounded_channel();
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use]
    pub fn upgrade(&self) -> Option<UnboundedSender<T>> {
        self.0.upgrade().map(UnboundedSender)
    }

    /// Returns the number of senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::unbounded_channel::<u32>();
    /// let weak = tx.downgrade();
    /// assert_eq!(weak.strong_count(), 1);
    /// drop(tx);
    /// assert_eq!(weak.strong_count(), 0);
    /// ```
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.0.channel().strong_count()
    }

    /// Returns the number of weak senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::unbounded_channel::<u32>();
    /// let weak = tx.downgrade();
    /// let other = weak.clone();
    /// assert_eq!(weak.weak_count(), 2);
    /// drop(other);
    /// assert_eq!(weak.weak_count(), 1);
    /// ```
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.0.channel().weak_count()
    }
}

impl<T> Clone for WeakUnboundedSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for WeakUnboundedSender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WeakUnboundedSender")
            .finish_non_exhaustive()
    }
}

/// Receives messages from the associated [`UnboundedSender`]s, in the order of sending. Created by
/// [`unbounded_channel`].
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::mpsc::unbounded_channel();
/// std::thread::spawn(move || (0..3).try_for_each(|number| tx.send(number)));
/// let mut sum = 0;
/// while let Some(number) = rx.recv().await {
///     sum += number;
/// }
/// assert_eq!(sum, 3);
/// # });
/// ```
pub struct UnboundedReceiver<T>(Consumer<T, Unbounded>);

impl<T> Unpin for UnboundedReceiver<T> {}

impl<T> UnboundedReceiver<T> {
    receive_methods!(
        "let (tx, mut rx) = pointsman::sync::mpsc::unbounded_channel();",
        "tx.send(1).unwrap();"
    );
}

impl<T> fmt::Debug for UnboundedReceiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("UnboundedReceiver")
            .field(&self.0)
            .finish()
    }
}
