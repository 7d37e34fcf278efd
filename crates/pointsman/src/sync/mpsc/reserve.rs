//! Waiting for room in a bounded channel.

use std::cell::UnsafeCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::channel::Channel;
use super::error::SendError;
use super::permits::{NoRoom, Permits, Waiter};
use crate::task::coop::poll_proceed;

enum Stage {
    New,
    /// The waiter was put in, and may have been taken out since.
    Waiting,
    Done,
}

/// Takes room for `count` messages. Dropped early, it gives back what it was given, to whoever is next.
pub(super) struct Reserve<'a, T> {
    channel: &'a Channel<T, Permits>,
    count: usize,
    stage: Stage,
    waiter: UnsafeCell<Waiter>,
}

// SAFETY: the waiter is shared under the lock of the permits.
unsafe impl<T: Send> Send for Reserve<'_, T> {}
// SAFETY: nothing can be done with a shared `Reserve`.
unsafe impl<T: Send> Sync for Reserve<'_, T> {}

impl<'a, T> Reserve<'a, T> {
    pub(super) fn new(channel: &'a Channel<T, Permits>, count: usize) -> Self {
        Self {
            channel,
            count,
            stage: Stage::New,
            waiter: UnsafeCell::new(Waiter::new()),
        }
    }
}

impl<T> Future for Reserve<'_, T> {
    type Output = Result<(), SendError<()>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the waiter is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let permits = &this.channel.limit;
        if this.count > permits.bound() {
            return Poll::Ready(Err(SendError(())));
        }
        let proceed = ready!(poll_proceed(cx));
        let waiter = this.waiter.get();
        let result = match this.stage {
            Stage::New => {
                let mut taken = permits.try_take(this.count);
                if taken == Err(NoRoom::Full) {
                    // SAFETY: pinned, in no list, and `drop` takes it out.
                    taken = unsafe { permits.take_or_wait(this.count, waiter, cx.waker()) };
                }
                match taken {
                    Ok(()) => Ok(()),
                    Err(NoRoom::Closed) => Err(SendError(())),
                    Err(NoRoom::Full) => {
                        this.stage = Stage::Waiting;
                        return Poll::Pending;
                    }
                }
            }
            Stage::Waiting => {
                // SAFETY: live, and was put in.
                let waits =
                    unsafe { (*waiter).is_queued() && permits.replace_waker(waiter, cx.waker()) };
                if waits {
                    return Poll::Pending;
                }
                if permits.is_closed() {
                    // `drop` gives back what it was given.
                    Err(SendError(()))
                } else {
                    this.stage = Stage::Done;
                    Ok(())
                }
            }
            Stage::Done => panic!("called after complete"),
        };
        proceed.made_progress();
        if result.is_err() {
            this.give_up();
        }
        Poll::Ready(result)
    }
}

impl<T> Reserve<'_, T> {
    fn give_up(&mut self) {
        if let Stage::Waiting = std::mem::replace(&mut self.stage, Stage::Done) {
            // SAFETY: live, and was put in.
            let given = unsafe { self.channel.limit.leave(self.count, self.waiter.get()) };
            if given > 0 {
                self.channel.give_back(given);
            }
        }
    }
}

impl<T> Drop for Reserve<'_, T> {
    fn drop(&mut self) {
        self.give_up();
    }
}
