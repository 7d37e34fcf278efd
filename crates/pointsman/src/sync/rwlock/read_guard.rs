//! The read guard that borrows its lock.

use std::marker::PhantomData;

use crate::sync::guard::{OnePermit, SharedPointer, deref_guard};
use crate::sync::semaphore::Permits;

/// A guard of an [`RwLock`](super::RwLock) held for reading, or of a component of its value. Dropping it
/// releases the lock.
///
/// Returned by [`RwLock::read`](super::RwLock::read). It may be held across an `.await`.
///
/// ```
/// # use pointsman::sync::RwLock;
/// # futures::executor::block_on(async {
/// let lock = RwLock::new(1);
/// let reader = lock.read().await;
/// assert_eq!(*reader, 1);
/// assert!(lock.try_read().is_ok() && lock.try_write().is_err());
/// drop(reader);
/// assert!(lock.try_write().is_ok());
/// # });
/// ```
#[must_use = "the lock is unlocked at once if this is not kept"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    pub(super) permit: OnePermit<&'a Permits>,
    pub(super) data: SharedPointer<T>,
    /// `&T`, not a reference to the lock, which is `Sync` only if `T` is also `Send`.
    pub(super) _lock: PhantomData<&'a T>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// Narrows the guard to a component of the value. If `f` panics, the lock is released.
    ///
    /// An associated function, so that it does not shadow a method of the value.
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockReadGuard};
    /// # futures::executor::block_on(async {
    /// let pair = RwLock::new((1, 2));
    /// let second = RwLockReadGuard::map(pair.read().await, |pair| &pair.1);
    /// assert_eq!(*second, 2);
    /// # });
    /// ```
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        RwLockReadGuard {
            data: this.data.part(f),
            permit: this.permit,
            _lock: PhantomData,
        }
    }

    /// Narrows the guard to a component of the value, if `f` returns one.
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use pointsman::sync::{RwLock, RwLockReadGuard};
    /// # futures::executor::block_on(async {
    /// let names = RwLock::new(vec!["a"]);
    /// let guard = names.read().await;
    /// let guard = RwLockReadGuard::try_map(guard, |names| names.get(1)).unwrap_err();
    /// let first = RwLockReadGuard::try_map(guard, |names| names.first()).unwrap();
    /// assert_eq!(*first, "a");
    /// # });
    /// ```
    pub fn try_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(RwLockReadGuard {
                permit: this.permit,
                data,
                _lock: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_guard!([T: ?Sized] RwLockReadGuard<'_, T> => T);
