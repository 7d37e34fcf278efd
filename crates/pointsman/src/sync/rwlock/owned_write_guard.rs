//! Write guards that keep their lock alive.

use std::sync::Arc;

use super::{OwnedRwLockReadGuard, RwLock};
use crate::sync::guard::{AllPermits, ExclusivePointer, deref_mut_guard};

/// A guard of an [`RwLock`] held for writing that keeps the lock alive. Dropping it releases the lock.
///
/// Returned by [`RwLock::write_owned`]. Unlike [`RwLockWriteGuard`](super::RwLockWriteGuard) it can move into
/// a task.
///
/// ```
/// # use std::sync::Arc;
/// # use pointsman::sync::RwLock;
/// # futures::executor::block_on(async {
/// let count = Arc::new(RwLock::new(0));
/// let mut writer = count.clone().write_owned().await;
/// std::thread::spawn(move || *writer += 1);
/// // Waits until the thread has dropped the guard.
/// assert_eq!(*count.read().await, 1);
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    pub(super) permits: AllPermits<Arc<RwLock<T>>>,
    pub(super) data: ExclusivePointer<T>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// Narrows the guard to a component of the value. If `f` panics, the lock is released.
    ///
    /// An associated function, so that it does not shadow a method of the value.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let pair = Arc::new(RwLock::new((1, 2)));
    /// let mut second = OwnedRwLockWriteGuard::map(pair.clone().write_owned().await, |pair| &mut pair.1);
    /// *second = 3;
    /// drop(second);
    /// assert_eq!(*pair.read().await, (1, 3));
    /// # });
    /// ```
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        OwnedRwLockMappedWriteGuard {
            data: this.data.part(f),
            permits: this.permits,
        }
    }

    /// Narrows the guard to a component of the value, if `f` returns one.
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let names = Arc::new(RwLock::new(vec!["a"]));
    /// let guard = names.clone().write_owned().await;
    /// let guard = OwnedRwLockWriteGuard::try_map(guard, |names| names.get_mut(1)).unwrap_err();
    /// *OwnedRwLockWriteGuard::try_map(guard, |names| names.get_mut(0)).unwrap() = "b";
    /// assert_eq!(*names.read().await, ["b"]);
    /// # });
    /// ```
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(OwnedRwLockMappedWriteGuard {
                permits: this.permits,
                data,
            }),
            None => Err(this),
        }
    }

    /// Converts the guard to a mapped guard of the whole value.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut guard: OwnedRwLockMappedWriteGuard<u32> =
    ///     OwnedRwLockWriteGuard::into_mapped(lock.clone().write_owned().await);
    /// *guard = 2;
    /// assert!(lock.try_read().is_err());
    /// drop(guard);
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T, T> {
        OwnedRwLockMappedWriteGuard {
            permits: this.permits,
            data: this.data,
        }
    }

    /// Downgrades the guard to a read guard. No writer locks in between.
    ///
    /// Readers at the front of the queue are admitted too.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// # futures::executor::block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut writer = lock.clone().write_owned().await;
    /// *writer = 2;
    /// let reader = writer.downgrade();
    /// assert_eq!(*reader + *lock.read().await, 4);
    /// # });
    /// ```
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        OwnedRwLockReadGuard {
            data: self.data.into_shared(),
            permit: self.permits.into_one(),
        }
    }

    /// Downgrades the guard to a read guard of a component of the value.
    ///
    /// `f` runs with the lock still held for writing. If it panics, the lock is released.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let pair = Arc::new(RwLock::new((1, 2)));
    /// let mut writer = pair.clone().write_owned().await;
    /// writer.1 = 3;
    /// let second = OwnedRwLockWriteGuard::downgrade_map(writer, |pair| &pair.1);
    /// assert_eq!((*second, *pair.read().await), (3, (1, 3)));
    /// # });
    /// ```
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, U>
    where
        F: FnOnce(&T) -> &U,
    {
        OwnedRwLockReadGuard {
            data: this.data.shared_part(f),
            permit: this.permits.into_one(),
        }
    }

    /// Downgrades the guard to a read guard of a component of the value, if `f` returns one.
    ///
    /// # Errors
    /// The original write guard, if `f` returns `None`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let names = Arc::new(RwLock::new(vec!["a"]));
    /// let writer = names.clone().write_owned().await;
    /// let mut writer =
    ///     OwnedRwLockWriteGuard::try_downgrade_map(writer, |names| names.get(1)).unwrap_err();
    /// writer.push("b");
    /// let second = OwnedRwLockWriteGuard::try_downgrade_map(writer, |names| names.get(1)).unwrap();
    /// assert_eq!((*second, names.read().await.len()), ("b", 2));
    /// # });
    /// ```
    pub fn try_downgrade_map<F, U: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockReadGuard<T, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match this.data.try_shared_part(f) {
            Some(data) => Ok(OwnedRwLockReadGuard {
                data,
                permit: this.permits.into_one(),
            }),
            None => Err(this),
        }
    }

    /// Returns the locked lock.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let writer = lock.clone().write_owned().await;
    /// assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&writer), &lock));
    /// # });
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.permits.owner
    }
}

