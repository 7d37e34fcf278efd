//! Write guards that borrow their lock.

use std::marker::PhantomData;

use super::{RwLock, RwLockReadGuard};
use crate::sync::guard::{AllPermits, ExclusivePointer, deref_mut_guard};
use crate::sync::semaphore::Permits;

/// A guard of an [`RwLock`] held for writing. Dropping it releases the lock.
///
/// Returned by [`RwLock::write`]. It may be held across an `.await`.
///
/// ```
/// # use pointsman::sync::RwLock;
/// # futures::executor::block_on(async {
/// let lock = RwLock::new(1);
/// let mut writer = lock.write().await;
/// *writer += 1;
/// assert!(lock.try_read().is_err());
/// drop(writer);
/// assert_eq!(*lock.try_read().unwrap(), 2);
/// # });
/// ```
#[must_use = "the lock is unlocked at once if this is not kept"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    pub(super) permits: AllPermits<&'a Permits>,
    pub(super) data: ExclusivePointer<T>,
    pub(super) _lock: PhantomData<&'a RwLock<T>>,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Narrows the guard to a component of the value. If `f` panics, the lock is released.
    ///
    /// An associated function, so that it does not shadow a method of the value.
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockWriteGuard};
    /// # futures::executor::block_on(async {
    /// let pair = RwLock::new((1, 2));
    /// let mut second = RwLockWriteGuard::map(pair.write().await, |pair| &mut pair.1);
    /// *second = 3;
    /// drop(second);
    /// assert_eq!(*pair.read().await, (1, 3));
    /// # });
    /// ```
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        RwLockMappedWriteGuard {
            data: this.data.part(f),
            permits: this.permits,
            _lock: PhantomData,
        }
    }

    /// Narrows the guard to a component of the value, if `f` returns one.
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockWriteGuard};
    /// # futures::executor::block_on(async {
    /// let names = RwLock::new(vec!["a"]);
    /// let guard = names.write().await;
    /// let guard = RwLockWriteGuard::try_map(guard, |names| names.get_mut(1)).unwrap_err();
    /// *RwLockWriteGuard::try_map(guard, |names| names.get_mut(0)).unwrap() = "b";
    /// assert_eq!(*names.read().await, ["b"]);
    /// # });
    /// ```
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(RwLockMappedWriteGuard {
                permits: this.permits,
                data,
                _lock: PhantomData,
            }),
            None => Err(this),
        }
    }

    /// Converts the guard to a mapped guard of the whole value.
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    /// # futures::executor::block_on(async {
    /// let lock = RwLock::new(1);
    /// let mut guard: RwLockMappedWriteGuard<'_, u32> =
    ///     RwLockWriteGuard::into_mapped(lock.write().await);
    /// *guard = 2;
    /// assert!(lock.try_read().is_err());
    /// drop(guard);
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockMappedWriteGuard {
            permits: this.permits,
            data: this.data,
            _lock: PhantomData,
        }
    }

    /// Downgrades the guard to a read guard. No writer locks in between.
    ///
    /// Readers at the front of the queue are admitted too.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// # futures::executor::block_on(async {
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write().await;
    /// *writer = 2;
    /// let reader = writer.downgrade();
    /// assert_eq!(*reader + *lock.read().await, 4);
    /// # });
    /// ```
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard {
            data: self.data.into_shared(),
            permit: self.permits.into_one(),
            _lock: PhantomData,
        }
    }

    /// Downgrades the guard to a read guard of a component of the value.
    ///
    /// `f` runs with the lock still held for writing. If it panics, the lock is released.
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockWriteGuard};
    /// # futures::executor::block_on(async {
    /// let pair = RwLock::new((1, 2));
    /// let mut writer = pair.write().await;
    /// writer.1 = 3;
    /// let second = RwLockWriteGuard::downgrade_map(writer, |pair| &pair.1);
    /// assert_eq!((*second, *pair.read().await), (3, (1, 3)));
    /// # });
    /// ```
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        RwLockReadGuard {
            data: this.data.shared_part(f),
            permit: this.permits.into_one(),
            _lock: PhantomData,
        }
    }

    /// Downgrades the guard to a read guard of a component of the value, if `f` returns one.
    ///
    /// # Errors
    /// The original write guard, if `f` returns `None`.
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockWriteGuard};
    /// # futures::executor::block_on(async {
    /// let names = RwLock::new(vec!["a"]);
    /// let writer = names.write().await;
    /// let mut writer = RwLockWriteGuard::try_downgrade_map(writer, |names| names.get(1)).unwrap_err();
    /// writer.push("b");
    /// let second = RwLockWriteGuard::try_downgrade_map(writer, |names| names.get(1)).unwrap();
    /// assert_eq!((*second, names.read().await.len()), ("b", 2));
    /// # });
    /// ```
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match this.data.try_shared_part(f) {
            Some(data) => Ok(RwLockReadGuard {
                data,
                permit: this.permits.into_one(),
                _lock: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_mut_guard!([T: ?Sized] RwLockWriteGuard<'_, T> => T);

/// A write guard of a component of the value. Returned by [`RwLockWriteGuard::map`].
///
/// ```
/// use pointsman::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
///
/// async fn second(pair: &RwLock<(u32, u32)>) -> RwLockMappedWriteGuard<'_, u32> {
///     RwLockWriteGuard::map(pair.write().await, |pair| &mut pair.1)
/// }
///
/// # futures::executor::block_on(async {
/// let pair = RwLock::new((1, 2));
/// *second(&pair).await = 3;
/// assert_eq!(pair.into_inner(), (1, 3));
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    permits: AllPermits<&'a Permits>,
    data: ExclusivePointer<T>,
    _lock: PhantomData<&'a RwLock<T>>,
}

impl<'a, T: ?Sized> RwLockMappedWriteGuard<'a, T> {
    /// Narrows the guard further, like [`RwLockWriteGuard::map`].
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    /// # futures::executor::block_on(async {
    /// let nested = RwLock::new(((1, 2), 3));
    /// let pair = RwLockWriteGuard::map(nested.write().await, |nested| &mut nested.0);
    /// *RwLockMappedWriteGuard::map(pair, |pair| &mut pair.1) = 5;
    /// assert_eq!(*nested.read().await, ((1, 5), 3));
    /// # });
    /// ```
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        RwLockMappedWriteGuard {
            data: this.data.part(f),
            permits: this.permits,
            _lock: PhantomData,
        }
    }

    /// Narrows the guard further, like [`RwLockWriteGuard::try_map`].
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    /// # futures::executor::block_on(async {
    /// let lists = RwLock::new((vec![1], vec![2]));
    /// let list = RwLockWriteGuard::map(lists.write().await, |lists| &mut lists.1);
    /// let list = RwLockMappedWriteGuard::try_map(list, |list| list.get_mut(1)).unwrap_err();
    /// *RwLockMappedWriteGuard::try_map(list, |list| list.get_mut(0)).unwrap() = 3;
    /// assert_eq!(lists.read().await.1, [3]);
    /// # });
    /// ```
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(RwLockMappedWriteGuard {
                permits: this.permits,
                data,
                _lock: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_mut_guard!([T: ?Sized] RwLockMappedWriteGuard<'_, T> => T);
