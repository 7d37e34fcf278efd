//! The reader's guard that borrows its lock.

use std::marker::PhantomData;

use crate::sync::held::{Held, Shared, deref_guard};
use crate::sync::semaphore::Permits;

/// A guard that reads the value of an [`RwLock`](super::RwLock), or a part of it. Dropping it releases the lock.
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
    pub(super) held: Held<&'a Permits>,
    pub(super) data: Shared<T>,
    /// `&T`, not a reference to the lock, which is `Sync` only if `T` is also `Send`.
    pub(super) _lock: PhantomData<&'a T>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// Narrows the guard to a part of the value. If `f` panics, the lock is unlocked.
    ///
    /// This is a function, not a method, so that it does not hide one of the value's.
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
            held: this.held,
            _lock: PhantomData,
        }
    }

    /// Narrows the guard to a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
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
                held: this.held,
                data,
                _lock: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_guard!([T: ?Sized] RwLockReadGuard<'_, T> => T);
