//! Channels from many senders to one receiver: messages arrive in the order of sending, each once.
//!
//! [`channel`] has a bound, and lets senders wait while it is full; [`unbounded_channel`] has none.
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
//! The receiver gets `None` when all senders are dropped and all messages received. To stop from the other
//! side, [`close`](Receiver::close) the receiver and receive until `None`. Messages that nobody receives are
//! dropped with the receiver, which waits for those that are just being sent; nothing is left for the last
//! sender. Memory follows the number of messages on their way: a new channel has room for none, and a drained
//! one keeps room for about a hundred, or 48 KiB.

/// What both kinds of receiver do. A macro, so that each has its methods, with their examples, as its own.
macro_rules! receive_methods {
    ($make:literal, $send:literal) => {
        /// Receives the next message; `None` when none will come any more.
        ///
        /// Cancel safe: a message is either returned or stays.
        ///
        /// ```
        /// # futures::executor::block_on(async {
        #[doc = $make]
        #[doc = $send]
        /// assert_eq!(rx.recv().await, Some(1));
        /// # });
        /// ```
        pub async fn recv(&mut self) -> Option<T> {
            poll_fn(|cx| self.poll_recv(cx)).await
        }

        /// Receives up to `limit` messages and adds them to `buffer`; waits only if there is none. Returns
        /// how many came: 0 when none will come any more, or if `limit` is 0.
        ///
        /// Cancel safe: messages are either in `buffer` when this is ready, or stay.
        ///
        /// ```
        /// # futures::executor::block_on(async {
        #[doc = $make]
        #[doc = $send]
        /// let mut messages = Vec::new();
        /// assert_eq!(rx.recv_many(&mut messages, 10).await, 1);
        /// # });
        /// ```
        pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
            poll_fn(|cx| self.poll_recv_many(cx, buffer, limit)).await
        }

        /// Takes the next message if it is there. May wait a moment for one whose sender has just begun.
        ///
        /// # Errors
        /// [`TryRecvError::Empty`] if none has come yet, [`TryRecvError::Disconnected`] if none will.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// assert_eq!(rx.try_recv(), Ok(1));
        /// assert!(rx.try_recv().is_err());
        /// ```
        pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
            self.0.try_recv()
        }

        /// Receives, and blocks this thread until then.
        ///
        /// # Panics
        /// Within a runtime, where it would keep tasks from running.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// assert_eq!(rx.blocking_recv(), Some(1));
        /// ```
        #[track_caller]
        pub fn blocking_recv(&mut self) -> Option<T> {
            block_outside(self.recv())
        }

        /// Receives as [`recv_many`](Self::recv_many), and blocks this thread until then. Returns how many
        /// came: 0 when none will come any more, or if `limit` is 0.
        ///
        /// # Panics
        /// Within a runtime, where it would keep tasks from running.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// let mut messages = Vec::new();
        /// assert_eq!(rx.blocking_recv_many(&mut messages, 10), 1);
        /// assert_eq!(messages, [1]);
        /// ```
        #[track_caller]
        pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
            block_outside(self.recv_many(buffer, limit))
        }

        /// Refuses new messages. What was sent before is still received, then `None`. A sender that has a
        /// permit may still use it.
        ///
        /// ```
        /// # futures::executor::block_on(async {
        #[doc = $make]
        #[doc = $send]
        /// rx.close();
        /// assert!(tx.is_closed());
        /// assert_eq!(rx.recv().await, Some(1));
        /// assert_eq!(rx.recv().await, None);
        /// # });
        /// ```
        pub fn close(&mut self) {
            self.0.close();
        }

        /// Whether no new message can be sent: it was closed, or all senders are dropped. Messages may still
        /// be there.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// assert!(!rx.is_closed());
        /// drop(tx);
        /// assert!(rx.is_closed());
        /// assert_eq!(rx.try_recv(), Ok(1));
        /// ```
        #[must_use]
        pub fn is_closed(&self) -> bool {
            self.0.is_closed()
        }

        /// Whether no message is there.
        ///
        /// ```
        #[doc = $make]
        /// assert!(rx.is_empty());
        #[doc = $send]
        /// assert!(!rx.is_empty());
        /// ```
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.0.len() == 0
        }

        /// How many messages are there.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// assert_eq!(rx.len(), 1);
        /// rx.try_recv().unwrap();
        /// assert_eq!(rx.len(), 0);
        /// ```
        #[must_use]
        pub fn len(&self) -> usize {
            self.0.len()
        }

        /// Polls for what [`recv`](Self::recv) waits for. The task of the last call is woken.
        ///
        /// ```
        /// use std::task::{Context, Poll, Waker};
        ///
        #[doc = $make]
        /// let mut cx = Context::from_waker(Waker::noop());
        /// assert!(rx.poll_recv(&mut cx).is_pending());
        #[doc = $send]
        /// assert_eq!(rx.poll_recv(&mut cx), Poll::Ready(Some(1)));
        /// ```
        #[inline]
        pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
            self.0.poll_recv(cx)
        }

        /// Polls for what [`recv_many`](Self::recv_many) waits for. The task of the last call is woken.
        ///
        /// ```
        /// use std::task::{Context, Poll, Waker};
        ///
        #[doc = $make]
        /// let (mut cx, mut messages) = (Context::from_waker(Waker::noop()), Vec::new());
        /// assert!(rx.poll_recv_many(&mut cx, &mut messages, 10).is_pending());
        #[doc = $send]
        /// assert_eq!(rx.poll_recv_many(&mut cx, &mut messages, 10), Poll::Ready(1));
        /// assert_eq!(messages, [1]);
        /// ```
        pub fn poll_recv_many(
            &mut self,
            cx: &mut Context<'_>,
            buffer: &mut Vec<T>,
            limit: usize,
        ) -> Poll<usize> {
            self.0.poll_recv_many(cx, buffer, limit)
        }

        /// How many senders there are.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// let other = tx.clone();
        /// assert_eq!(rx.sender_strong_count(), 2);
        /// drop((tx, other));
        /// assert_eq!(rx.sender_strong_count(), 0);
        /// # assert_eq!(rx.try_recv(), Ok(1));
        /// ```
        #[must_use]
        pub fn sender_strong_count(&self) -> usize {
            self.0.channel().strong_count()
        }

        /// How many weak senders there are.
        ///
        /// ```
        #[doc = $make]
        #[doc = $send]
        /// let weak = tx.downgrade();
        /// assert_eq!(rx.sender_weak_count(), 1);
        /// drop(weak);
        /// assert_eq!(rx.sender_weak_count(), 0);
        /// # assert_eq!(rx.try_recv(), Ok(1));
        /// ```
        #[must_use]
        pub fn sender_weak_count(&self) -> usize {
            self.0.channel().weak_count()
        }
    };
}

mod backoff;
mod block;
mod bounded;
mod channel;
pub mod error;
mod front;
mod limit;
#[cfg(all(test, loom))]
mod loom_tests;
mod permit;
mod queue;
mod reserve;
mod unbounded;
mod waker_cell;

pub use bounded::{Receiver, Sender, WeakSender, channel};
pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use unbounded::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};
