//! Room that was taken in a bounded channel, to be used without waiting.

use std::fmt;
use std::iter::FusedIterator;
use std::mem;

use super::bounded::Sender;
use super::channel::{Channel, Producer};
use super::limit::Room;

/// Sends with room that was taken before.
#[inline(always)]
fn send<T>(channel: &Channel<T, Room>, message: T) {
    if let Err(message) = channel.queue.push(message) {
        // The receiver has gone, so nobody is left to tell.
        drop(message);
    }
}

/// Room for one message. Dropped, it is given back. Made by [`Sender::reserve`].
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
    pub(super) channel: &'a Producer<T, Room>,
}

impl<T> Permit<'_, T> {
    /// Sends. Works also if the receiver was closed after the permit was given; a receiver that was dropped
    /// gets nothing.
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
        self.channel.channel().give_back(1);
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

/// Room for some messages: gives one [`Permit`] after the other. Dropped, the rest is given back. Made by
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
    pub(super) channel: &'a Producer<T, Room>,
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
            self.channel.channel().give_back(self.count);
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

/// Room for one message that has its sender with it, so that it can be kept anywhere. Dropped, it is given
/// back, and the sender is dropped. Made by [`Sender::reserve_owned`].
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
    /// `None` when it was used.
    producer: Option<Producer<T, Room>>,
}

impl<T> OwnedPermit<T> {
    pub(super) fn new(producer: Producer<T, Room>) -> Self {
        Self {
            producer: Some(producer),
        }
    }

    fn into_sender(mut self) -> Sender<T> {
        match self.producer.take() {
            Some(producer) => Sender(producer),
            None => unreachable!("a permit that was used is gone"),
        }
    }

    /// Sends, and gives the sender back. Works also if the receiver was closed after the permit was given; a
    /// receiver that was dropped gets nothing.
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

    /// Gives the room back, and the sender.
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
        sender.0.channel().give_back(1);
        sender
    }

    /// Whether both are for the same receiver.
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

    /// Whether it is for the receiver of this sender.
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
            producer.channel().give_back(1);
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
