//! The sender of a bounded channel that does not keep it open.

use std::fmt;

use super::Sender;
use super::channel::WeakProducer;
use super::limit::Capacity;

/// A sender that does not keep the channel open. [`upgrade`](Self::upgrade) it to send. Created by
/// [`Sender::downgrade`].
///
/// ```
/// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T>(pub(super) WeakProducer<T, Capacity>);

impl<T> WeakSender<T> {
    /// Returns a sender, unless all senders are dropped.
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

    /// Returns the number of senders.
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

    /// Returns the number of weak senders.
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
