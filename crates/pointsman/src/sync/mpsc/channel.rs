//! The shared state of bounded and unbounded channels: the queue, the limit, the number of senders, and the
//! wake-ups when one side closes.
//!
//! Invariant: a channel is finished for its receiver when the queue is empty and either all senders are
//! dropped, or the receiver has closed it and no capacity is reserved.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll, ready};

use super::backoff::Backoff;
use super::error::TryRecvError;
use super::limit::Limit;
use super::queue::Queue;
use super::reader::{PeekResult, QueueReader};
use crate::loom::sync::Arc;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::wait_set::WaitSet;
use crate::task::activity::{WaitKind, note_wait};
use crate::task::coop::poll_proceed;

pub(super) struct Channel<T, L> {
    pub(super) queue: Queue<T>,
    pub(super) limit: L,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    /// Senders that wait until the receiver closes.
    close_waiters: WaitSet,
}

// A panic leaves no broken state: messages are moved, not changed in place.
impl<T, L> UnwindSafe for Channel<T, L> {}
impl<T, L> RefUnwindSafe for Channel<T, L> {}

impl<T, L: Limit> Channel<T, L> {
    /// Releases capacity reserved for messages that are not sent.
    pub(super) fn release(&self, count: usize) {
        self.limit.release(count);
        self.wake_if_drained();
    }

    /// Wakes the receiver if it is closed and no capacity is reserved, which it may be waiting for.
    #[inline]
    pub(super) fn wake_if_drained(&self) {
        if self.limit.is_drained() {
            self.queue.wake();
        }
    }

    /// Waits until `is_closed` is true, which is checked again when the receiver closes.
    pub(super) async fn closed(&self, is_closed: impl Fn() -> bool) {
        // The receiver closes before it takes the lock to wake waiters, so the check under the lock does not
        // miss it.
        self.close_waiters
            .wait(WaitKind::Send, |_| is_closed().then_some(()))
            .await;
    }

    pub(super) fn strong_count(&self) -> usize {
        // ORDERING: Acquire pairs with the Release of `Producer::drop`: the caller sees what dropped senders
        // did before.
        self.senders.load(Acquire)
    }

    pub(super) fn weak_count(&self) -> usize {
        self.weak_senders.load(Relaxed)
    }
}

/// A sender's reference to the channel. Dropping the last one closes the channel.
pub(super) struct Producer<T, L: Limit>(Arc<Channel<T, L>>);

impl<T, L: Limit> Producer<T, L> {
    pub(super) fn channel(&self) -> &Channel<T, L> {
        &self.0
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn downgrade(&self) -> WeakProducer<T, L> {
        self.0.weak_senders.fetch_add(1, Relaxed);
        WeakProducer(self.0.clone())
    }
}

impl<T, L: Limit> Clone for Producer<T, L> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Relaxed);
        Self(self.0.clone())
    }
}

impl<T, L: Limit> Drop for Producer<T, L> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire of the last decrement, which closes the channel after all
        // sends. Acquire in case this is the last.
        if self.0.senders.fetch_sub(1, AcqRel) == 1 {
            self.0.queue.close_by_senders();
        }
    }
}

/// A reference to the channel that does not keep it open.
pub(super) struct WeakProducer<T, L: Limit>(Arc<Channel<T, L>>);

impl<T, L: Limit> WeakProducer<T, L> {
    pub(super) fn channel(&self) -> &Channel<T, L> {
        &self.0
    }

    pub(super) fn upgrade(&self) -> Option<Producer<T, L>> {
        // ORDERING: Acquire pairs with the Release of `Producer::drop`: the caller sees what dropped senders
        // did.
        self.0
            .senders
            .fetch_update(Acquire, Acquire, |count| (count > 0).then_some(count + 1))
            .ok()?;
        Some(Producer(self.0.clone()))
    }
}

impl<T, L: Limit> Clone for WeakProducer<T, L> {
    fn clone(&self) -> Self {
        self.0.weak_senders.fetch_add(1, Relaxed);
        Self(self.0.clone())
    }
}

impl<T, L: Limit> Drop for WeakProducer<T, L> {
    fn drop(&mut self) {
        self.0.weak_senders.fetch_sub(1, Relaxed);
    }
}

/// The receiver's reference to the channel. There is one, which owns the queue's reader.
pub(super) struct Consumer<T, L: Limit> {
    channel: Arc<Channel<T, L>>,
    reader: QueueReader<T>,
    is_closed: bool,
    /// Pauses while a message is being sent.
    backoff: Backoff,
}

/// Releases the capacity of a received message when this is dropped, after the message was moved directly to
/// the caller.
struct ReleaseOnDrop<'a, L: Limit>(&'a L);

impl<L: Limit> Drop for ReleaseOnDrop<'_, L> {
    #[inline]
    fn drop(&mut self) {
        self.0.release(1);
    }
}

pub(super) fn channel<T, L: Limit>(limit: L) -> (Producer<T, L>, Consumer<T, L>) {
    let channel = Arc::new(Channel {
        queue: Queue::new(),
        limit,
        senders: AtomicUsize::new(1),
        weak_senders: AtomicUsize::new(0),
        close_waiters: WaitSet::new(),
    });
    let consumer = Consumer {
        channel: channel.clone(),
        reader: QueueReader::new(),
        is_closed: false,
        backoff: Backoff::new(),
    };
    (Producer(channel), consumer)
}

