//! Waiting for room in a bounded channel.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::channel::Channel;
use super::limit::Room;
use crate::sync::semaphore::{Acquire, AcquireError};

pin_project! {
    /// Takes room for some messages. Dropped early, it gives back what it was given, to whoever is next. Fields
    /// are dropped in their order: first the room is back, then the receiver is told.
    pub(super) struct Reserve<'a, T> {
        #[pin]
        acquire: Acquire<'a>,
        told: Told<'a, T>,
    }
}

struct Told<'a, T>(&'a Channel<T, Room>);

impl<T> Drop for Told<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.wake_if_spent();
    }
}

impl<'a, T> Reserve<'a, T> {
    pub(super) fn new(channel: &'a Channel<T, Room>, count: usize) -> Self {
        Self {
            acquire: channel.limit.permits.acquire(count),
            told: Told(channel),
        }
    }
}

impl<T> Future for Reserve<'_, T> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().acquire.poll(cx)
    }
}
