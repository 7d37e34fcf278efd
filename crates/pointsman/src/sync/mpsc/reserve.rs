//! Waiting for room in a bounded channel.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::channel::Channel;
use super::error::SendError;
use super::limit::Room;
use crate::sync::semaphore::{Acquire, AcquireError};

/// Takes room for some messages, when there is. Fails if the channel is closed, or holds fewer at all.
pub(super) async fn take<T>(channel: &Channel<T, Room>, count: usize) -> Result<(), SendError<()>> {
    if count > channel.limit.bound {
        return Err(SendError(()));
    }
    Reserve::new(channel, count)
        .await
        .map_err(|_| SendError(()))
}

pin_project! {
    /// Dropped early, it gives back what it was given, to whoever is next. Fields
    /// are dropped in their order: first the room is back, then the receiver is told.
    struct Reserve<'a, T> {
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
    fn new(channel: &'a Channel<T, Room>, count: usize) -> Self {
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
