//! Guards that borrow their mutex.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::Mutex;
use crate::sync::held::{Exclusive, Held, deref_mut_guard, show_guard};
use crate::sync::semaphore::Permits;

/// The right to use the value of a locked [`Mutex`]. Dropping it unlocks.
///
/// Of [`Mutex::lock`]. It may be held over an `.await`.
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
    pub(super) held: Held<&'a Mutex<T>>,
    /// What this is: shared between threads only if the value may be.
    pub(super) _value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Narrows the guard to a part of the value. If `f` panics, the mutex is unlocked.
    ///
    /// This is a function, not a method, so that it does not hide one of the value's.
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

    /// Narrows the guard to a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
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

    /// The mutex that this has locked.
    ///
    /// ```
    /// # use pointsman::sync::{Mutex, MutexGuard};
    /// # futures::executor::block_on(async {
    /// let count = Mutex::new(1);
    /// let guard = count.lock().await;
    /// let mutex = MutexGuard::mutex(&guard);
    /// // Others may come in between.
    /// drop(guard);
    /// *mutex.lock().await += 1;
    /// assert_eq!(count.into_inner(), 2);
    /// # });
    /// ```
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.held.0
    }

    fn exclusive(&mut self) -> Exclusive<T> {
        // SAFETY: who has the permit is alone with the value, and a cell's pointer is not null.
        unsafe { Exclusive::new(NonNull::new_unchecked(self.held.0.value.get())) }
    }

    fn into_mapped<U: ?Sized>(self, data: Exclusive<U>) -> MappedMutexGuard<'a, U> {
        let permits = &self.held.0.permits;
        // The permit goes with the new guard.
        std::mem::forget(self);
        MappedMutexGuard {
            held: Held(permits),
            data,
            _value: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: who has the permit is alone with the value.
        unsafe { &*self.held.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.held.0.value.get() }
    }
}

show_guard!([T: ?Sized] MutexGuard<'_, T> => T);

/// A [`MutexGuard`] for a part of the value, of [`MutexGuard::map`].
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
    held: Held<&'a Permits>,
    data: Exclusive<T>,
    _value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// As [`MutexGuard::map`].
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
            held: this.held,
            _value: PhantomData,
        }
    }

    /// As [`MutexGuard::try_map`].
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
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
                held: this.held,
                data,
                _value: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_mut_guard!([T: ?Sized] MappedMutexGuard<'_, T> => T);
