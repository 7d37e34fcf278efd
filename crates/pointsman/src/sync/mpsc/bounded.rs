//! Channels with a bound.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use super::channel::{self, Consumer, Producer, WeakProducer};
use super::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::limit::Room;
use super::permit::{OwnedPermit, Permit, PermitIterator};
use super::reserve::take;
use crate::park::block_outside;

/// Makes a channel for at most `buffer` messages on their way. While it is full, senders wait, and are
/// served in the order in which they came.
///
/// # Panics
/// If `buffer` is 0, or larger than [`usize::MAX`] / 8.
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::mpsc::channel(2);
/// tx.send("a").await.unwrap();
/// tx.send("b").await.unwrap();
/// assert!(tx.try_send("c").is_err());
/// assert_eq!(rx.recv().await, Some("a"));
/// # });
/// ```
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    assert!(
        buffer <= Room::MAXIMUM,
        "a semaphore may not have more than MAX_PERMITS permits ({})",
        Room::MAXIMUM
    );
    let (producer, consumer) = channel::channel(Room::new(buffer));
    (Sender(producer), Receiver(consumer))
}

/// Sends to a [`Receiver`]. May be cloned. Made by [`channel`].
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
/// tx.send(1).await.unwrap();
/// drop(tx);
/// assert_eq!(rx.recv().await, Some(1));
/// assert_eq!(rx.recv().await, None);
/// # });
/// ```
pub struct Sender<T>(pub(super) Producer<T, Room>);

impl<T> Sender<T> {
    fn room(&self) -> &Room {
        &self.0.channel().limit
    }

    /// Sends; waits while the channel is full, in the order in which senders came. `Ok` says that the
    /// receiver was open, not that it will receive.
    ///
    /// Cancel safe in that a message is either sent or dropped with the future. To keep it, wait with
    /// [`reserve`](Self::reserve) instead. Given up, a sender loses its turn.
    ///
    /// # Errors
    /// Gives the message back if the receiver was dropped or closed.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// let (tx, rx) = pointsman::sync::mpsc::channel(1);
    /// drop(rx);
    /// assert_eq!(tx.send(1).await.unwrap_err().0, 1);
    /// # });
    /// ```
    pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
        match self.reserve().await {
            Ok(permit) => {
                permit.send(value);
                Ok(())
            }
            Err(_) => Err(SendError(value)),
        }
    }

    /// Waits until the receiver is dropped or closed. Cancel safe.
    ///
    /// ```
    /// # use std::pin::pin;
    /// # futures::executor::block_on(async {
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let mut closed = pin!(tx.closed());
    /// assert!(futures::poll!(closed.as_mut()).is_pending());
    /// rx.close();
    /// closed.await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        self.0.channel().closed(|| self.is_closed()).await;
    }

    /// Sends if there is room.
    ///
    /// # Errors
    /// Gives the message back if the channel is full, or others wait already, or the receiver was dropped
    /// or closed.
    ///
    /// ```
    /// use pointsman::sync::mpsc::{channel, error::TrySendError};
    ///
    /// let (tx, rx) = channel(1);
    /// assert_eq!(tx.try_send(1), Ok(()));
    /// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    /// drop(rx);
    /// assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match self.try_reserve() {
            Ok(permit) => {
                permit.send(message);
                Ok(())
            }
            Err(TrySendError::Full(())) => Err(TrySendError::Full(message)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(message)),
        }
    }

    /// Sends as [`send`](Self::send), and gives up after `timeout`. Cancel safe as `send`.
    ///
    /// # Errors
    /// Gives the message back if there was no room in time, or the receiver was dropped or closed.
    ///
    /// # Panics
    /// Outside of a runtime that has timers.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::sync::mpsc::{channel, error::SendTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (tx, _rx) = channel(1);
    /// tx.send(1).await.unwrap();
    /// let sent = tx.send_timeout(2, Duration::from_millis(5)).await;
    /// assert_eq!(sent, Err(SendTimeoutError::Timeout(2)));
    /// # }
    /// ```
    pub async fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        match crate::time::timeout(timeout, self.reserve()).await {
            Err(_) => Err(SendTimeoutError::Timeout(value)),
            Ok(Err(_)) => Err(SendTimeoutError::Closed(value)),
            Ok(Ok(permit)) => {
                permit.send(value);
                Ok(())
            }
        }
    }

    /// Sends as [`send`](Self::send), and blocks this thread until then.
    ///
    /// # Errors
    /// Gives the message back if the receiver was dropped or closed.
    ///
    /// # Panics
    /// Within a runtime, where it would keep tasks from running.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
    /// let thread = std::thread::spawn(move || (0..3).try_for_each(|n| tx.blocking_send(n)));
    /// assert_eq!(rx.blocking_recv(), Some(0));
    /// assert_eq!(rx.blocking_recv(), Some(1));
    /// # assert_eq!(rx.blocking_recv(), Some(2));
    /// # thread.join().unwrap().unwrap();
    /// ```
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        block_outside(self.send(value))
    }

    /// Whether the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// assert!(!tx.is_closed());
    /// rx.close();
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.room().permits.is_closed()
    }

    /// Waits for room for one message, and keeps it. Fair: first come, first served.
    ///
    /// Cancel safe: given up, it loses its turn and nothing else.
    ///
    /// # Errors
    /// If the receiver was dropped or closed.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
    /// tx.reserve().await.unwrap().send(1);
    /// assert_eq!(rx.recv().await, Some(1));
    /// # });
    /// ```
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        take(self.0.channel(), 1).await?;
        Ok(Permit { channel: &self.0 })
    }

    /// Waits for room for `n` messages, and keeps it. Fair: who comes later waits behind, also if there is
    /// room for it. Cancel safe as [`reserve`](Self::reserve).
    ///
    /// # Errors
    /// If the receiver was dropped or closed, or `n` is more than the channel can hold.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// let (tx, _rx) = pointsman::sync::mpsc::channel(4);
    /// let permits = tx.reserve_many(3).await.unwrap();
    /// assert_eq!((permits.len(), tx.capacity()), (3, 1));
    /// for permit in permits {
    ///     permit.send("message");
    /// }
    /// assert!(tx.reserve_many(5).await.is_err());
    /// # });
    /// ```
    pub async fn reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, SendError<()>> {
        take(self.0.channel(), n).await?;
        Ok(PermitIterator {
            channel: &self.0,
            count: n,
        })
    }

    /// As [`reserve`](Self::reserve), with a permit that owns the sender. Given up, the sender is dropped.
    ///
    /// # Errors
    /// If the receiver was dropped or closed.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
    /// let permit = tx.clone().reserve_owned().await.unwrap();
    /// std::thread::spawn(move || permit.send(1));
    /// assert_eq!(rx.recv().await, Some(1));
    /// # });
    /// ```
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        take(self.0.channel(), 1).await?;
        Ok(OwnedPermit::new(self.0))
    }

    /// Takes room for one message if there is.
    ///
    /// # Errors
    /// If the channel is full, or others wait already, or the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert!(tx.try_reserve().is_err());
    /// drop(permit);
    /// assert!(tx.try_reserve().is_ok());
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.room().try_take(1)?;
        Ok(Permit { channel: &self.0 })
    }

    /// Takes room for `n` messages if there is. For 0 there always is, until the channel is closed.
    ///
    /// # Errors
    /// If there is no such room, or others wait already, or the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(4);
    /// assert_eq!(tx.try_reserve_many(4).unwrap().len(), 4);
    /// assert!(tx.try_reserve_many(5).is_err());
    /// ```
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        self.room().try_take(n)?;
        Ok(PermitIterator {
            channel: &self.0,
            count: n,
        })
    }

    /// As [`try_reserve`](Self::try_reserve), with a permit that owns the sender.
    ///
    /// # Errors
    /// Gives the sender back if the channel is full, or others wait already, or the receiver was dropped or
    /// closed.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let _permit = tx.clone().try_reserve_owned().unwrap();
    /// let tx = tx.try_reserve_owned().unwrap_err().into_inner();
    /// assert_eq!(tx.capacity(), 0);
    /// ```
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.room().try_take(1) {
            Ok(()) => Ok(OwnedPermit::new(self.0)),
            Err(TrySendError::Full(())) => Err(TrySendError::Full(self)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    /// Whether both send to the same receiver.
    ///
    /// ```
    /// # use pointsman::sync::mpsc;
    /// let (tx, _rx) = mpsc::channel::<u32>(1);
    /// let (other, _other_rx) = mpsc::channel(1);
    /// assert!(tx.same_channel(&tx.clone()));
    /// assert!(!tx.same_channel(&other));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    /// For how many messages there is room now.
    /// A message takes room until it is received, and a permit until it is dropped.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// let permit = tx.try_reserve().unwrap();
    /// assert_eq!(tx.capacity(), 0);
    /// drop(permit);
    /// assert_eq!(tx.capacity(), 1);
    /// rx.try_recv().unwrap();
    /// assert_eq!(tx.capacity(), 2);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.room().permits.available()
    }

    /// For how many messages there is room when the channel is empty.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!((tx.capacity(), tx.max_capacity()), (1, 2));
    /// ```
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.room().bound
    }

    /// A sender that does not keep the channel open.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert_eq!(rx.blocking_recv(), None);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use = "the sender itself stays as it is"]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender(self.0.downgrade())
    }

    /// How many senders there are.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// drop(other);
    /// assert_eq!(tx.strong_count(), 1);
    /// ```
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.0.channel().strong_count()
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
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

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Sender").field(&self.0).finish()
    }
}

