//! The senders of a broadcast channel.

use std::fmt;

use super::Receiver;
use super::error::SendError;
use super::ring::Ring;
use crate::loom::sync::Arc;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::task::activity::WaitKind;

/// Sends messages to all [`Receiver`]s. Can be cloned. Created by [`channel`](super::channel).
///
/// ```
/// let (tx, rx) = pointsman::sync::broadcast::channel(4);
/// assert_eq!(tx.send(1).unwrap(), 1);
/// drop(rx);
/// assert!(tx.send(2).is_err());
/// ```
pub struct Sender<T> {
    pub(super) ring: Arc<Ring<T>>,
}

impl<T> Sender<T> {
    /// Creates a sender without receivers.
    ///
    /// # Panics
    /// As [`channel`](super::channel).
    ///
    /// ```
    /// let tx = pointsman::sync::broadcast::Sender::<u32>::new(4);
    /// assert!(tx.send(1).is_err());
    /// let mut rx = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self::with_receivers(capacity, 0)
    }

    #[track_caller]
    pub(super) fn with_receivers(capacity: usize, receivers: usize) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`"
        );
        Self {
            ring: Arc::new(Ring::new(capacity, receivers)),
        }
    }

    /// Sends a message to all current receivers, without waiting, and returns their number. Receivers that
    /// are dropped or lag do not receive it.
    ///
    /// # Errors
    /// Returns the message if there is no receiver. A later send may succeed.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// assert_eq!(tx.send("a").unwrap(), 1);
    /// assert_eq!(rx.try_recv(), Ok("a"));
    /// ```
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        self.ring.send(value)
    }

    /// Returns a new receiver of messages sent from now on.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// let mut late = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(late.try_recv(), Ok(2));
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::subscribe(&self.ring)
    }

    /// Returns a sender that does not keep the channel open.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use = "the sender itself stays as it is"]
    pub fn downgrade(&self) -> WeakSender<T> {
        self.ring.weak_senders.fetch_add(1, Relaxed);
        WeakSender {
            ring: self.ring.clone(),
        }
    }

    /// Returns the number of messages that at least one receiver has not received.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// tx.send(2).unwrap();
    /// rx.try_recv().unwrap();
    /// assert_eq!(tx.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns whether all receivers have received all messages.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// assert!(!tx.is_empty());
    /// rx.try_recv().unwrap();
    /// assert!(tx.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns the number of receivers.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let other = tx.subscribe();
    /// assert_eq!(tx.receiver_count(), 2);
    /// drop((rx, other));
    /// assert_eq!(tx.receiver_count(), 0);
    /// ```
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.ring.receivers()
    }

    /// Returns whether both senders belong to the same channel.
    ///
    /// ```
    /// # use pointsman::sync::broadcast::Sender;
    /// let (tx, other) = (Sender::<u32>::new(4), Sender::new(4));
    /// assert!(tx.same_channel(&tx.clone()));
    /// assert!(!tx.same_channel(&other));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// Waits until all receivers are dropped. Cancel safe. A new receiver may subscribe later.
    ///
    /// ```
    /// # use std::pin::pin;
    /// # futures::executor::block_on(async {
    /// let (tx, rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let mut closed = pin!(tx.closed());
    /// assert!(futures::poll!(closed.as_mut()).is_pending());
    /// drop(rx);
    /// closed.await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        // The last receiver is subtracted before the waiters are woken.
        let gone = |_| (self.receiver_count() == 0).then_some(());
        self.ring.close_waiters.wait(WaitKind::Send, gone).await;
    }

    /// Returns the number of senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// drop(other);
    /// assert_eq!(tx.strong_count(), 1);
    /// ```
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.ring.senders()
    }

    /// Returns the number of weak senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// assert_eq!((tx.strong_count(), tx.weak_count()), (1, 1));
    /// drop(weak);
    /// assert_eq!(tx.weak_count(), 0);
    /// ```
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.ring.weak_senders.load(Relaxed)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.ring.senders.fetch_add(1, Relaxed);
        Self {
            ring: self.ring.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire of the last decrement, which closes the channel after all
        // sends. Acquire in case this is the last.
        if self.ring.senders.fetch_sub(1, AcqRel) == 1 {
            self.ring.close();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("broadcast::Sender")
    }
}

/// A sender that does not keep the channel open. [`upgrade`](Self::upgrade) it to send. Created by
/// [`Sender::downgrade`].
///
/// ```
/// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    ring: Arc<Ring<T>>,
}

impl<T> WeakSender<T> {
    /// Returns a sender, unless all senders are dropped.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        // ORDERING: Acquire pairs with the Release of `Sender::drop`: the caller sees what dropped senders did.
        self.ring
            .senders
            .fetch_update(Acquire, Acquire, |count| (count > 0).then_some(count + 1))
            .ok()?;
        Some(Sender {
            ring: self.ring.clone(),
        })
    }

    /// Returns the number of senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// assert_eq!(weak.strong_count(), 1);
    /// drop(tx);
    /// assert_eq!(weak.strong_count(), 0);
    /// ```
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.ring.senders()
    }

    /// Returns the number of weak senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// let other = weak.clone();
    /// assert_eq!(weak.weak_count(), 2);
    /// drop(other);
    /// assert_eq!(weak.weak_count(), 1);
    /// ```
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.ring.weak_senders.load(Relaxed)
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        self.ring.weak_senders.fetch_add(1, Relaxed);
        Self {
            ring: self.ring.clone(),
        }
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        self.ring.weak_senders.fetch_sub(1, Relaxed);
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("broadcast::WeakSender")
    }
}
