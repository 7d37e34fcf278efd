//! The methods of the read-write lock that return guards which keep it alive.

use std::sync::Arc;

use super::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use crate::sync::TryLockError;
use crate::sync::guard::{AllPermits, OnePermit};
use crate::sync::holders::Hold;

impl<T: ?Sized> RwLock<T> {
    /// Like [`read`](Self::read). The guard keeps the lock alive.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// # futures::executor::block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let guard = lock.read_owned().await;
    /// std::thread::spawn(move || assert_eq!(*guard, 1)).join().unwrap();
    /// # });
    /// ```
    pub async fn read_owned(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        let hold = traced_op!(
            self.permits.spans.lock(),
            "RwLock::read_owned",
            "poll",
            self.permits.acquire_open(1)
        )
        .await;
        self.owned_read_guard(hold)
    }

    /// Like [`try_read`](Self::try_read). The guard keeps the lock alive.
    ///
    /// # Errors
    /// As [`try_read`](Self::try_read).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.clone().try_read_owned().unwrap();
    /// assert!(lock.try_write().is_err());
    /// drop(reader);
    /// assert!(lock.try_write().is_ok());
    /// ```
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        let hold = self.try_acquire(1)?;
        Ok(self.owned_read_guard(hold))
    }

    /// Like [`write`](Self::write). The guard keeps the lock alive.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// # futures::executor::block_on(async {
    /// let count = Arc::new(RwLock::new(1));
    /// let mut writer = count.clone().write_owned().await;
    /// std::thread::spawn(move || *writer += 1).join().unwrap();
    /// assert_eq!(*count.read().await, 2);
    /// # });
    /// ```
    pub async fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        let count = self.max_readers as usize;
        let hold = traced_op!(
            self.permits.spans.lock(),
            "RwLock::write_owned",
            "poll",
            self.permits.acquire_open(count)
        )
        .await;
        self.owned_write_guard(hold)
    }

    /// Like [`try_write`](Self::try_write). The guard keeps the lock alive.
    ///
    /// # Errors
    /// As [`try_write`](Self::try_write).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut writer = lock.clone().try_write_owned().unwrap();
    /// *writer = 2;
    /// assert!(lock.try_read().is_err());
    /// drop(writer);
    /// assert_eq!(*lock.try_read().unwrap(), 2);
    /// ```
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        let hold = self.try_acquire(self.max_readers)?;
        Ok(self.owned_write_guard(hold))
    }

    fn owned_read_guard(self: Arc<Self>, hold: Hold) -> OwnedRwLockReadGuard<T> {
        self.permits.holder.may_move(hold);
        let guard = OwnedRwLockReadGuard {
            data: self.shared(),
            permit: OnePermit { owner: self, hold },
        };
        guard.permit.owner.permits.spans.one_acquired();
        guard
    }

    fn owned_write_guard(self: Arc<Self>, hold: Hold) -> OwnedRwLockWriteGuard<T> {
        self.permits.holder.may_move(hold);
        let guard = OwnedRwLockWriteGuard {
            data: self.exclusive(),
            permits: AllPermits {
                count: self.max_readers,
                owner: self,
                hold,
            },
        };
        guard.permits.owner.permits.spans.all_acquired();
        guard
    }
}