/// A sender that does not keep the channel open: the receiver learns that all have gone while it is still
/// there. [`upgrade`](Self::upgrade) it to send. Made by [`Sender::downgrade`].
///
/// ```
/// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T>(WeakProducer<T, Room>);

impl<T> WeakSender<T> {
    /// A sender, if there still is one.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().try_send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.0.upgrade().map(Sender)
    }

    /// How many senders there are.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let weak = tx.downgrade();
    /// assert_eq!(weak.strong_count(), 1);
    /// drop(tx);
    /// assert_eq!(weak.strong_count(), 0);
    /// ```
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.0.channel().strong_count()
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
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

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WeakSender").finish_non_exhaustive()
    }
}

/// Receives from [`Sender`]s, in the order of sending. Made by [`channel`].
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::mpsc::channel(2);
/// std::thread::spawn(move || (0..5).try_for_each(|number| tx.blocking_send(number)));
/// let mut sum = 0;
/// while let Some(number) = rx.recv().await {
///     sum += number;
/// }
/// assert_eq!(sum, 10);
/// # });
/// ```
pub struct Receiver<T>(Consumer<T, Room>);

impl<T> Unpin for Receiver<T> {}

impl<T> Receiver<T> {
    receive_methods!(
        "let (tx, mut rx) = pointsman::sync::mpsc::channel(4);",
        "tx.try_send(1).unwrap();"
    );

    /// For how many messages there is room now.
    /// A message takes room until it is received, and a permit until it is dropped.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(rx.capacity(), 1);
    /// rx.try_recv().unwrap();
    /// assert_eq!(rx.capacity(), 2);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.channel().limit.permits.available()
    }

    /// For how many messages there is room when the channel is empty.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!((rx.capacity(), rx.max_capacity()), (1, 2));
    /// ```
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.0.channel().limit.bound
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Receiver").field(&self.0).finish()
    }
}
