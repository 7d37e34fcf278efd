//! The receiver of a broadcast channel.

use std::fmt;

use super::error::{RecvError, TryRecvError};
use super::ring::Ring;
use crate::loom::sync::Arc;
use crate::loom::sync::atomic::Ordering::Relaxed;
use crate::park::block_outside;
use crate::task::activity::WaitKind;
use crate::task::coop::cooperative;

/// Receives a clone of each message sent after its creation. Created by [`channel`](super::channel) and
/// [`Sender::subscribe`](super::Sender::subscribe).
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
    pub(super) ring: Arc<Ring<T>>,
    /// The position of the next message.
    pub(super) next: u64,
}

impl<T> Receiver<T> {
    pub(super) fn subscribe(ring: &Arc<Ring<T>>) -> Self {
        let next = ring.add_receiver();
        Self {
            ring: ring.clone(),
            next,
        }
    }

    /// Returns the number of messages sent and not received, including missed ones that were not reported
    /// yet.
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

    /// Returns whether this receiver has received all messages.
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

    /// Returns whether both receivers belong to the same channel.
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

    /// Returns the number of senders.
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
        self.ring.senders()
    }

    /// Returns the number of weak senders.
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

    /// Returns whether all senders are dropped. There may still be messages.
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
    /// Returns a new receiver of the same channel, of messages sent from now on.
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
        Self::subscribe(&self.ring)
    }

    /// Receives a clone of the next message.
    ///
    /// Cancel safe: a cancelled call has received no message.
    ///
    /// # Errors
    /// [`RecvError::Closed`] if all senders are dropped and all messages received; [`RecvError::Lagged`] if
    /// messages were missed.
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
                ring.waiters
                    .wait(WaitKind::Receive, |wait| ring.check(next, wait))
                    .await;
            }
        })
        .await
    }

    /// Receives without waiting. Separate from [`recv`](Self::recv), so that its future holds no message and
    /// is `Sync` even if messages are not.
    fn receive(&mut self) -> Option<Result<T, RecvError>> {
        match self.try_recv() {
            Ok(message) => Some(Ok(message)),
            Err(TryRecvError::Closed) => Some(Err(RecvError::Closed)),
            Err(TryRecvError::Lagged(missed)) => Some(Err(RecvError::Lagged(missed))),
            Err(TryRecvError::Empty) => None,
        }
    }

    /// Receives a clone of the next message if there is one.
    ///
    /// # Errors
    /// [`TryRecvError::Empty`] if there is no message yet, [`TryRecvError::Closed`] if all senders are
    /// dropped and all messages received, [`TryRecvError::Lagged`] if messages were missed.
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

    /// Like [`recv`](Self::recv), but blocks the thread.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    /// Within a runtime.
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
        /// Wakes senders that wait for the last receiver to be dropped, also if the drop of a message panics.
        struct WakeCloseWaiters<'a, T>(&'a Ring<T>);

        impl<T> Drop for WakeCloseWaiters<'_, T> {
            fn drop(&mut self) {
                self.0.close_waiters.wake_all(|| ());
            }
        }

        let (end, is_last) = self.ring.remove_receiver();
        let _wake = is_last.then(|| WakeCloseWaiters(&self.ring));
        // Receives the messages that count this receiver, so that they are dropped.
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
