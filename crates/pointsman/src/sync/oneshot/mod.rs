//! A channel for one value, from one task to another.
//!
//! ```
//! # futures::executor::block_on(async {
//! use pointsman::sync::oneshot;
//!
//! let (tx, rx) = oneshot::channel();
//! std::thread::spawn(move || tx.send(6 * 7));
//! assert_eq!(rx.await, Ok(42));
//! # });
//! ```
//!
//! A [`Sender`] that is dropped without a value lets the receiver fail with
//! [`RecvError`]. A [`Receiver`] may be awaited by reference (`&mut receiver`) any number
//! of times until it is ready: nothing is lost when such a wait is given up.

mod cell;
pub mod error;
#[cfg(all(test, loom))]
mod loom_tests;

use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use self::cell::{Found, Hold};
use self::error::{RecvError, TryRecvError};
use crate::park::block_outside;
use crate::task::coop::poll_proceed;

/// Makes a channel.
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, rx) = pointsman::sync::oneshot::channel();
/// tx.send("done").unwrap();
/// assert_eq!(rx.await, Ok("done"));
/// # });
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = Hold::pair();
    let receiver = Receiver {
        hold: Some(receiver),
    };
    (Sender { hold: sender }, receiver)
}

/// Sends the value. Made by [`channel`].
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, rx) = pointsman::sync::oneshot::channel::<u32>();
/// drop(tx);
/// assert!(rx.await.is_err());
/// # });
/// ```
pub struct Sender<T> {
    hold: Hold<T>,
}

impl<T> Sender<T> {
    /// Sends the value. Does not wait: `Ok` says that the receiver was open, not that it has received.
    ///
    /// # Errors
    /// Gives the value back if the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::oneshot::channel();
    /// drop(rx);
    /// assert_eq!(tx.send(5), Err(5));
    /// ```
    pub fn send(self, value: T) -> Result<(), T> {
        let this = ManuallyDrop::new(self);
        match this.hold.complete(Some(value)) {
            Ok(()) => Ok(()),
            Err(Some(value)) => Err(value),
            Err(None) => unreachable!("what was put in is still there"),
        }
    }

    /// Waits until the receiver is dropped or closed, to stop work that nobody waits for.
    ///
    /// Cancel safe: it may be given up and called again.
    ///
    /// ```
    /// # use std::pin::pin;
    /// # futures::executor::block_on(async {
    /// let (mut tx, rx) = pointsman::sync::oneshot::channel::<u32>();
    /// let mut closed = pin!(tx.closed());
    /// assert!(futures::poll!(closed.as_mut()).is_pending());
    /// drop(rx);
    /// closed.await;
    /// # });
    /// ```
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// Whether the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::oneshot::channel::<u32>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.hold.is_closed()
    }

    /// Polls for what [`closed`](Self::closed) waits for. The task of the last call is woken.
    ///
    /// ```
    /// use std::task::{Context, Waker};
    ///
    /// let (mut tx, rx) = pointsman::sync::oneshot::channel::<u32>();
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert!(tx.poll_closed(&mut cx).is_pending());
    /// drop(rx);
    /// assert!(tx.poll_closed(&mut cx).is_ready());
    /// ```
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let proceed = ready!(poll_proceed(cx));
        ready!(self.hold.poll_closed(cx));
        proceed.made_progress();
        Poll::Ready(())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let _ = self.hold.complete(None);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sender")
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// Receives the value: a future. Made by [`channel`].
///
/// Cancel safe: `&mut receiver` may be awaited, given up, and awaited again.
///
/// # Panics
/// If it is polled again after it was ready.
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::oneshot::channel();
/// assert!(rx.is_empty());
/// tx.send(1).unwrap();
/// assert_eq!((&mut rx).await, Ok(1));
/// assert!(rx.is_terminated());
/// # });
/// ```
pub struct Receiver<T> {
    /// `None` when it has been ready.
    hold: Option<Hold<T>>,
}

impl<T> Receiver<T> {
    /// Closes the channel: a value that is not sent yet cannot be sent any more. One that has been sent is
    /// still received.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send(1), Err(1));
    /// ```
    pub fn close(&mut self) {
        if let Some(hold) = &self.hold {
            hold.close();
        }
    }

    /// Whether the receiver has been ready, and must not be polled again.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::oneshot::channel();
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_terminated());
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert!(rx.is_terminated());
    /// ```
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.hold.is_none()
    }

    /// Whether there is no value to receive now. Also true if none can come any more.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::oneshot::channel();
    /// assert!(rx.is_empty());
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_empty());
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert!(rx.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hold.as_ref().is_none_or(|hold| !hold.has_value())
    }

    /// Takes the value if it is there.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`] if nothing has been sent yet, [`TryRecvError::Closed`] if nothing will be, or
    /// if the value has been received already.
    ///
    /// ```
    /// use pointsman::sync::oneshot::{self, error::TryRecvError};
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let hold = self.hold.as_ref().ok_or(TryRecvError::Closed)?;
        let result = match hold.find() {
            Found::Nothing => return Err(TryRecvError::Empty),
            Found::Value(value) => Ok(value),
            Found::Closed => Err(TryRecvError::Closed),
        };
        self.leave();
        result
    }

    /// Receives, and blocks this thread until then.
    ///
    /// # Errors
    /// As when it is awaited.
    ///
    /// # Panics
    /// Within a runtime, where it would keep tasks from running.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::oneshot::channel();
    /// let thread = std::thread::spawn(move || rx.blocking_recv());
    /// tx.send(1).unwrap();
    /// assert_eq!(thread.join().unwrap(), Ok(1));
    /// ```
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        block_outside(self)
    }

    fn leave(&mut self) {
        if let Some(hold) = self.hold.take() {
            hold.leave();
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(hold) = &self.hold else {
            panic!("called after complete")
        };
        let proceed = ready!(poll_proceed(cx));
        let result = match hold.poll_find(cx) {
            Found::Nothing => return Poll::Pending,
            Found::Value(value) => Ok(value),
            Found::Closed => Err(RecvError(())),
        };
        proceed.made_progress();
        self.leave();
        Poll::Ready(result)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let Some(hold) = &self.hold {
            hold.close();
            // The value must not wait for a sender that is about to go.
            let left = hold.find();
            self.leave();
            drop(left);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Receiver")
            .field("is_terminated", &self.is_terminated())
            .finish_non_exhaustive()
    }
}
