//! The read guard that keeps its lock alive.

use std::sync::Arc;

use super::RwLock;
use crate::sync::guard::{OnePermit, SharedPointer, deref_guard};

/// A guard of an [`RwLock`] held for reading that keeps the lock alive. `U` is the value or a component of
/// it. Dropping the guard releases the lock.
///
/// Returned by [`RwLock::read_owned`]. Unlike [`RwLockReadGuard`](super::RwLockReadGuard) it can move into a
/// task.
///
/// ```
/// # use std::sync::Arc;
/// # use pointsman::sync::RwLock;
/// # futures::executor::block_on(async {
/// let lock = Arc::new(RwLock::new(1));
/// let reader = lock.clone().read_owned().await;
/// let thread = std::thread::spawn(move || *reader + 1);
/// assert_eq!(thread.join().unwrap(), 2);
/// assert!(lock.try_write().is_ok());
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    pub(super) permit: OnePermit<Arc<RwLock<T>>>,
    pub(super) data: SharedPointer<U>,
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// Narrows the guard to a component of the value. If `f` panics, the lock is released.
    ///
    /// An associated function, so that it does not shadow a method of the value.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockReadGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let pair = Arc::new(RwLock::new((1, 2)));
    /// let second = OwnedRwLockReadGuard::map(pair.read_owned().await, |pair| &pair.1);
    /// assert_eq!(*second, 2);
    /// # });
    /// ```
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, V>
    where
        F: FnOnce(&U) -> &V,
    {
        OwnedRwLockReadGuard {
            data: this.data.part(f),
            permit: this.permit,
        }
    }

    /// Narrows the guard to a component of the value, if `f` returns one.
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockReadGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let names = Arc::new(RwLock::new(vec!["a"]));
    /// let guard = names.read_owned().await;
    /// let guard = OwnedRwLockReadGuard::try_map(guard, |names| names.get(1)).unwrap_err();
    /// let first = OwnedRwLockReadGuard::try_map(guard, |names| names.first()).unwrap();
    /// assert_eq!(*first, "a");
    /// # });
    /// ```
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(OwnedRwLockReadGuard {
                permit: this.permit,
                data,
            }),
            None => Err(this),
        }
    }

    /// Returns the locked lock.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{OwnedRwLockReadGuard, RwLock};
    /// # futures::executor::block_on(async {
    /// let lock = Arc::new(RwLock::new((1, 2)));
    /// let second = OwnedRwLockReadGuard::map(lock.clone().read_owned().await, |pair| &pair.1);
    /// assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&second), &lock));
    /// # });
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.permit.owner
    }
}

deref_guard!([T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U> => U);
