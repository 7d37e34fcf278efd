//! The writer's guards that borrow their lock.

use std::marker::PhantomData;

use super::{RwLock, RwLockReadGuard};
use crate::sync::held::{Exclusive, HeldAll, deref_mut_guard};
use crate::sync::semaphore::Permits;

/// The right to write to the value of an [`RwLock`]. Dropping it unlocks.
///
/// Of [`RwLock::write`]. It may be held over an `.await`.
#[must_use = "the lock is unlocked at once if this is not kept"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    pub(super) held: HeldAll<&'a Permits>,
    pub(super) data: Exclusive<T>,
    pub(super) _lock: PhantomData<&'a RwLock<T>>,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Narrows the guard to a part of the value.
    ///
    /// This is a function, not a method, so that it does not hide one of the value's.
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
            held: this.held,
            _lock: PhantomData,
        }
    }

    /// Narrows the guard to a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(RwLockMappedWriteGuard {
                held: this.held,
                data,
                _lock: PhantomData,
            }),
            None => Err(this),
        }
    }

    /// The guard as one that could be for a part of the value.
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockMappedWriteGuard {
            held: this.held,
            data: this.data,
            _lock: PhantomData,
        }
    }

    /// Goes from writing to reading, with no other writer in between.
    ///
    /// Readers that wait next in the queue get in as well.
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
            held: self.held.into_one(),
            _lock: PhantomData,
        }
    }

    /// Goes from writing the value to reading a part of it.
    ///
    /// `f` runs while the lock is still for writing.
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        RwLockReadGuard {
            data: this.data.shared_part(f),
            held: this.held.into_one(),
            _lock: PhantomData,
        }
    }

    /// Goes from writing the value to reading a part of it, if there is one.
    ///
    /// # Errors
    /// The guard, still for writing, if `f` gives `None`.
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match this.data.try_shared_part(f) {
            Some(data) => Ok(RwLockReadGuard {
                data,
                held: this.held.into_one(),
                _lock: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_mut_guard!([T: ?Sized] RwLockWriteGuard<'_, T> => T);

/// A [`RwLockWriteGuard`] for a part of the value, of [`RwLockWriteGuard::map`].
#[clippy::has_significant_drop]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    held: HeldAll<&'a Permits>,
    data: Exclusive<T>,
    _lock: PhantomData<&'a RwLock<T>>,
}

impl<'a, T: ?Sized> RwLockMappedWriteGuard<'a, T> {
    /// As [`RwLockWriteGuard::map`].
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        RwLockMappedWriteGuard {
            data: this.data.part(f),
            held: this.held,
            _lock: PhantomData,
        }
    }

    /// As [`RwLockWriteGuard::try_map`].
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(RwLockMappedWriteGuard {
                held: this.held,
                data,
                _lock: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_mut_guard!([T: ?Sized] RwLockMappedWriteGuard<'_, T> => T);
