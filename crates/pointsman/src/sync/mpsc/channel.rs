//! What bounded and unbounded channels have in common: the queue, the number of senders, and how the two
//! sides learn that the other has gone.
//!
//! Invariant: a channel is finished for its receiver when the queue is empty and either no sender is left,
//! or the receiver has closed it and nobody holds room for a message any more.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll, ready};

use super::backoff::Backoff;
use super::error::TryRecvError;
use super::front::{Found, Front};
use super::limit::Limit;
use super::queue::Queue;
use crate::loom::sync::Arc;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::wait_set::WaitSet;
use crate::task::coop::poll_proceed;

pub(super) struct Channel<T, L> {
    pub(super) queue: Queue<T>,
    pub(super) limit: L,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    /// Those who wait for the receiver to close.
    closing: WaitSet,
}

// A panic leaves nothing half done: messages are moved, never changed in place.
impl<T, L> UnwindSafe for Channel<T, L> {}
impl<T, L> RefUnwindSafe for Channel<T, L> {}

impl<T, L: Limit> Channel<T, L> {
    /// Gives room back for messages that will not be sent.
    pub(super) fn give_back(&self, count: usize) {
        self.limit.give_back(count);
        self.wake_if_spent();
    }

    /// Wakes the receiver if it is closed and nobody holds room any more: it may wait for that alone.
    #[inline]
    pub(super) fn wake_if_spent(&self) {
        if self.limit.is_spent() {
            self.queue.wake();
        }
    }

    /// Waits until `is_closed` says so, asked again when the receiver closes.
    pub(super) async fn closed(&self, is_closed: impl Fn() -> bool) {
        // The receiver closes before it takes the lock to wake, so nothing has to be done under it.
        self.closing.wait(|_| is_closed().then_some(())).await;
    }

    pub(super) fn strong_count(&self) -> usize {
        // ORDERING: whoever sees the count fall sees what the sender did before it went.
        self.senders.load(Acquire)
    }

    pub(super) fn weak_count(&self) -> usize {
        self.weak_senders.load(Relaxed)
    }
}

/// A sender's hold of the channel. When the last goes, the receiver learns.
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
        // ORDERING: Release and Acquire, so that the last one's end comes after all that the others sent.
        if self.0.senders.fetch_sub(1, AcqRel) == 1 {
            self.0.queue.abandon();
        }
    }
}

/// A hold of the channel that does not keep it open.
pub(super) struct WeakProducer<T, L: Limit>(Arc<Channel<T, L>>);

impl<T, L: Limit> WeakProducer<T, L> {
    pub(super) fn channel(&self) -> &Channel<T, L> {
        &self.0
    }

    pub(super) fn upgrade(&self) -> Option<Producer<T, L>> {
        // ORDERING: as a sender that was there all the time.
        self.0
            .senders
            .fetch_update(AcqRel, Acquire, |count| (count > 0).then_some(count + 1))
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

/// The receiver's hold of the channel. There is one, which has the queue's front.
pub(super) struct Consumer<T, L: Limit> {
    channel: Arc<Channel<T, L>>,
    front: Front<T>,
    is_closed: bool,
    /// For how long a message that is being sent has not come.
    backoff: Backoff,
}

/// Gives the room of a message back when it is received: last, so that the message goes straight to whoever
/// receives it.
struct GiveBack<'a, L: Limit>(&'a L);

impl<L: Limit> Drop for GiveBack<'_, L> {
    #[inline]
    fn drop(&mut self) {
        self.0.give_back(1);
    }
}

