//! Bounded channels.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use super::Sender;
use super::channel::{self, Consumer};
use super::error::TryRecvError;
use super::limit::Capacity;
use crate::park::block_outside;

/// Creates a bounded channel with room for `buffer` messages. While it is full, senders wait, and are served
/// in the order of their requests.
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
        buffer <= Capacity::MAXIMUM,
        "a semaphore may not have more than MAX_PERMITS permits ({})",
        Capacity::MAXIMUM
    );
    let (producer, consumer) = channel::channel(Capacity::new(buffer));
    (Sender(producer), Receiver(consumer))
}

/// Receives messages from the associated [`Sender`]s, in the order of sending. Created by [`channel`].
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
pub struct Receiver<T>(Consumer<T, Capacity>);

impl<T> Unpin for Receiver<T> {}

impl<T> Receiver<T> {
    receive_methods!(
        "let (tx, mut rx) = pointsman::sync::mpsc::channel(4);",
        "tx.try_send(1).unwrap();"
    );

    /// Returns the available capacity. A message uses capacity until it is received, a permit until it is
    /// dropped.
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

    /// Returns the capacity of the channel when it is empty.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!((rx.capacity(), rx.max_capacity()), (1, 2));
    /// ```
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.0.channel().limit.max
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Receiver").field(&self.0).finish()
    }
}
