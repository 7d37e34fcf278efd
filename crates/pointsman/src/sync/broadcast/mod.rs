//! A channel whose messages go to all receivers, each of which gets a clone.
//!
//! ```
//! # futures::executor::block_on(async {
//! use pointsman::sync::broadcast;
//!
//! let (tx, mut first) = broadcast::channel(16);
//! let mut second = tx.subscribe();
//! tx.send("hello").unwrap();
//! assert_eq!(first.recv().await, Ok("hello"));
//! assert_eq!(second.recv().await, Ok("hello"));
//! # });
//! ```
//!
//! The channel keeps a fixed number of messages, and to send never waits. A receiver that is so slow that
//! messages were overwritten before it came is told how many it has missed
//! ([`RecvError::Lagged`]), and goes on with the oldest that is still there.
//!
//! A message need not be [`Sync`], so its place is locked while a receiver clones it, as in Tokio: the clone of
//! a message must not use its channel.

pub mod error;
#[cfg(all(test, loom))]
mod loom_tests;
mod ring;

use std::fmt;

use self::error::{RecvError, SendError, TryRecvError};
use self::ring::Ring;
use crate::loom::sync::Arc;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::park::block_outside;
use crate::task::coop::cooperative;

/// Makes a channel that keeps at least the last `capacity` messages: as many as the next power of two.
///
/// # Panics
/// If `capacity` is 0, or more than [`usize::MAX`] / 2.
///
/// ```
/// let (tx, mut rx) = pointsman::sync::broadcast::channel(2);
/// tx.send(1).unwrap();
/// assert_eq!(rx.try_recv(), Ok(1));
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::with_receivers(capacity, 1);
    let receiver = Receiver {
        ring: sender.ring.clone(),
        next: 0,
    };
    (sender, receiver)
}

/// Sends to all [`Receiver`]s. May be cloned. Made by [`channel`].
///
/// ```
/// let (tx, rx) = pointsman::sync::broadcast::channel(4);
/// assert_eq!(tx.send(1).unwrap(), 1);
/// drop(rx);
/// assert!(tx.send(2).is_err());
/// ```
pub struct Sender<T> {
    ring: Arc<Ring<T>>,
}

impl<T> Sender<T> {
    /// Makes a sender that has no receiver yet.
    ///
    /// # Panics
    /// As [`channel`].
    ///
    /// ```
    /// let tx = pointsman::sync::broadcast::Sender::<u32>::new(4);
    /// assert!(tx.send(1).is_err());
    /// let mut rx = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self::with_receivers(capacity, 0)
    }

    #[track_caller]
    fn with_receivers(capacity: usize, receivers: usize) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`"
        );
        Self {
            ring: Arc::new(Ring::new(capacity, receivers)),
        }
    }

    /// Sends to all who are receivers now, and returns their number. Never waits. It does not follow that
    /// all of them will receive it: they may be dropped or lag.
    ///
    /// # Errors
    /// Gives the message back if there is no receiver. There may be one later.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// assert_eq!(tx.send("a").unwrap(), 1);
    /// assert_eq!(rx.try_recv(), Ok("a"));
    /// ```
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        self.ring.send(value)
    }

    /// A new receiver, of what is sent from now on.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// let mut late = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(late.try_recv(), Ok(2));
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::join(&self.ring)
    }

    /// A sender that does not keep the channel open.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use = "the sender itself stays as it is"]
    pub fn downgrade(&self) -> WeakSender<T> {
        self.ring.weak_senders.fetch_add(1, Relaxed);
        WeakSender {
            ring: self.ring.clone(),
        }
    }

    /// How many messages are kept for at least one receiver.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// tx.send(2).unwrap();
    /// rx.try_recv().unwrap();
    /// assert_eq!(tx.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether all receivers have received everything.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// assert!(!tx.is_empty());
    /// rx.try_recv().unwrap();
    /// assert!(tx.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// How many receivers there are.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let other = tx.subscribe();
    /// assert_eq!(tx.receiver_count(), 2);
    /// drop((rx, other));
    /// assert_eq!(tx.receiver_count(), 0);
    /// ```
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.ring.receivers()
    }

    /// Whether both send to the same receivers.
    ///
    /// ```
    /// # use pointsman::sync::broadcast::Sender;
    /// let (tx, other) = (Sender::<u32>::new(4), Sender::new(4));
    /// assert!(tx.same_channel(&tx.clone()));
    /// assert!(!tx.same_channel(&other));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// Waits until there is no receiver. Cancel safe. There may be one again later.
    ///
    /// ```
    /// # use std::pin::pin;
    /// # futures::executor::block_on(async {
    /// let (tx, rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let mut closed = pin!(tx.closed());
    /// assert!(futures::poll!(closed.as_mut()).is_pending());
    /// drop(rx);
    /// closed.await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        // The last receiver is counted out before the waiters are woken.
        let gone = |_| (self.receiver_count() == 0).then_some(());
        self.ring.leaving.wait(gone).await;
    }

    /// How many senders there are.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// drop(other);
    /// assert_eq!(tx.strong_count(), 1);
    /// ```
    #[must_use]
    pub fn strong_count(&self) -> usize {
        strong_count(&self.ring)
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// assert_eq!((tx.strong_count(), tx.weak_count()), (1, 1));
    /// drop(weak);
    /// assert_eq!(tx.weak_count(), 0);
    /// ```
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.ring.weak_senders.load(Relaxed)
    }
}

