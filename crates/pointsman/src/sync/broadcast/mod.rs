//! A multi-producer, multi-consumer channel: each receiver gets a clone of every message.
//!
//! ```
//! # futures::executor::block_on(async {
//! use pointsman::sync::broadcast;
//!
//! let (tx, mut first) = broadcast::channel(16);
//! let mut second = tx.subscribe();
//! tx.send("hello").unwrap();
//! assert_eq!(first.recv().await, Ok("hello"));
//! assert_eq!(second.recv().await, Ok("hello"));
//! # });
//! ```
//!
//! The channel retains a fixed number of messages, and sending does not wait. A receiver that is so slow that
//! messages were overwritten gets the number that it missed
//! ([`RecvError::Lagged`](error::RecvError::Lagged)), and then the oldest retained message.
//!
//! A message need not be [`Sync`], so its slot is locked while a receiver clones it: the message's `clone`
//! must not use the channel.

pub mod error;
#[cfg(all(test, loom))]
mod loom_tests;
mod receiver;
mod ring;
mod sender;

pub use self::receiver::Receiver;
pub use self::sender::{Sender, WeakSender};

/// Creates a channel that retains the last `capacity` messages, rounded up to a power of two.
///
/// # Panics
/// If `capacity` is 0, or more than [`usize::MAX`] / 2.
///
/// ```
/// let (tx, mut rx) = pointsman::sync::broadcast::channel(2);
/// tx.send(1).unwrap();
/// assert_eq!(rx.try_recv(), Ok(1));
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::with_receivers(capacity, 1);
    let receiver = Receiver {
        ring: sender.ring.clone(),
        next: 0,
    };
    (sender, receiver)
}
