//! The sender of a watch channel.

use std::fmt;
use std::mem;

use super::channel::Channel;
use super::error::SendError;
use super::receiver::{Receiver, Ref};
use crate::loom::sync::Arc;
use crate::loom::sync::atomic::Ordering::{AcqRel, Relaxed};
use crate::task::activity::WaitKind;
use crate::task::coop::cooperative;

/// Changes the value of a watch channel. Can be cloned. Created by [`channel`](super::channel).
///
/// ```
/// let (tx, rx) = pointsman::sync::watch::channel(1);
/// tx.send(2).unwrap();
/// assert_eq!(*rx.borrow(), 2);
/// ```
pub struct Sender<T> {
    pub(super) channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// Creates a sender without receivers.
    ///
    /// ```
    /// let tx = pointsman::sync::watch::Sender::new(1);
    /// let rx = tx.subscribe();
    /// assert_eq!(*rx.borrow(), 1);
    /// ```
    #[must_use]
    pub fn new(init: T) -> Self {
        Self {
            channel: Arc::new(Channel::new(init, 0)),
        }
    }

    /// Replaces the value and notifies all receivers. Blocks the thread while a [`Ref`] of the value is held.
    ///
    /// # Errors
    /// Returns the value if there is no receiver. [`send_replace`](Self::send_replace) works without.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(1);
    /// assert_eq!(tx.send(2), Ok(()));
    /// drop(rx);
    /// assert_eq!(tx.send(3).unwrap_err().0, 3);
    /// ```
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.is_closed() {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Modifies the value in place and notifies all receivers. Works without receivers too. If `modify`
    /// panics, the value stays as it left it and no receiver is notified. `modify` must not use the channel.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(vec![1]);
    /// tx.send_modify(|numbers| numbers.push(2));
    /// assert_eq!(*rx.borrow(), [1, 2]);
    /// ```
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Modifies the value in place and notifies all receivers if `modify` returns true. Returns its result.
    /// `modify` must not use the channel.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(5);
    /// let halve_if_even = |number: &mut u32| {
    ///     let is_even = *number % 2 == 0;
    ///     if is_even {
    ///         *number /= 2;
    ///     }
    ///     is_even
    /// };
    /// assert!(!tx.send_if_modified(halve_if_even));
    /// tx.send(8).unwrap();
    /// assert!(tx.send_if_modified(halve_if_even));
    /// assert_eq!(*rx.borrow(), 4);
    /// ```
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let mut value = self.channel.write();
        let modified = modify(&mut value);
        if modified {
            self.channel.publish(value);
        }
        modified
    }

    /// Replaces the value, notifies all receivers, and returns the previous value. Works without receivers
    /// too.
    ///
    /// ```
    /// let tx = pointsman::sync::watch::Sender::new(1);
    /// assert_eq!(tx.send_replace(2), 1);
    /// ```
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|current| mem::swap(current, &mut value));
        value
    }

    /// Returns a reference to the value. It holds a read lock, which blocks senders: keep it short, and do
    /// not hold it across an await. Blocks the thread while another sender changes the value.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*tx.borrow(), 2);
    /// ```
    #[must_use]
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref {
            value: self.channel.read(),
            has_changed: false,
        }
    }

    /// Returns whether there is no receiver. A new one may subscribe later.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(1);
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// let _rx = tx.subscribe();
    /// assert!(!tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until all receivers are dropped. Cancel safe. A new receiver may subscribe later.
    ///
    /// ```
    /// # use std::pin::pin;
    /// # futures::executor::block_on(async {
    /// let (tx, rx) = pointsman::sync::watch::channel(1);
    /// let mut closed = pin!(tx.closed());
    /// assert!(futures::poll!(closed.as_mut()).is_pending());
    /// drop(rx);
    /// closed.await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        // The last receiver is subtracted before the waiters are woken.
        let gone = |_| self.is_closed().then_some(());
        cooperative(self.channel.close_waiters.wait(WaitKind::Send, gone)).await;
    }

    /// Returns a new receiver. The current value counts as seen by it.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// let late = tx.subscribe();
    /// assert!(!late.has_changed().unwrap());
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        self.channel.receivers.fetch_add(1, Relaxed);
        Receiver {
            version: self.channel.version(),
            channel: self.channel.clone(),
        }
    }

    /// Returns the number of receivers.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(1);
    /// let other = rx.clone();
    /// assert_eq!(tx.receiver_count(), 2);
    /// drop((rx, other));
    /// assert_eq!(tx.receiver_count(), 0);
    /// ```
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.channel.receivers()
    }

    /// Returns the number of senders.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::watch::channel(1);
    /// let other = tx.clone();
    /// assert_eq!(tx.sender_count(), 2);
    /// drop(other);
    /// assert_eq!(tx.sender_count(), 1);
    /// ```
    #[must_use]
    pub fn sender_count(&self) -> usize {
        self.channel.senders.load(Relaxed)
    }

    /// Returns whether both senders belong to the same channel.
    ///
    /// ```
    /// # use pointsman::sync::watch::Sender;
    /// let (tx, other) = (Sender::new(1), Sender::new(1));
    /// assert!(tx.same_channel(&tx.clone()));
    /// assert!(!tx.same_channel(&other));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.channel.senders.fetch_add(1, Relaxed);
        Self {
            channel: self.channel.clone(),
        }
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire of the last decrement, which closes the channel after all
        // sends. Acquire in case this is the last.
        if self.channel.senders.fetch_sub(1, AcqRel) == 1 {
            self.channel.close();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sender")
            .field("value", &*self.borrow())
            .field("receivers", &self.receiver_count())
            .finish_non_exhaustive()
    }
}