fn strong_count<T>(ring: &Ring<T>) -> usize {
    // ORDERING: whoever sees the count fall sees what the sender did before it went.
    ring.senders.load(Acquire)
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.ring.senders.fetch_add(1, Relaxed);
        Self {
            ring: self.ring.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // ORDERING: Release and Acquire, so that the last one's end comes after all that the others sent.
        if self.ring.senders.fetch_sub(1, AcqRel) == 1 {
            self.ring.close();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("broadcast::Sender")
    }
}

/// A sender that does not keep the channel open: receivers learn that all have gone while it is still
/// there. [`upgrade`](Self::upgrade) it to send. Made by [`Sender::downgrade`].
///
/// ```
/// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    ring: Arc<Ring<T>>,
}

impl<T> WeakSender<T> {
    /// A sender, if there still is one.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        // ORDERING: as a sender that was there all the time.
        self.ring
            .senders
            .fetch_update(AcqRel, Acquire, |count| (count > 0).then_some(count + 1))
            .ok()?;
        Some(Sender {
            ring: self.ring.clone(),
        })
    }

    /// How many senders there are.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// assert_eq!(weak.strong_count(), 1);
    /// drop(tx);
    /// assert_eq!(weak.strong_count(), 0);
    /// ```
    #[must_use]
    pub fn strong_count(&self) -> usize {
        strong_count(&self.ring)
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// let (tx, _rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// let other = weak.clone();
    /// assert_eq!(weak.weak_count(), 2);
    /// drop(other);
    /// assert_eq!(weak.weak_count(), 1);
    /// ```
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.ring.weak_senders.load(Relaxed)
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        self.ring.weak_senders.fetch_add(1, Relaxed);
        Self {
            ring: self.ring.clone(),
        }
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        self.ring.weak_senders.fetch_sub(1, Relaxed);
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("broadcast::WeakSender")
    }
}

/// Receives a clone of all that is sent after it was made. Made by [`channel`] and [`Sender::subscribe`].
///
/// ```
/// # futures::executor::block_on(async {
/// use pointsman::sync::broadcast::{channel, error::RecvError};
///
/// let (tx, mut rx) = channel(2);
/// for number in 1..=3 {
///     tx.send(number).unwrap();
/// }
/// drop(tx);
/// assert_eq!(rx.recv().await, Err(RecvError::Lagged(1)));
/// assert_eq!(rx.recv().await, Ok(2));
/// assert_eq!(rx.recv().await, Ok(3));
/// assert_eq!(rx.recv().await, Err(RecvError::Closed));
/// # });
/// ```
pub struct Receiver<T> {
    ring: Arc<Ring<T>>,
    /// The next message to be received.
    next: u64,
}

impl<T> Receiver<T> {
    fn join(ring: &Arc<Ring<T>>) -> Self {
        let next = ring.join();
        Self {
            ring: ring.clone(),
            next,
        }
    }

