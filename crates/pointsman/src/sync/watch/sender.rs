//! The side that changes the value.

use std::fmt;
use std::mem;

use super::error::SendError;
use super::receiver::{Receiver, Ref};
use super::shared::Shared;
use crate::loom::sync::Arc;
use crate::loom::sync::atomic::Ordering::{AcqRel, Relaxed};
use crate::task::coop::cooperative;

/// Changes the value. May be cloned. Made by [`channel`](super::channel).
///
/// ```
/// let (tx, rx) = pointsman::sync::watch::channel(1);
/// tx.send(2).unwrap();
/// assert_eq!(*rx.borrow(), 2);
/// ```
pub struct Sender<T> {
    pub(super) shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Makes a sender that has no receiver yet.
    ///
    /// ```
    /// let tx = pointsman::sync::watch::Sender::new(1);
    /// let rx = tx.subscribe();
    /// assert_eq!(*rx.borrow(), 1);
    /// ```
    #[must_use]
    pub fn new(init: T) -> Self {
        Self {
            shared: Arc::new(Shared::new(init, 0)),
        }
    }

    /// Replaces the value, and wakes all receivers. Waits, and blocks this thread, while somebody looks at
    /// the value.
    ///
    /// # Errors
    /// Gives the value back if there is no receiver. [`send_replace`](Self::send_replace) works without.
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

    /// Changes the value in place, and wakes all receivers, also if there is none. If `modify` panics, the
    /// value stays as it is then, and nobody is woken. `modify` must not use the channel.
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

    /// As [`send_modify`](Self::send_modify), but wakes receivers only if `modify` says that it has changed
    /// something. Returns what it said.
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
        let mut value = self.shared.write();
        let modified = modify(&mut value);
        if modified {
            self.shared.publish(value);
        }
        modified
    }

    /// Replaces the value, wakes all receivers, and returns the value before. Works also if there is no
    /// receiver.
    ///
    /// ```
    /// let tx = pointsman::sync::watch::Sender::new(1);
    /// assert_eq!(tx.send_replace(2), 1);
    /// ```
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|current| mem::swap(current, &mut value));
        value
    }

    /// Looks at the value. Nobody can change it meanwhile: keep it short, and do not hold it while you
    /// await. Blocks this thread while another sender changes the value.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*tx.borrow(), 2);
    /// ```
    #[must_use]
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref {
            value: self.shared.read(),
            has_changed: false,
        }
    }

    /// Whether there is no receiver. There may be one again later.
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

    /// Waits until there is no receiver. Cancel safe. There may be one again later.
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
        // The last receiver is counted out before the waiters are woken.
        let gone = |_| self.is_closed().then_some(());
        cooperative(self.shared.leaving.wait(gone)).await;
    }

    /// A new receiver, which has seen the value as it is now.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// let late = tx.subscribe();
    /// assert!(!late.has_changed().unwrap());
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        self.shared.receivers.fetch_add(1, Relaxed);
        Receiver {
            version: self.shared.version(),
            shared: self.shared.clone(),
        }
    }

    /// How many receivers there are.
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
        self.shared.receivers()
    }

    /// How many senders there are.
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
        self.shared.senders.load(Relaxed)
    }

    /// Whether both change the same value.
    ///
    /// ```
    /// # use pointsman::sync::watch::Sender;
    /// let (tx, other) = (Sender::new(1), Sender::new(1));
    /// assert!(tx.same_channel(&tx.clone()));
    /// assert!(!tx.same_channel(&other));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.senders.fetch_add(1, Relaxed);
        Self {
            shared: self.shared.clone(),
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
        // ORDERING: Release and Acquire, so that the last one's end comes after all that the others did.
        if self.shared.senders.fetch_sub(1, AcqRel) == 1 {
            self.shared.close();
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
