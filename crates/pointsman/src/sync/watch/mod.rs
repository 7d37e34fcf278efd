//! A channel that holds a single value. Senders change it; receivers read the last value and wait for
//! changes.
//!
//! ```
//! # futures::executor::block_on(async {
//! use pointsman::sync::watch;
//!
//! let (tx, mut rx) = watch::channel("starting");
//! std::thread::spawn(move || tx.send("ready"));
//! let state = rx.wait_for(|state| *state == "ready").await.unwrap();
//! assert_eq!(*state, "ready");
//! # });
//! ```
//!
//! Only the last value is retained. A slow receiver misses the values in between.

mod channel;
pub mod error;
#[cfg(all(test, loom))]
mod loom_tests;
mod receiver;
mod sender;

use self::channel::{Channel, Version};
use crate::loom::sync::Arc;

pub use self::receiver::{Receiver, Ref};
pub use self::sender::Sender;

/// Creates a channel with an initial value, which counts as seen by the receiver.
///
/// ```
/// let (tx, rx) = pointsman::sync::watch::channel(1);
/// assert_eq!(*rx.borrow(), 1);
/// tx.send(2).unwrap();
/// assert_eq!(*rx.borrow(), 2);
/// ```
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(init, 1));
    let receiver = Receiver {
        channel: channel.clone(),
        version: Version::FIRST,
    };
    (Sender { channel }, receiver)
}
