//! Waits for capacity of a bounded channel.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::channel::Channel;
use super::error::SendError;
use super::limit::Capacity;
use crate::sync::semaphore::{Acquire, AcquireError};

/// Reserves capacity for `count` messages; waits until it is available. Fails if the channel is closed, or
/// its capacity is less than `count`.
pub(super) async fn reserve<T>(
    channel: &Channel<T, Capacity>,
    count: usize,
) -> Result<(), SendError<()>> {
    if count > channel.limit.max {
        return Err(SendError(()));
    }
    Reserve::new(channel, count)
        .await
        .map_err(|_| SendError(()))
}

pin_project! {
    /// Releases its capacity if it is dropped early. Fields are dropped in order: first
    /// the permits are released, then the receiver is woken.
    struct Reserve<'a, T> {
        #[pin]
        acquire: Acquire<'a>,
        wake: WakeIfDrained<'a, T>,
    }
}

struct WakeIfDrained<'a, T>(&'a Channel<T, Capacity>);

impl<T> Drop for WakeIfDrained<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.wake_if_drained();
    }
}

impl<'a, T> Reserve<'a, T> {
    fn new(channel: &'a Channel<T, Capacity>, count: usize) -> Self {
        Self {
            acquire: channel.limit.permits.acquire(count),
            wake: WakeIfDrained(channel),
        }
    }
}

impl<T> Future for Reserve<'_, T> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().acquire.poll(cx).map_ok(|_| ())
    }
}
