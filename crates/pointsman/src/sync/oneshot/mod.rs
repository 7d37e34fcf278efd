//! A channel that sends a single value from one task to another.
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
//! If the [`Sender`] is dropped without a value, the receiver fails with [`RecvError`]. A [`Receiver`] can be
//! awaited by reference (`&mut receiver`) until it is ready; a cancelled wait loses nothing.

mod cell;
pub mod error;
#[cfg(all(test, loom))]
mod loom_tests;

use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use self::cell::{Half, RecvOutcome};
use self::error::{RecvError, TryRecvError};
use super::spans::{ReceiverSpans, SenderSpan};
use crate::park::block_outside;
use crate::spans::poll_op;
use crate::task::coop::poll_proceed;

/// Creates a oneshot channel.
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, rx) = pointsman::sync::oneshot::channel();
/// tx.send("done").unwrap();
/// assert_eq!(rx.await, Ok("done"));
/// # });
/// ```
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (span, spans) = SenderSpan::pair();
    let (sender, receiver) = Half::pair();
    let sender = Sender { half: sender, span };
    let receiver = Receiver {
        half: Some(receiver),
        spans,
    };
    (sender, receiver)
}

/// Sends a value to the associated [`Receiver`]. Created by [`channel`].
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, rx) = pointsman::sync::oneshot::channel::<u32>();
/// drop(tx);
/// assert!(rx.await.is_err());
/// # });
/// ```
pub struct Sender<T> {
    half: Half<T>,
    span: SenderSpan,
}

impl<T> Sender<T> {
    /// Sends the value, without waiting. `Ok` means that the receiver was open, not that it receives the
    /// value.
    ///
    /// # Errors
    /// Returns the value if the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::oneshot::channel();
    /// drop(rx);
    /// assert_eq!(tx.send(5), Err(5));
    /// ```
    pub fn send(self, value: T) -> Result<(), T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `ManuallyDrop` keeps the sender from dropping the span, so it is moved out exactly once.
        let span = unsafe { std::ptr::read(&this.span) };
        match this.half.complete(Some(value)) {
            Ok(()) => {
                span.sent();
                Ok(())
            }
            Err(Some(value)) => Err(value),
            Err(None) => unreachable!("complete returns the value that it was given"),
        }
    }

    /// Waits until the receiver is dropped or closed, for example to stop work whose result is not needed.
    ///
    /// Cancel safe.
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
        #[cfg(feature = "tracing")]
        let span = self.span.span();
        let closed = poll_fn(|cx| self.poll_closed(cx));
        traced_op!(&span, "Sender::closed", "poll_closed", closed).await;
    }

    /// Returns whether the receiver was dropped or closed.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::oneshot::channel::<u32>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.half.is_closed()
    }

    /// Polls whether the receiver was dropped or closed. Only the waker of the last call is woken.
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
        ready!(self.half.poll_closed(cx));
        proceed.made_progress();
        Poll::Ready(())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let _ = self.half.complete(None);
        self.span.dropped();
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

/// A future of the value sent by the associated [`Sender`]. Created by [`channel`].
///
/// Cancel safe: `&mut receiver` can be awaited again if a wait is cancelled.
///
/// # Panics
/// If it is polled after it was ready.
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
    /// `None` once the receiver was ready.
    half: Option<Half<T>>,
    spans: ReceiverSpans,
}

impl<T> Receiver<T> {
    /// Closes the channel: later sends fail. A value sent before can still be received.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send(1), Err(1));
    /// ```
    pub fn close(&mut self) {
        if let Some(half) = &self.half {
            half.close();
            self.spans.dropped();
        }
    }

    /// Returns whether the receiver was ready, and must not be polled again.
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
        self.half.is_none()
    }

    /// Returns whether there is no value to receive now. True also if the channel is closed without one.
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
        self.half.as_ref().is_none_or(|half| !half.has_value())
    }

    /// Receives the value if it was sent.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`] if no value was sent yet, [`TryRecvError::Closed`] if none will be, or the
    /// value was received already.
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
        let half = self.half.as_ref().ok_or(TryRecvError::Closed)?;
        let result = match half.take_value() {
            RecvOutcome::Empty => return Err(TryRecvError::Empty),
            RecvOutcome::Value(value) => Ok(value),
            RecvOutcome::Closed => Err(TryRecvError::Closed),
        };
        release(&mut self.half);
        if result.is_ok() {
            self.spans.received();
        }
        result
    }

    /// Receives the value, blocking the thread.
    ///
    /// # Errors
    /// As when it is awaited.
    ///
    /// # Panics
    /// Within a runtime.
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
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let _entered = this.spans.enter();
        let Some(half) = &this.half else {
            panic!("called after complete")
        };
        let polled = poll_op("poll_recv", poll_half(half, cx));
        if polled.is_ready() {
            release(&mut this.half);
        }
        polled
    }
}

fn poll_half<T>(half: &Half<T>, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
    let proceed = ready!(poll_proceed(cx));
    let result = match half.poll_recv(cx) {
        RecvOutcome::Empty => {
            half.note_recv(cx);
            return Poll::Pending;
        }
        RecvOutcome::Value(value) => Ok(value),
        RecvOutcome::Closed => Err(RecvError(())),
    };
    proceed.made_progress();
    Poll::Ready(result)
}

/// Gives up the receiver's half, if it has one.
fn release<T>(half: &mut Option<Half<T>>) {
    if let Some(half) = half.take() {
        half.release();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let Some(half) = &self.half {
            half.close();
            // Drops the value now, and not when a sender that is about to finish frees the cell.
            let value = half.take_value();
            release(&mut self.half);
            drop(value);
            self.spans.dropped();
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