impl<T, L: Limit> Consumer<T, L> {
    pub(super) fn channel(&self) -> &Channel<T, L> {
        &self.channel
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed || self.channel.strong_count() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.reader.len(&self.channel.queue)
    }

    pub(super) fn close(&mut self) {
        if self.is_closed {
            return;
        }
        self.is_closed = true;
        self.channel.limit.close();
        if !L::SENDS_AFTER_CLOSE {
            self.reader.close(&self.channel.queue);
        }
        self.channel.close_waiters.wake_all(|| ());
    }

    pub(super) fn try_recv(&mut self) -> Result<T, TryRecvError> {
        // SAFETY: `channel` made the reader for this queue, and neither is ever replaced.
        match unsafe { self.reader.peek_settled(&self.channel.queue) } {
            PeekResult::Message => {
                let _release = ReleaseOnDrop(&self.channel.limit);
                // SAFETY: `peek_settled` has just returned `Message`, and only this consumer receives.
                Ok(unsafe { self.reader.read() })
            }
            PeekResult::Finished => Err(TryRecvError::Disconnected),
            PeekResult::Empty | PeekResult::Busy if self.channel.limit.is_drained() => {
                Err(TryRecvError::Disconnected)
            }
            PeekResult::Empty | PeekResult::Busy => Err(TryRecvError::Empty),
        }
    }

    #[inline]
    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let proceed = ready!(poll_proceed(cx));
        let found = ready!(self.poll_message(cx));
        proceed.made_progress();
        if !found {
            return Poll::Ready(None);
        }
        let _release = ReleaseOnDrop(&self.channel.limit);
        // SAFETY: `poll_message` has just found a message, and only this consumer receives.
        Poll::Ready(Some(unsafe { self.reader.read() }))
    }

    pub(super) fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        messages: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        let proceed = ready!(poll_proceed(cx));
        let mut count = 0;
        if limit > 0 && ready!(self.poll_message(cx)) {
            loop {
                // SAFETY: `poll_message`, or `peek` below, has just found a message.
                messages.push(unsafe { self.reader.read() });
                count += 1;
                // SAFETY: `channel` made the reader for this queue, and neither is ever replaced.
                let has_more = count < limit
                    && unsafe { self.reader.peek(&self.channel.queue) } == PeekResult::Message;
                if !has_more {
                    break;
                }
            }
            self.channel.limit.release(count);
        }
        proceed.made_progress();
        Poll::Ready(count)
    }

    /// Ready with true if there is a message, with false if the channel is finished.
    #[inline]
    fn poll_message(&mut self, cx: &Context<'_>) -> Poll<bool> {
        let found = loop {
            // SAFETY: `channel` made the reader for this queue, and neither is ever replaced.
            match unsafe { self.reader.peek(&self.channel.queue) } {
                PeekResult::Message => break true,
                PeekResult::Finished => break false,
                PeekResult::Empty => {
                    if ready!(self.poll_register(cx)) {
                        break false;
                    }
                }
                PeekResult::Busy => return self.retry_later(cx),
            }
        };
        self.backoff.reset();
        Poll::Ready(found)
    }

    /// Registers the waker. Ready if there is something to look at: with true if the channel is finished.
    fn poll_register(&mut self, cx: &Context<'_>) -> Poll<bool> {
        // SAFETY: `channel` makes one consumer per queue, which is borrowed exclusively here.
        let Some(tail) = (unsafe { self.channel.queue.register_waker(cx.waker()) }) else {
            return self.retry_later(cx);
        };
        if !self.reader.has_all(tail.positions()) || tail.has_no_senders() {
            Poll::Ready(false)
        } else if self.channel.limit.is_drained() {
            Poll::Ready(true)
        } else {
            self.backoff.reset();
            let address = std::ptr::from_ref(&self.channel.queue).addr();
            note_wait(WaitKind::Receive, address, cx.waker());
            Poll::Pending
        }
    }

    /// Called when a sender was preempted after it reserved a position or took the waker. It does not know
    /// that the receiver waits, so the task wakes itself.
    #[cold]
    fn retry_later<R>(&mut self, cx: &Context<'_>) -> Poll<R> {
        self.backoff.wait();
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T, L: Limit> Drop for Consumer<T, L> {
    fn drop(&mut self) {
        /// Continues if a waker panics.
        struct Rest<'a, T, L: Limit>(&'a mut Consumer<T, L>);

        impl<T, L: Limit> Drop for Rest<'_, T, L> {
            fn drop(&mut self) {
                let Consumer {
                    channel, reader, ..
                } = &mut *self.0;
                // SAFETY: the reader belongs to this queue, and neither is used for receiving afterwards.
                unsafe { reader.clear(&channel.queue, || channel.limit.release(1)) };
                // SAFETY: `channel` makes one consumer per queue, which is borrowed exclusively here.
                unsafe { channel.queue.drop_waker() };
            }
        }

        Rest(self).0.close();
    }
}

impl<T, L: Limit> fmt::Debug for Consumer<T, L> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Channel")
            .field("messages", &self.len())
            .field("senders", &self.channel.strong_count())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

impl<T, L: Limit> fmt::Debug for Producer<T, L> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Channel")
            .field("senders", &self.0.strong_count())
            .finish_non_exhaustive()
    }
}
