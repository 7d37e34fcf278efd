//! The receiver of a watch channel.

use std::fmt;
use std::ops::Deref;

use super::channel::{Channel, Version};
use super::error::RecvError;
use crate::loom::sync::atomic::Ordering::{Relaxed, Release};
use crate::loom::sync::{Arc, RwLockReadGuard};
use crate::task::coop::cooperative;

/// A reference to the value. It holds a read lock, which blocks senders: keep it short, and do not hold it
/// across an await.
///
/// ```
/// let (tx, rx) = pointsman::sync::watch::channel(1);
/// tx.send(2).unwrap();
/// let value = rx.borrow();
/// assert!(value.has_changed());
/// assert_eq!(*value, 2);
/// ```
#[derive(Debug)]
pub struct Ref<'a, T> {
    pub(super) value: RwLockReadGuard<'a, T>,
    pub(super) has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Returns whether the receiver had not seen this value. False for a reference borrowed from a sender.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert!(rx.borrow_and_update().has_changed());
    /// assert!(!rx.borrow_and_update().has_changed());
    /// assert!(!tx.borrow().has_changed());
    /// ```
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Reads the value of a watch channel and waits for changes. A clone has seen the same version. Created by
/// [`channel`](super::channel) and [`Sender::subscribe`](super::Sender::subscribe).
///
/// Changes in quick succession may be seen as one, as only the last value is retained.
///
/// ```
/// # futures::executor::block_on(async {
/// let (tx, mut rx) = pointsman::sync::watch::channel("a");
/// std::thread::spawn(move || tx.send("b"));
/// rx.changed().await.unwrap();
/// assert_eq!(*rx.borrow_and_update(), "b");
/// # });
/// ```
pub struct Receiver<T> {
    pub(super) channel: Arc<Channel<T>>,
    /// The last version seen.
    pub(super) version: Version,
}

impl<T> Receiver<T> {
    /// Returns a reference to the value and does not mark it as seen. Blocks the thread while a sender
    /// changes the value.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow(), 2);
    /// assert!(rx.has_changed().unwrap());
    /// ```
    #[must_use]
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.channel.read();
        let has_changed = self.version != self.channel.version();
        Ref { value, has_changed }
    }

    /// Returns a reference to the value and marks it as seen. Blocks the thread while a sender changes the
    /// value.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow_and_update(), 2);
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    #[must_use]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.channel.read();
        let version = self.channel.version();
        let has_changed = self.version != version;
        self.version = version;
        Ref { value, has_changed }
    }

    /// Returns whether the value was not seen yet.
    ///
    /// # Errors
    /// If all senders are dropped, even if the value was not seen yet.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(1);
    /// assert!(!rx.has_changed().unwrap());
    /// tx.send(2).unwrap();
    /// assert!(rx.has_changed().unwrap());
    /// drop(tx);
    /// assert!(rx.has_changed().is_err());
    /// ```
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        if self.is_closed() {
            return Err(RecvError(()));
        }
        Ok(self.version != self.channel.version())
    }

    /// Returns whether all senders are dropped. The last value can still be read.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(1);
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// assert_eq!(*rx.borrow(), 1);
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.channel.is_closed()
    }

    /// Marks the value as not seen.
    ///
    /// ```
    /// let (_tx, mut rx) = pointsman::sync::watch::channel(1);
    /// rx.mark_changed();
    /// assert!(rx.has_changed().unwrap());
    /// ```
    pub fn mark_changed(&mut self) {
        self.version = self.version.before();
    }

    /// Marks the value as seen.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// rx.mark_unchanged();
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    pub fn mark_unchanged(&mut self) {
        self.version = self.channel.version();
    }

    /// Waits for a value that was not seen yet, and marks it as seen.
    ///
    /// Cancel safe: a cancelled call has marked no value.
    ///
    /// # Errors
    /// If all senders are dropped and the last value was seen.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// let (tx, mut rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// drop(tx);
    /// assert!(rx.changed().await.is_ok());
    /// assert!(rx.changed().await.is_err());
    /// # });
    /// ```
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        cooperative(self.channel.changed(&mut self.version)).await
    }

    /// Waits until `f` returns true for the value, starting with the current one, and returns a reference to
    /// it. `f` must not use the channel.
    ///
    /// Cancel safe: a cancelled call has marked the values that `f` refused as seen, and has no other effect.
    ///
    /// # Errors
    /// If all senders are dropped and `f` refuses the last value.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// let (tx, mut rx) = pointsman::sync::watch::channel(0);
    /// std::thread::spawn(move || (1..=5).try_for_each(|number| tx.send(number)));
    /// assert!(*rx.wait_for(|number| *number >= 3).await.unwrap() >= 3);
    /// # });
    /// ```
    pub async fn wait_for(
        &mut self,
        mut f: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        let Self { channel, version } = self;
        let channel: &Channel<T> = channel;
        cooperative(async move {
            let mut last = Ok(());
            loop {
                {
                    let value = channel.read();
                    let current = channel.version();
                    let has_changed = *version != current;
                    *version = current;
                    // Once the channel is closed, a refused value is not offered again.
                    if (last.is_ok() || has_changed) && f(&value) {
                        return Ok(Ref { value, has_changed });
                    }
                }
                last?;
                last = channel.changed(version).await;
            }
        })
        .await
    }

    /// Returns whether both receivers belong to the same channel.
    ///
    /// ```
    /// # use pointsman::sync::watch;
    /// let (tx, rx) = watch::channel(1);
    /// let (_tx, other) = watch::channel(1);
    /// assert!(rx.same_channel(&tx.subscribe()));
    /// assert!(!rx.same_channel(&other));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.channel.receivers.fetch_add(1, Relaxed);
        Self {
            channel: self.channel.clone(),
            version: self.version,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire of `Channel::receivers`.
        if self.channel.receivers.fetch_sub(1, Release) == 1 {
            self.channel.close_waiters.wake_all(|| ());
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Receiver")
            .field("value", &*self.borrow())
            .finish_non_exhaustive()
    }
}