    /// How many messages were sent that it has not received, also those that it has missed without having
    /// been told yet.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.len(), 1);
    /// # rx.try_recv().unwrap();
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        (self.ring.sent() - self.next) as usize
    }

    /// Whether it has received everything.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_empty());
    /// rx.try_recv().unwrap();
    /// assert!(rx.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both receive from the same senders.
    ///
    /// ```
    /// # use pointsman::sync::broadcast;
    /// let (tx, rx) = broadcast::channel::<u32>(4);
    /// let (_tx, other) = broadcast::channel(4);
    /// assert!(rx.same_channel(&tx.subscribe()));
    /// assert!(!rx.same_channel(&other));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// How many senders there are.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let other = tx.clone();
    /// assert_eq!(rx.sender_strong_count(), 2);
    /// drop((tx, other));
    /// assert_eq!(rx.sender_strong_count(), 0);
    /// ```
    #[must_use]
    pub fn sender_strong_count(&self) -> usize {
        strong_count(&self.ring)
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::broadcast::channel::<u32>(4);
    /// let weak = tx.downgrade();
    /// assert_eq!(rx.sender_weak_count(), 1);
    /// drop(weak);
    /// assert_eq!(rx.sender_weak_count(), 0);
    /// ```
    #[must_use]
    pub fn sender_weak_count(&self) -> usize {
        self.ring.weak_senders.load(Relaxed)
    }

    /// Whether all senders are dropped. Messages may still be there.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender_strong_count() == 0
    }
}

impl<T: Clone> Receiver<T> {
    /// A new receiver of the same channel, of what is sent from now on.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// let late = rx.resubscribe();
    /// assert!(late.is_empty());
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    #[must_use]
    pub fn resubscribe(&self) -> Self {
        Self::join(&self.ring)
    }

    /// Receives a clone of the next message.
    ///
    /// Cancel safe: a message is either returned or stays.
    ///
    /// # Errors
    /// [`RecvError::Closed`] when none will come any more; [`RecvError::Lagged`] if some were missed.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// std::thread::spawn(move || tx.send(1));
    /// assert_eq!(rx.recv().await, Ok(1));
    /// # });
    /// ```
    pub async fn recv(&mut self) -> Result<T, RecvError> {
        cooperative(async {
            loop {
                if let Some(result) = self.receive() {
                    return result;
                }
                let (ring, next) = (&self.ring, self.next);
                ring.waiters.wait(|wait| ring.check(next, wait)).await;
            }
        })
        .await
    }

    /// What [`recv`](Self::recv) gives, or nothing if it has to wait. Apart from it, so that its future holds
    /// no message and can be shared even if messages cannot.
    fn receive(&mut self) -> Option<Result<T, RecvError>> {
        match self.try_recv() {
            Ok(message) => Some(Ok(message)),
            Err(TryRecvError::Closed) => Some(Err(RecvError::Closed)),
            Err(TryRecvError::Lagged(missed)) => Some(Err(RecvError::Lagged(missed))),
            Err(TryRecvError::Empty) => None,
        }
    }

    /// Receives a clone of the next message if it is there.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`] if none is there, [`TryRecvError::Closed`] when none will come any more,
    /// [`TryRecvError::Lagged`] if some were missed.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// assert!(rx.try_recv().is_err());
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.ring.receive(&mut self.next, T::clone)
    }

    /// Receives as [`recv`](Self::recv), and blocks this thread until then.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    /// Within a runtime, where it would keep tasks from running.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.blocking_recv(), Ok(1));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        block_outside(self.recv())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        /// Wakes those who wait for the last receiver to go, also if the drop of a message panics.
        struct Last<'a, T>(&'a Ring<T>);

        impl<T> Drop for Last<'_, T> {
            fn drop(&mut self) {
                self.0.leaving.wake_all(|| ());
            }
        }

        let (end, is_last) = self.ring.part();
        let _last = is_last.then(|| Last(&self.ring));
        // Messages that wait for this receiver must not wait for ever.
        while self.next < end {
            let _ = self.ring.receive(&mut self.next, |_| ());
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("broadcast::Receiver")
    }
}
