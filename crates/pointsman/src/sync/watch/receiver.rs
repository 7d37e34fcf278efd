//! The side that looks at the value.

use std::fmt;
use std::ops::Deref;

use super::error::RecvError;
use super::shared::{Shared, Version};
use crate::loom::sync::atomic::Ordering::{Relaxed, Release};
use crate::loom::sync::{Arc, RwLockReadGuard};
use crate::task::coop::cooperative;

/// A look at the value. Nobody can change it meanwhile: keep it short, and do not hold it while you await.
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
    /// Whether the value is another than the one that the receiver had seen. For a sender, false.
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

/// Looks at the value, and waits for changes. A clone has seen what this has seen. Made by
/// [`channel`](super::channel) and [`Sender::subscribe`](super::Sender::subscribe).
///
/// Changes that follow each other fast may be seen as one: only the last value is there.
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
    pub(super) shared: Arc<Shared<T>>,
    /// The version that was seen.
    pub(super) version: Version,
}

impl<T> Receiver<T> {
    /// Looks at the value, without marking it as seen. Blocks this thread while a sender changes it.
    ///
    /// ```
    /// let (tx, rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow(), 2);
    /// assert!(rx.has_changed().unwrap());
    /// ```
    #[must_use]
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.shared.read();
        let has_changed = self.version != self.shared.version();
        Ref { value, has_changed }
    }

    /// Looks at the value, and marks it as seen. Blocks this thread while a sender changes it.
    ///
    /// ```
    /// let (tx, mut rx) = pointsman::sync::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow_and_update(), 2);
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    #[must_use]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.shared.read();
        let version = self.shared.version();
        let has_changed = self.version != version;
        self.version = version;
        Ref { value, has_changed }
    }

    /// Whether the value is another than the one that was seen.
    ///
    /// # Errors
    /// If all senders are dropped, also if there is a value that was not seen.
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
        Ok(self.version != self.shared.version())
    }

    /// Whether all senders are dropped.
    /// The last value is still there.
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
        self.shared.is_closed()
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
        self.version = self.shared.version();
    }

    /// Waits for a value other than the one that was seen, and marks it as seen.
    ///
    /// Cancel safe: nothing is marked before this is ready.
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
        cooperative(self.shared.changed(&mut self.version)).await
    }

    /// Waits until `f` accepts a value, which may be the one that is there now, and looks at it. `f` must
    /// not use the channel.
    ///
    /// Cancel safe: given up, values that `f` has refused are marked as seen, and nothing else has happened.
    ///
    /// # Errors
    /// If all senders are dropped and `f` does not accept the last value.
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
        let Self { shared, version } = self;
        let shared: &Shared<T> = shared;
        cooperative(async move {
            let mut last = Ok(());
            loop {
                {
                    let value = shared.read();
                    let current = shared.version();
                    let has_changed = *version != current;
                    *version = current;
                    // After the end, a value that was refused is not offered again.
                    if (last.is_ok() || has_changed) && f(&value) {
                        return Ok(Ref { value, has_changed });
                    }
                }
                last?;
                last = shared.changed(version).await;
            }
        })
        .await
    }

    /// Whether both look at the same value.
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
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.receivers.fetch_add(1, Relaxed);
        Self {
            shared: self.shared.clone(),
            version: self.version,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // ORDERING: pairs with the Acquire of `receivers`.
        if self.shared.receivers.fetch_sub(1, Release) == 1 {
            self.shared.leaving.wake_all(|| ());
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
