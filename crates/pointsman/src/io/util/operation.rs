//! The future of all methods of the extension traits: a stream and an operation on it.
//!
//! Invariant: [`Operation`] borrows its stream until it is dropped, and each poll calls [`Step::step`] once. It is
//! never `Unpin`, so that a method can become an `async fn` of a trait; whether it is `Send` or `Sync` depends on its
//! parts.

use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// An operation on a stream, with its progress.
pub trait Step<T: ?Sized> {
    type Output;

    /// Continues, as `Future::poll` does.
    fn step(&mut self, stream: Pin<&mut T>, cx: &mut Context<'_>)
    -> Poll<io::Result<Self::Output>>;
}

pin_project! {
    /// The future of the methods of the extension traits.
    #[must_use = "futures do nothing unless they are awaited"]
    #[derive(Debug)]
    pub struct Operation<'a, T: ?Sized, S> {
        stream: &'a mut T,
        step: S,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, T: ?Sized, S> Operation<'a, T, S> {
    #[inline]
    pub(crate) fn new(stream: &'a mut T, step: S) -> Self {
        Self {
            stream,
            step,
            _pinned: PhantomPinned,
        }
    }
}

impl<T: ?Sized + Unpin, S: Step<T>> Future for Operation<'_, T, S> {
    type Output = io::Result<S::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let operation = self.project();
        operation.step.step(Pin::new(operation.stream), cx)
    }
}

/// Repeats an attempt while it is interrupted by a signal.
#[inline]
pub(super) fn uninterrupted<R>(
    mut attempt: impl FnMut() -> Poll<io::Result<R>>,
) -> Poll<io::Result<R>> {
    loop {
        match attempt() {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
