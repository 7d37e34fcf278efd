//! The future that takes permits.
//!
//! Invariant: permits that it has and has not returned are given back when it is dropped. It registers
//! nowhere before it has to wait; then its own node is the place in the queue.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

use super::error::{AcquireError, TryAcquireError};
use super::permits::Permits;
use crate::list::{Links, Node};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{Acquire as AcquireOrder, Relaxed};
use crate::task::coop::poll_proceed;

/// Someone who waits for permits.
pub(super) struct Waiter {
    links: Links<Waiter>,
    /// Belongs to who holds the queue, until all permits are given.
    pub(super) waker: UnsafeCell<Option<Waker>>,
    /// How many permits are still to be given.
    pub(super) lacks: AtomicUsize,
}

impl fmt::Debug for Waiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Waiter")
            .field("lacks", &self.lacks.load(Relaxed))
            .finish_non_exhaustive()
    }
}

// SAFETY: the links are a field.
unsafe impl Node for Waiter {
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the node is live.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

// SAFETY: what is shared with other threads is atomic or belongs to who holds the queue.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    pub(super) fn has_all(&self) -> bool {
        // ORDERING: pairs with the Release of who gives the last: nobody else uses the waiter after that,
        // and what was done under the permits is seen.
        self.lacks.load(AcquireOrder) == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fresh,
    /// Has joined the queue.
    Waits,
    /// Has the permits, but the task's budget is spent.
    Has,
    Done,
}

/// Future of [`Permits::acquire`].
#[derive(Debug)]
pub(in crate::sync) struct Acquire<'a> {
    permits: &'a Permits,
    count: usize,
    state: State,
    waiter: Waiter,
}

impl<'a> Acquire<'a> {
    #[inline]
    pub(super) fn new(permits: &'a Permits, count: usize) -> Self {
        Self {
            permits,
            count,
            state: State::Fresh,
            waiter: Waiter {
                links: Links::new(),
                waker: UnsafeCell::new(None),
                lacks: AtomicUsize::new(0),
            },
        }
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out; the waiter stays where it is.
        let this = unsafe { self.get_unchecked_mut() };
        let permits = this.permits;
        if this.state == State::Fresh {
            match permits.try_acquire(this.count) {
                Ok(()) => this.state = State::Has,
                Err(TryAcquireError::Closed) => return Poll::Ready(Err(AcquireError(()))),
                Err(TryAcquireError::NoPermits) => {
                    let waiter = NonNull::from(&mut this.waiter);
                    // SAFETY: the future is pinned, and leaves the queue when it is dropped.
                    let joined =
                        unsafe { permits.acquire_or_join(waiter, this.count, cx.waker().clone()) };
                    if joined.is_pending() {
                        this.state = State::Waits;
                    }
                    ready!(joined)?;
                    this.state = State::Has;
                }
            }
        } else {
            if permits.is_closed() {
                return Poll::Ready(Err(AcquireError(())));
            }
            if this.state == State::Waits {
                // SAFETY: the future is pinned.
                let waiter = unsafe { Pin::new_unchecked(&this.waiter) };
                if !waiter.has_all() && permits.wait_on(waiter, cx) {
                    return Poll::Pending;
                }
                if permits.is_closed() {
                    return Poll::Ready(Err(AcquireError(())));
                }
                this.state = State::Has;
            }
        }
        // Last, so that who has spent the budget does not lose its place.
        ready!(poll_proceed(cx)).made_progress();
        this.state = State::Done;
        Poll::Ready(Ok(()))
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.state {
            State::Fresh | State::Done => {}
            State::Has => self.permits.release(self.count),
            State::Waits => {
                let waiter = NonNull::from(&mut self.waiter);
                // SAFETY: it joined this queue for as many.
                unsafe { self.permits.leave(waiter, self.count) };
            }
        }
    }
}
