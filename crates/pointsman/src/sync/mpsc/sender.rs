//! The senders of a bounded channel.

use std::fmt;
use std::time::Duration;

use super::WeakSender;
use super::channel::Producer;
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::limit::Capacity;
use super::permit::{OwnedPermit, Permit, PermitIterator};
use super::reserve::reserve;
use crate::park::block_outside;

/// Sends messages to the associated [`Receiver`](super::Receiver). Can be cloned. Created by [`channel`](super::channel).
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
pub struct Sender<T>(pub(super) Producer<T, Capacity>);

impl<T> Sender<T> {
    fn limit(&self) -> &Capacity {
        &self.0.channel().limit
    }

    /// Sends a message; waits while the channel is full, in the order of the requests. `Ok` means that the
    /// receiver was open, not that it receives the message.
    ///
    /// A cancelled call has not sent the message and drops it. To keep the message, wait with
    /// [`reserve`](Self::reserve) instead. Cancelling also gives up the place in the queue.
    ///
    /// # Errors
    /// Returns the message if the receiver was dropped or closed.
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

    /// Sends a message if there is capacity.
    ///
    /// # Errors
    /// Returns the message if the channel is full or other senders wait, or if the receiver was dropped or
    /// closed.
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

    /// Like [`send`](Self::send), for at most `timeout`.
    ///
    /// # Errors
    /// Returns the message if there was no capacity in time, or if the receiver was dropped or closed.
    ///
    /// # Panics
    /// Outside of a runtime with timers.
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

    /// Like [`send`](Self::send), but blocks the thread.
    ///
    /// # Errors
    /// Returns the message if the receiver was dropped or closed.
    ///
    /// # Panics
    /// Within a runtime.
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

    /// Returns whether the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// assert!(!tx.is_closed());
    /// rx.close();
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.limit().permits.is_closed()
    }

    /// Reserves capacity for one message; waits until it is available, in the order of the requests.
    ///
    /// Cancel safe: a cancelled call gives up its place in the queue and nothing else.
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
        reserve(self.0.channel(), 1).await?;
        Ok(Permit { channel: &self.0 })
    }

    /// Reserves capacity for `n` messages; waits until it is available, in the order of the requests. A later
    /// request waits behind this one even if there is capacity for it. Cancel safe as
    /// [`reserve`](Self::reserve).
    ///
    /// # Errors
    /// If the receiver was dropped or closed, or `n` exceeds the [capacity](Self::max_capacity) of the
    /// channel.
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
        reserve(self.0.channel(), n).await?;
        Ok(PermitIterator {
            channel: &self.0,
            count: n,
        })
    }

    /// Like [`reserve`](Self::reserve). The permit owns the sender.
    /// Cancelling drops the sender.
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
        reserve(self.0.channel(), 1).await?;
        Ok(OwnedPermit::new(self.0))
    }

    /// Reserves capacity for one message if it is available.
    ///
    /// # Errors
    /// If the channel is full or other senders wait, or if the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert!(tx.try_reserve().is_err());
    /// drop(permit);
    /// assert!(tx.try_reserve().is_ok());
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.limit().try_reserve(1)?;
        Ok(Permit { channel: &self.0 })
    }

    /// Reserves capacity for `n` messages if it is available. With `n` = 0 it fails only if the channel is
    /// closed.
    ///
    /// # Errors
    /// If there is less capacity or other senders wait, or if the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(4);
    /// assert_eq!(tx.try_reserve_many(4).unwrap().len(), 4);
    /// assert!(tx.try_reserve_many(5).is_err());
    /// ```
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        self.limit().try_reserve(n)?;
        Ok(PermitIterator {
            channel: &self.0,
            count: n,
        })
    }

    /// Like [`try_reserve`](Self::try_reserve). The permit owns the
    /// sender.
    ///
    /// # Errors
    /// Returns the sender if the channel is full or other senders wait, or if the receiver was dropped or
    /// closed.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let _permit = tx.clone().try_reserve_owned().unwrap();
    /// let tx = tx.try_reserve_owned().unwrap_err().into_inner();
    /// assert_eq!(tx.capacity(), 0);
    /// ```
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.limit().try_reserve(1) {
            Ok(()) => Ok(OwnedPermit::new(self.0)),
            Err(TrySendError::Full(())) => Err(TrySendError::Full(self)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    /// Returns whether both senders belong to the same channel.
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

    /// Returns the available capacity. A message uses capacity until it is received, a permit until it is
    /// dropped.
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
        self.limit().permits.available()
    }

    /// Returns the capacity of the channel when it is empty.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!((tx.capacity(), tx.max_capacity()), (1, 2));
    /// ```
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.limit().max
    }

    /// Returns a sender that does not keep the channel open.
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

    /// Returns the number of senders.
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

    /// Returns the number of weak senders.
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
