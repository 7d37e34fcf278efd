//! Multi-producer, single-consumer channels.
//!
//! [`channel`] creates a bounded channel, whose senders wait while it is full. [`unbounded_channel`] creates
//! one without a bound. Messages are received once, in the order of sending.
//!
//! ```
//! # futures::executor::block_on(async {
//! use pointsman::sync::mpsc;
//!
//! let (tx, mut rx) = mpsc::channel(8);
//! for number in 0..4 {
//!     let tx = tx.clone();
//!     std::thread::spawn(move || tx.blocking_send(number));
//! }
//! drop(tx);
//!
//! let mut sum = 0;
//! while let Some(number) = rx.recv().await {
//!     sum += number;
//! }
//! assert_eq!(sum, 6);
//! # });
//! ```
//!
//! The receiver gets `None` when all senders are dropped and all messages are received. To stop from the
//! receiver's side, [`close`](Receiver::close) it and receive until `None`. Dropping the receiver drops all
//! messages, after waiting for sends in progress. Memory follows the number of messages: a new channel has no
//! block, and a drained one retains at most three, with room for 96 messages or 48 KiB.

#[macro_use]
mod receive_methods;

mod backoff;
mod block;
mod bounded;
mod channel;
pub mod error;
mod limit;
#[cfg(all(test, loom))]
mod loom_tests;
mod permit;
mod queue;
mod reader;
mod reserve;
mod sender;
mod unbounded;
mod waker_cell;
mod weak_sender;

pub use bounded::{Receiver, channel};
pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use sender::Sender;
pub use unbounded::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};
pub use weak_sender::WeakSender;