deref_mut_guard!([T: ?Sized] OwnedRwLockWriteGuard<T> => T);

/// A write guard of a component of the value that keeps the lock alive. Returned by
/// [`OwnedRwLockWriteGuard::map`].
///
/// ```
/// use std::sync::Arc;
/// use pointsman::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
///
/// type Pair = (u32, u32);
///
/// async fn second(pair: Arc<RwLock<Pair>>) -> OwnedRwLockMappedWriteGuard<Pair, u32> {
///     OwnedRwLockWriteGuard::map(pair.write_owned().await, |pair| &mut pair.1)
/// }
///
/// # futures::executor::block_on(async {
/// let pair = Arc::new(RwLock::new((1, 2)));
/// *second(pair.clone()).await = 3;
/// assert_eq!(*pair.read().await, (1, 3));
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    permits: AllPermits<Arc<RwLock<T>>>,
    data: ExclusivePointer<U>,
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// Narrows the guard further, like [`OwnedRwLockWriteGuard::map`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let nested = Arc::new(RwLock::new(((1, 2), 3)));
    /// let writer = nested.clone().write_owned().await;
    /// let pair = OwnedRwLockWriteGuard::map(writer, |nested| &mut nested.0);
    /// *OwnedRwLockMappedWriteGuard::map(pair, |pair| &mut pair.1) = 5;
    /// assert_eq!(*nested.read().await, ((1, 5), 3));
    /// # });
    /// ```
    pub fn map<F, V: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, V>
    where
        F: FnOnce(&mut U) -> &mut V,
    {
        OwnedRwLockMappedWriteGuard {
            data: this.data.part(f),
            permits: this.permits,
        }
    }

    /// Narrows the guard further, like [`OwnedRwLockWriteGuard::try_map`].
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let lists = Arc::new(RwLock::new((vec![1], vec![2])));
    /// let writer = lists.clone().write_owned().await;
    /// let list = OwnedRwLockWriteGuard::map(writer, |lists| &mut lists.1);
    /// let list = OwnedRwLockMappedWriteGuard::try_map(list, |list| list.get_mut(1)).unwrap_err();
    /// *OwnedRwLockMappedWriteGuard::try_map(list, |list| list.get_mut(0)).unwrap() = 3;
    /// assert_eq!(lists.read().await.1, [3]);
    /// # });
    /// ```
    pub fn try_map<F, V: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, V>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut V>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(OwnedRwLockMappedWriteGuard {
                permits: this.permits,
                data,
            }),
            None => Err(this),
        }
    }

    /// Returns the locked lock.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let pair = Arc::new(RwLock::new((1, 2)));
    /// let writer = pair.clone().write_owned().await;
    /// let second = OwnedRwLockWriteGuard::map(writer, |pair| &mut pair.1);
    /// assert!(Arc::ptr_eq(OwnedRwLockMappedWriteGuard::rwlock(&second), &pair));
    /// # });
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.permits.owner
    }
}

deref_mut_guard!([T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U> => U);
