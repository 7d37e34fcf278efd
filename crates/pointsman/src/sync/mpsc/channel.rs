//! What bounded and unbounded channels have in common: the queue, the number of senders, and how the two
//! sides learn that the other has gone.
//!
//! Invariant: a channel is finished for its receiver when the queue is empty and either no sender is left,
//! or the receiver has closed it and nobody holds room for a message any more.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll, ready};

use super::error::TryRecvError;
use super::permits::Permits;
use super::queue::{Popped, Queue};
use crate::loom::sync::Arc;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::wait_set::WaitSet;
use crate::task::coop::poll_proceed;

/// How much a channel holds.
pub(super) trait Limit {
    /// Whether messages may come after the channel was closed, because their room was taken before.
    const ADMITS_LATE: bool;

    /// Gives room back. Whether the receiver must be woken: closed, and this was the last.
    fn give_back(&self, count: usize) -> bool;

    /// Lets nobody take room any more.
    fn close(&self);

    /// Whether it is closed and all room was given back.
    fn is_spent(&self) -> bool;
}

/// No limit: the queue alone says whether it is open.
pub(super) struct Unlimited;

impl Limit for Unlimited {
    const ADMITS_LATE: bool = false;

    fn give_back(&self, _count: usize) -> bool {
        false
    }

    fn close(&self) {}

    fn is_spent(&self) -> bool {
        false
    }
}

impl Limit for Permits {
    const ADMITS_LATE: bool = true;

    fn give_back(&self, count: usize) -> bool {
        self.give_back(count)
    }

    fn close(&self) {
        self.close();
    }

    fn is_spent(&self) -> bool {
        self.is_spent()
    }
}

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
        if self.limit.give_back(count) {
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

/// The receiver's hold of the channel. There is one, which makes the receiver's side of the queue its own.
pub(super) struct Consumer<T, L: Limit> {
    channel: Arc<Channel<T, L>>,
    is_closed: bool,
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
        is_closed: false,
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
        // SAFETY: the one receiver.
        unsafe { self.channel.queue.len() }
    }

    pub(super) fn close(&mut self) {
        if self.is_closed {
            return;
        }
        self.is_closed = true;
        self.channel.limit.close();
        if !L::ADMITS_LATE {
            // SAFETY: the one receiver.
            unsafe { self.channel.queue.close() };
        }
        self.channel.closing.wake_all(|| ());
    }

    pub(super) fn try_recv(&mut self) -> Result<T, TryRecvError> {
        // SAFETY: the one receiver.
        match unsafe { self.channel.queue.pop_settled() } {
            Popped::Message(message) => {
                self.channel.give_back(1);
                Ok(message)
            }
            Popped::Finished => Err(TryRecvError::Disconnected),
            Popped::Empty | Popped::Busy if self.channel.limit.is_spent() => {
                Err(TryRecvError::Disconnected)
            }
            Popped::Empty | Popped::Busy => Err(TryRecvError::Empty),
        }
    }

    #[inline]
    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let proceed = ready!(poll_proceed(cx));
        let received = loop {
            // SAFETY: the one receiver.
            match unsafe { self.channel.queue.pop() } {
                Popped::Message(message) => {
                    self.channel.give_back(1);
                    break Some(message);
                }
                Popped::Finished => break None,
                Popped::Empty => {
                    if self.fall_asleep(cx) {
                        if self.channel.limit.is_spent() {
                            break None;
                        }
                        return Poll::Pending;
                    }
                }
                Popped::Busy => return come_back(cx),
            }
        };
        proceed.made_progress();
        Poll::Ready(received)
    }

    pub(super) fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        messages: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        let proceed = ready!(poll_proceed(cx));
        let mut count = 0;
        while count < limit {
            // SAFETY: the one receiver.
            match unsafe { self.channel.queue.pop() } {
                Popped::Message(message) => {
                    messages.push(message);
                    count += 1;
                }
                Popped::Finished => break,
                Popped::Empty | Popped::Busy if count > 0 => break,
                Popped::Empty => {
                    if self.fall_asleep(cx) {
                        if self.channel.limit.is_spent() {
                            break;
                        }
                        return Poll::Pending;
                    }
                }
                Popped::Busy => return come_back(cx),
            }
        }
        if count > 0 {
            self.channel.give_back(count);
        }
        proceed.made_progress();
        Poll::Ready(count)
    }

    fn fall_asleep(&self, cx: &Context<'_>) -> bool {
        // SAFETY: the one receiver.
        unsafe { self.channel.queue.sleep(cx.waker()) }
    }
}

/// A sender has taken a place and was interrupted there. It does not know that it is waited for, so the
/// task comes back by itself.
#[cold]
fn come_back<R>(cx: &Context<'_>) -> Poll<R> {
    crate::loom::thread::yield_now();
    cx.waker().wake_by_ref();
    Poll::Pending
}

impl<T, L: Limit> Drop for Consumer<T, L> {
    fn drop(&mut self) {
        /// Drops what is left, also if the drop of a message panics.
        struct Rest<'a, T, L: Limit>(&'a Channel<T, L>);

        impl<T, L: Limit> Rest<'_, T, L> {
            fn drain(&self) {
                // SAFETY: the one receiver.
                while let Popped::Message(message) = unsafe { self.0.queue.pop() } {
                    self.0.give_back(1);
                    drop(message);
                }
            }
        }

        impl<T, L: Limit> Drop for Rest<'_, T, L> {
            fn drop(&mut self) {
                self.drain();
            }
        }

        self.close();
        // SAFETY: the one receiver.
        unsafe {
            self.channel.queue.forget_waker();
            // Who has room already is told when it sends.
            self.channel.queue.close();
        }
        Rest(&self.channel).drain();
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
