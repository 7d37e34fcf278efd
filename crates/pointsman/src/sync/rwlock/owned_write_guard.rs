//! The writer's guards that keep their lock alive.

use std::sync::Arc;

use super::{OwnedRwLockReadGuard, RwLock};
use crate::sync::held::{Exclusive, HeldAll, deref_mut_guard};

/// The right to write to the value of an [`RwLock`], which it keeps alive. Dropping it unlocks.
///
/// Of [`RwLock::write_owned`]. Unlike [`RwLockWriteGuard`](super::RwLockWriteGuard) it can move into a task.
#[clippy::has_significant_drop]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    pub(super) held: HeldAll<Arc<RwLock<T>>>,
    pub(super) data: Exclusive<T>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// Narrows the guard to a part of the value.
    ///
    /// This is a function, not a method, so that it does not hide one of the value's.
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
            held: this.held,
        }
    }

    /// Narrows the guard to a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(OwnedRwLockMappedWriteGuard {
                held: this.held,
                data,
            }),
            None => Err(this),
        }
    }

    /// The guard as one that could be for a part of the value.
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T, T> {
        OwnedRwLockMappedWriteGuard {
            held: this.held,
            data: this.data,
        }
    }

    /// Goes from writing to reading, with no other writer in between.
    ///
    /// Readers that wait next in the queue get in as well.
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
            held: self.held.into_one(),
        }
    }

    /// Goes from writing the value to reading a part of it.
    ///
    /// `f` runs while the lock is still for writing.
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, U>
    where
        F: FnOnce(&T) -> &U,
    {
        OwnedRwLockReadGuard {
            data: this.data.shared_part(f),
            held: this.held.into_one(),
        }
    }

    /// Goes from writing the value to reading a part of it, if there is one.
    ///
    /// # Errors
    /// The guard, still for writing, if `f` gives `None`.
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
                held: this.held.into_one(),
            }),
            None => Err(this),
        }
    }

    /// The lock that this has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.owner
    }
}

deref_mut_guard!([T: ?Sized] OwnedRwLockWriteGuard<T> => T);

/// An [`OwnedRwLockWriteGuard`] for a part of the value, of [`OwnedRwLockWriteGuard::map`].
#[clippy::has_significant_drop]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    held: HeldAll<Arc<RwLock<T>>>,
    data: Exclusive<U>,
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// As [`OwnedRwLockWriteGuard::map`].
    pub fn map<F, V: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, V>
    where
        F: FnOnce(&mut U) -> &mut V,
    {
        OwnedRwLockMappedWriteGuard {
            data: this.data.part(f),
            held: this.held,
        }
    }

    /// As [`OwnedRwLockWriteGuard::try_map`].
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
    pub fn try_map<F, V: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, V>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut V>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(OwnedRwLockMappedWriteGuard {
                held: this.held,
                data,
            }),
            None => Err(this),
        }
    }

    /// The lock that this has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.owner
    }
}

deref_mut_guard!([T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U> => U);
