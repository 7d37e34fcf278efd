//! Permits: reserved capacity of a bounded channel, for sends that do not wait.

use std::fmt;
use std::iter::FusedIterator;
use std::mem;

use super::Sender;
use super::channel::{Channel, Producer};
use super::limit::Capacity;

/// Sends with capacity that was reserved before.
#[inline(always)]
fn send<T>(channel: &Channel<T, Capacity>, message: T) {
    if let Err(message) = channel.queue.push(message) {
        // The receiver was dropped, so the message is too.
        drop(message);
    }
}

/// Capacity for one message, released when this is dropped. Returned by [`Sender::reserve`].
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
/// let permit = tx.reserve().await.unwrap();
/// assert!(tx.try_send(1).is_err());
/// permit.send(2);
/// assert_eq!(rx.recv().await, Some(2));
/// # });
/// ```
pub struct Permit<'a, T> {
    pub(super) channel: &'a Producer<T, Capacity>,
}

impl<T> Permit<'_, T> {
    /// Sends a message with the reserved capacity. A receiver that was closed after the reservation receives
    /// it; one that was dropped does not.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
    /// let permit = tx.try_reserve().unwrap();
    /// rx.close();
    /// permit.send(1);
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn send(self, value: T) {
        let channel = self.channel.channel();
        mem::forget(self);
        send(channel, value);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.channel.channel().release(1);
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Permit")
            .field(&self.channel)
            .finish()
    }
}

/// Capacity for several messages, as an iterator of [`Permit`]s. Dropping it releases the rest. Returned by
/// [`Sender::reserve_many`].
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::mpsc::channel(4);
/// for (number, permit) in tx.reserve_many(2).await.unwrap().enumerate() {
///     permit.send(number);
/// }
/// assert_eq!(rx.len(), 2);
/// # });
/// ```
pub struct PermitIterator<'a, T> {
    pub(super) channel: &'a Producer<T, Capacity>,
    pub(super) count: usize,
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.count = self.count.checked_sub(1)?;
        Some(Permit {
            channel: self.channel,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}

impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.channel.channel().release(self.count);
        }
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PermitIterator")
            .field("channel", &self.channel)
            .field("capacity", &self.count)
            .finish()
    }
}

/// Capacity for one message, with the sender. Dropping it releases the capacity and drops the sender.
/// Returned by [`Sender::reserve_owned`].
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
/// let permit = tx.reserve_owned().await.unwrap();
/// let tx = permit.send(1);
/// assert_eq!(rx.recv().await, Some(1));
/// # drop(tx);
/// # });
/// ```
pub struct OwnedPermit<T> {
    /// `None` once it was used.
    producer: Option<Producer<T, Capacity>>,
}

impl<T> OwnedPermit<T> {
    pub(super) fn new(producer: Producer<T, Capacity>) -> Self {
        Self {
            producer: Some(producer),
        }
    }

    fn into_sender(mut self) -> Sender<T> {
        match self.producer.take() {
            Some(producer) => Sender(producer),
            None => unreachable!("using a permit consumes it"),
        }
    }

    /// Sends a message with the reserved capacity and returns the sender. A receiver that was closed after
    /// the reservation receives it; one that was dropped does not.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::mpsc::channel(1);
    /// let tx = tx.try_reserve_owned().unwrap().send(1);
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert!(tx.try_send(2).is_ok());
    /// ```
    pub fn send(self, value: T) -> Sender<T> {
        let sender = self.into_sender();
        send(sender.0.channel(), value);
        sender
    }

    /// Releases the capacity and returns the sender.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// let (tx, _rx) = pointsman::sync::mpsc::channel::<u32>(1);
    /// let permit = tx.reserve_owned().await.unwrap();
    /// assert_eq!(permit.release().capacity(), 1);
    /// # });
    /// ```
    pub fn release(self) -> Sender<T> {
        let sender = self.into_sender();
        sender.0.channel().release(1);
        sender
    }

    /// Returns whether both permits belong to the same channel.
    ///
    /// ```
    /// # use pointsman::sync::mpsc;
    /// let (tx, _rx) = mpsc::channel::<u32>(2);
    /// let (other, _other_rx) = mpsc::channel(1);
    /// let permit = tx.clone().try_reserve_owned().unwrap();
    /// assert!(permit.same_channel(&tx.try_reserve_owned().unwrap()));
    /// assert!(!permit.same_channel(&other.try_reserve_owned().unwrap()));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        self.producer
            .as_ref()
            .zip(other.producer.as_ref())
            .is_some_and(|(this, other)| this.is_same(other))
    }

    /// Returns whether the permit and the sender belong to the same channel.
    ///
    /// ```
    /// # use pointsman::sync::mpsc;
    /// let (tx, _rx) = mpsc::channel::<u32>(1);
    /// let (other, _other_rx) = mpsc::channel(1);
    /// let permit = tx.clone().try_reserve_owned().unwrap();
    /// assert!(permit.same_channel_as_sender(&tx));
    /// assert!(!permit.same_channel_as_sender(&other));
    /// ```
    #[must_use]
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.producer
            .as_ref()
            .is_some_and(|this| this.is_same(&sender.0))
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(producer) = &self.producer {
            producer.channel().release(1);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("OwnedPermit")
            .field(&self.producer)
            .finish()
    }
}
