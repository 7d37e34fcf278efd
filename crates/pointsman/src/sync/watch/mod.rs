//! One value that some change and others look at, and wait for changes of.
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
//! Only the last value is kept. A receiver that is slow sees the newest, and not those between.

pub mod error;
#[cfg(all(test, loom))]
mod loom_tests;
mod receiver;
mod sender;
mod shared;

use self::shared::{Shared, Version};
use crate::loom::sync::Arc;

pub use self::receiver::{Receiver, Ref};
pub use self::sender::Sender;

/// Makes a channel with a first value, which the receiver has seen.
///
/// ```
/// let (tx, rx) = pointsman::sync::watch::channel(1);
/// assert_eq!(*rx.borrow(), 1);
/// tx.send(2).unwrap();
/// assert_eq!(*rx.borrow(), 2);
/// ```
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(init, 1));
    let receiver = Receiver {
        shared: shared.clone(),
        version: Version::FIRST,
    };
    (Sender { shared }, receiver)
}