pub(super) fn channel<T, L: Limit>(limit: L) -> (Producer<T, L>, Consumer<T, L>) {
    let channel = Arc::new(Channel {
        queue: Queue::new(),
        limit,
        senders: AtomicUsize::new(1),
        weak_senders: AtomicUsize::new(0),
        closing: WaitSet::new(),
    });
    let consumer = Consumer {
        channel: channel.clone(),
        front: Front::new(),
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
        self.front.len(&self.channel.queue)
    }

    pub(super) fn close(&mut self) {
        if self.is_closed {
            return;
        }
        self.is_closed = true;
        self.channel.limit.close();
        if !L::ADMITS_LATE {
            self.front.close(&self.channel.queue);
        }
        self.channel.closing.wake_all(|| ());
    }

    pub(super) fn try_recv(&mut self) -> Result<T, TryRecvError> {
        // SAFETY: both are of this channel.
        match unsafe { self.front.find_settled(&self.channel.queue) } {
            Found::Message => {
                let _room = GiveBack(&self.channel.limit);
                // SAFETY: found.
                Ok(unsafe { self.front.read() })
            }
            Found::Finished => Err(TryRecvError::Disconnected),
            Found::Empty | Found::Busy if self.channel.limit.is_spent() => {
                Err(TryRecvError::Disconnected)
            }
            Found::Empty | Found::Busy => Err(TryRecvError::Empty),
        }
    }

    #[inline]
    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let proceed = ready!(poll_proceed(cx));
        let found = ready!(self.poll_find(cx));
        proceed.made_progress();
        if !found {
            return Poll::Ready(None);
        }
        let _room = GiveBack(&self.channel.limit);
        // SAFETY: found.
        Poll::Ready(Some(unsafe { self.front.read() }))
    }

    pub(super) fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        messages: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        let proceed = ready!(poll_proceed(cx));
        let mut count = 0;
        if limit > 0 && ready!(self.poll_find(cx)) {
            loop {
                // SAFETY: found.
                messages.push(unsafe { self.front.read() });
                count += 1;
                // SAFETY: both are of this channel.
                let has_more = count < limit
                    && unsafe { self.front.find(&self.channel.queue) } == Found::Message;
                if !has_more {
                    break;
                }
            }
            self.channel.limit.give_back(count);
        }
        proceed.made_progress();
        Poll::Ready(count)
    }

    /// Whether a message was found, or else the channel is finished.
    #[inline]
    fn poll_find(&mut self, cx: &Context<'_>) -> Poll<bool> {
        let found = loop {
            // SAFETY: both are of this channel.
            match unsafe { self.front.find(&self.channel.queue) } {
                Found::Message => break true,
                Found::Finished => break false,
                Found::Empty => {
                    if ready!(self.poll_sleep(cx)) {
                        break false;
                    }
                }
                Found::Busy => return self.come_back(cx),
            }
        };
        self.backoff.reset();
        Poll::Ready(found)
    }

    /// Goes to sleep. If it does not come to that, whether the channel is finished: if not, there is something
    /// to look at.
    fn poll_sleep(&mut self, cx: &Context<'_>) -> Poll<bool> {
        // SAFETY: the one receiver.
        let Some(tail) = (unsafe { self.channel.queue.sleep(cx.waker()) }) else {
            return self.come_back(cx);
        };
        if !self.front.has_all(tail.places()) || tail.is_abandoned() {
            Poll::Ready(false)
        } else if self.channel.limit.is_spent() {
            Poll::Ready(true)
        } else {
            self.backoff.reset();
            Poll::Pending
        }
    }

    /// A sender was interrupted, having taken a place or the waker. It does not know that it is waited for, so
    /// the task comes back by itself.
    #[cold]
    fn come_back<R>(&mut self, cx: &Context<'_>) -> Poll<R> {
        self.backoff.wait();
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T, L: Limit> Drop for Consumer<T, L> {
    fn drop(&mut self) {
        /// Goes on also if a waker panics.
        struct Rest<'a, T, L: Limit>(&'a mut Consumer<T, L>);

        impl<T, L: Limit> Drop for Rest<'_, T, L> {
            fn drop(&mut self) {
                let Consumer { channel, front, .. } = &mut *self.0;
                // SAFETY: both are of this channel, and used no more.
                unsafe { front.clear(&channel.queue, || channel.limit.give_back(1)) };
                // SAFETY: the one receiver.
                unsafe { channel.queue.forget_waker() };
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
