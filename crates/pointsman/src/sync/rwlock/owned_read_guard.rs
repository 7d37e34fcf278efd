//! The reader's guard that keeps its lock alive.

use std::sync::Arc;

use super::RwLock;
use crate::sync::held::{Held, Shared, deref_guard};

/// The right to read the value `U` of an [`RwLock`], or a part of it, which it keeps alive. Dropping it
/// unlocks.
///
/// Of [`RwLock::read_owned`]. Unlike [`RwLockReadGuard`](super::RwLockReadGuard) it can move into a task.
#[clippy::has_significant_drop]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    pub(super) held: Held<Arc<RwLock<T>>>,
    pub(super) data: Shared<U>,
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// Narrows the guard to a part of the value.
    ///
    /// This is a function, not a method, so that it does not hide one of the value's.
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
            held: this.held,
        }
    }

    /// Narrows the guard to a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(OwnedRwLockReadGuard {
                held: this.held,
                data,
            }),
            None => Err(this),
        }
    }

    /// The lock that this has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.0
    }
}

deref_guard!([T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U> => U);
