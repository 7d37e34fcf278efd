//! The future that acquires permits, and its node in the wait queue.
//!
//! Invariants:
//! - The future owns the permits that it was assigned until it returns them. If it is dropped before, it
//!   releases them.
//! - Its node is in the queue only while it waits. It is linked in place, without an allocation.

use std::fmt;
use std::future::Future;
use std::mem::{self, ManuallyDrop};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

use super::super::holders::{GrantedHold, Hold};
use super::super::spans::AcquireSpans;
use super::error::{AcquireError, TryAcquireError};
use super::permits::Permits;
use crate::list::{Links, Node};
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{Acquire as AcquireOrder, Relaxed};
use crate::task::coop::poll_proceed;

/// A waiting request: a node of the queue in [`Permits`].
///
/// The waker comes last: in the order that the compiler chooses, a new request is copied in wider pieces than it was
/// written, and the processor waits for the stores (Tokio's bench `sync_mpsc uncontented/bounded`).
#[repr(C)]
pub(super) struct Waiter {
    links: Links<Waiter>,
    /// The number of permits still to be assigned.
    pub(super) missing: AtomicUsize,
    /// Of the permits from when they are granted until the future returns them.
    pub(super) granted: GrantedHold,
    /// The number of permits that the request is for.
    pub(super) count: usize,
    pub(super) spans: AcquireSpans,
    /// Guarded by the queue's lock until the request has all its permits.
    pub(super) waker: UnsafeCell<Option<Waker>>,
}

impl fmt::Debug for Waiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Waiter")
            .field("missing", &self.missing.load(Relaxed))
            .finish_non_exhaustive()
    }
}

// SAFETY: `links` returns the address of a field of the node.
unsafe impl Node for Waiter {
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the caller passes a live node, so the address of its field is not null.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

// SAFETY: the links and the waker are used under the queue's lock while the node is in the queue, and by its
// future alone otherwise. The count is atomic.
unsafe impl Send for Waiter {}
// SAFETY: the same lock guards access through shared references.
unsafe impl Sync for Waiter {}

impl Waiter {
    pub(super) fn has_all(&self) -> bool {
        // ORDERING: Acquire pairs with the Release store of `assign_to_first`: that thread no longer uses the
        // waiter, and what the previous holders of the permits did is visible.
        self.missing.load(AcquireOrder) == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcquireState {
    Unpolled,
    /// The node was put in the queue.
    Waiting,
    /// The permits are assigned but not returned yet: the task's budget is spent.
    Acquired,
    Done,
}

/// Future of [`Permits::acquire`].
#[derive(Debug)]
pub(in crate::sync) struct Acquire<'a> {
    permits: &'a Permits,
    state: AcquireState,
    /// Has a waker only while it waits, so there is nothing to drop otherwise but the spans.
    waiter: ManuallyDrop<Waiter>,
}

impl<'a> Acquire<'a> {
    #[inline]
    pub(super) fn new(permits: &'a Permits, count: usize) -> Self {
        Self {
            permits,
            state: AcquireState::Unpolled,
            waiter: ManuallyDrop::new(Waiter {
                links: Links::new(),
                waker: UnsafeCell::new(None),
                missing: AtomicUsize::new(0),
                granted: GrantedHold::new(),
                count,
                spans: AcquireSpans::new(&permits.spans, count),
            }),
        }
    }

    /// Releases the permits of the request, or ends its wait.
    #[cold]
    fn give_up(&mut self) {
        if self.state == AcquireState::Acquired {
            return self
                .permits
                .release(self.waiter.count, self.waiter.granted.get());
        }
        let waiter = NonNull::from(&mut *self.waiter);
        // SAFETY: `poll` put the node in this queue.
        unsafe { self.permits.cancel(waiter) };
    }

    /// Acquires the permits, or waits for them. Called with the future pinned.
    #[inline(always)]
    fn poll_permits(&mut self, cx: &mut Context<'_>) -> Poll<Result<Hold, AcquireError>> {
        let permits = self.permits;
        let hold = if self.state == AcquireState::Unpolled {
            let hold = match permits.try_acquire(self.waiter.count) {
                Ok(hold) => hold,
                Err(TryAcquireError::Closed) => return Poll::Ready(Err(AcquireError(()))),
                Err(TryAcquireError::NoPermits) => {
                    let waiter = NonNull::from(&mut *self.waiter);
                    // SAFETY: the future is pinned, and `drop` takes the node out of the queue.
                    let enqueued =
                        unsafe { permits.acquire_or_enqueue(waiter, cx.waker().clone()) };
                    if enqueued.is_pending() {
                        self.state = AcquireState::Waiting;
                        self.waiter.spans.enqueued();
                    }
                    ready!(enqueued)?
                }
            };
            self.waiter.spans.acquired(self.waiter.count);
            hold
        } else {
            if permits.is_closed() {
                return Poll::Ready(Err(AcquireError(())));
            }
            if self.state == AcquireState::Waiting {
                // SAFETY: the node is a field of a pinned future.
                let waiter = unsafe { Pin::new_unchecked(&*self.waiter) };
                if !waiter.has_all() && permits.register_waker(waiter, cx) {
                    return Poll::Pending;
                }
                if permits.is_closed() {
                    return Poll::Ready(Err(AcquireError(())));
                }
                permits.claim(waiter);
            }
            self.waiter.granted.get()
        };
        self.state = AcquireState::Acquired;
        // Comes last, so that a task with a spent budget keeps its place in the queue.
        let Poll::Ready(proceed) = poll_proceed(cx) else {
            self.waiter.granted.set(hold);
            return Poll::Pending;
        };
        proceed.made_progress();
        self.waiter.spans.returns();
        self.state = AcquireState::Done;
        Poll::Ready(Ok(hold))
    }
}

impl Future for Acquire<'_> {
    type Output = Result<Hold, AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of the future, so the node stays where it is.
        let this = unsafe { self.get_unchecked_mut() };
        // Clones, so that the future can be borrowed exclusively.
        let spans = this.waiter.spans.clone();
        let _entered = spans.enter();
        let polled = this.poll_permits(cx);
        if polled.is_pending() {
            this.waiter.spans.is_pending();
        }
        polled
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.state, AcquireState::Unpolled | AcquireState::Done) {
            self.give_up();
        }
        if mem::needs_drop::<AcquireSpans>() {
            // SAFETY: the spans are dropped once, here, and the node is in no queue any more.
            unsafe { (&raw mut self.waiter.spans).drop_in_place() };
        }
    }
}

/// Future of [`Permits::acquire_open`].
#[derive(Debug)]
pub(in crate::sync) struct AcquireOpen<'a>(pub(super) Acquire<'a>);

impl Future for AcquireOpen<'_> {
    type Output = Hold;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Hold> {
        // SAFETY: the field is not moved out.
        let acquire = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        match ready!(acquire.poll(cx)) {
            Ok(hold) => Poll::Ready(hold),
            Err(_) => unreachable!("the permits of a lock are never closed"),
        }
    }
}
