//! Mutex guards that borrow their mutex.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::Mutex;
use crate::sync::guard::{ExclusivePointer, OnlyPermit, deref_mut_guard, fmt_guard};
use crate::sync::semaphore::Permits;

/// A guard of a locked [`Mutex`]. Dropping it unlocks the mutex.
///
/// Returned by [`Mutex::lock`]. It may be held across an `.await`.
///
/// ```
/// # use pointsman::sync::Mutex;
/// # futures::executor::block_on(async {
/// let names = Mutex::new(vec!["a"]);
/// let mut guard = names.lock().await;
/// guard.push("b");
/// assert!(names.try_lock().is_err());
/// drop(guard);
/// assert_eq!(*names.try_lock().unwrap(), ["a", "b"]);
/// # });
/// ```
#[must_use = "the mutex is unlocked at once if this is not kept"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) permit: OnlyPermit<&'a Mutex<T>>,
    /// Makes the guard `Send` and `Sync` as a `&mut T` is: a shared guard shares the value.
    pub(super) _value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Narrows the guard to a component of the value. If `f` panics, the mutex is unlocked.
    ///
    /// An associated function, so that it does not shadow a method of the value.
    ///
    /// ```
    /// # use pointsman::sync::{Mutex, MutexGuard};
    /// # futures::executor::block_on(async {
    /// let pair = Mutex::new((1, 2));
    /// let mut second = MutexGuard::map(pair.lock().await, |pair| &mut pair.1);
    /// *second = 3;
    /// drop(second);
    /// assert_eq!(*pair.lock().await, (1, 3));
    /// # });
    /// ```
    pub fn map<U: ?Sized, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let data = this.exclusive().part(f);
        this.into_mapped(data)
    }

    /// Narrows the guard to a component of the value, if `f` returns one.
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use pointsman::sync::{Mutex, MutexGuard};
    /// # futures::executor::block_on(async {
    /// let names = Mutex::new(vec!["a"]);
    /// let guard = names.lock().await;
    /// let guard = MutexGuard::try_map(guard, |names| names.get_mut(1)).unwrap_err();
    /// let name = MutexGuard::try_map(guard, |names| names.get_mut(0)).unwrap();
    /// assert_eq!(*name, "a");
    /// # });
    /// ```
    pub fn try_map<U: ?Sized, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.exclusive().try_part(f) {
            Some(data) => Ok(this.into_mapped(data)),
            None => Err(this),
        }
    }

    /// Returns the locked mutex.
    ///
    /// ```
    /// # use pointsman::sync::{Mutex, MutexGuard};
    /// # futures::executor::block_on(async {
    /// let count = Mutex::new(1);
    /// let guard = count.lock().await;
    /// let mutex = MutexGuard::mutex(&guard);
    /// // Another task may lock it in between.
    /// drop(guard);
    /// *mutex.lock().await += 1;
    /// assert_eq!(count.into_inner(), 2);
    /// # });
    /// ```
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.permit.0
    }

    fn exclusive(&mut self) -> ExclusivePointer<T> {
        // SAFETY: the guard holds the only permit, so no other thread accesses the value. A cell's pointer is
        // not null.
        unsafe { ExclusivePointer::new(NonNull::new_unchecked(self.permit.0.value.get())) }
    }

    fn into_mapped<U: ?Sized>(self, data: ExclusivePointer<U>) -> MappedMutexGuard<'a, U> {
        let permits = &self.permit.0.permits;
        // The new guard takes over the permit.
        std::mem::forget(self);
        MappedMutexGuard {
            permit: OnlyPermit(permits),
            data,
            _value: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the only permit, so no other thread accesses the value.
        unsafe { &*self.permit.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the only permit and is borrowed exclusively.
        unsafe { &mut *self.permit.0.value.get() }
    }
}

fmt_guard!([T: ?Sized] MutexGuard<'_, T> => T);

/// A guard of a component of a mutex's value. Returned by [`MutexGuard::map`].
///
/// ```
/// use pointsman::sync::{MappedMutexGuard, Mutex, MutexGuard};
///
/// async fn second(pair: &Mutex<(u32, u32)>) -> MappedMutexGuard<'_, u32> {
///     MutexGuard::map(pair.lock().await, |pair| &mut pair.1)
/// }
///
/// # futures::executor::block_on(async {
/// let pair = Mutex::new((1, 2));
/// *second(&pair).await = 3;
/// assert_eq!(pair.into_inner(), (1, 3));
/// # });
/// ```
#[must_use = "the mutex is unlocked at once if this is not kept"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    permit: OnlyPermit<&'a Permits>,
    data: ExclusivePointer<T>,
    _value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// Narrows the guard further, like [`MutexGuard::map`].
    ///
    /// ```
    /// # use pointsman::sync::{MappedMutexGuard, Mutex, MutexGuard};
    /// # futures::executor::block_on(async {
    /// let nested = Mutex::new(((1, 2), 3));
    /// let pair = MutexGuard::map(nested.lock().await, |nested| &mut nested.0);
    /// *MappedMutexGuard::map(pair, |pair| &mut pair.1) = 5;
    /// assert_eq!(*nested.lock().await, ((1, 5), 3));
    /// # });
    /// ```
    pub fn map<U: ?Sized, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        MappedMutexGuard {
            data: this.data.part(f),
            permit: this.permit,
            _value: PhantomData,
        }
    }

    /// Narrows the guard further, like [`MutexGuard::try_map`].
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use pointsman::sync::{MappedMutexGuard, Mutex, MutexGuard};
    /// # futures::executor::block_on(async {
    /// let lists = Mutex::new((vec![1], vec![2]));
    /// let second = MutexGuard::map(lists.lock().await, |lists| &mut lists.1);
    /// let second = MappedMutexGuard::try_map(second, |list| list.get_mut(1)).unwrap_err();
    /// *MappedMutexGuard::try_map(second, |list| list.get_mut(0)).unwrap() = 3;
    /// assert_eq!(lists.lock().await.1, [3]);
    /// # });
    /// ```
    pub fn try_map<U: ?Sized, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(MappedMutexGuard {
                permit: this.permit,
                data,
                _value: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_mut_guard!([T: ?Sized] MappedMutexGuard<'_, T> => T);
