//! Mutex guards that keep their mutex alive.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use super::Mutex;
use crate::sync::guard::{ExclusivePointer, OnlyPermit, deref_mut_guard, fmt_guard};

/// A guard of a locked [`Mutex`] that keeps the mutex alive. Dropping it unlocks the mutex.
///
/// Returned by [`Mutex::lock_owned`]. Unlike [`MutexGuard`](super::MutexGuard) it can move into a task.
///
/// ```
/// # use std::sync::Arc;
/// # use pointsman::sync::Mutex;
/// # futures::executor::block_on(async {
/// let count = Arc::new(Mutex::new(0));
/// let mut guard = count.clone().lock_owned().await;
/// std::thread::spawn(move || *guard += 1);
/// // Waits until the thread has dropped the guard.
/// assert_eq!(*count.lock().await, 1);
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedMutexGuard<T: ?Sized> {
    pub(super) permit: OnlyPermit<Arc<Mutex<T>>>,
    /// Makes the guard `Send` and `Sync` as a `Box<T>` is: a shared guard shares the value.
    pub(super) _value: PhantomData<Box<T>>,
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// Narrows the guard to a component of the value. If `f` panics, the mutex is unlocked.
    ///
    /// An associated function, so that it does not shadow a method of the value.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{Mutex, OwnedMutexGuard};
    /// # futures::executor::block_on(async {
    /// let pair = Arc::new(Mutex::new((1, 2)));
    /// let mut second = OwnedMutexGuard::map(pair.clone().lock_owned().await, |pair| &mut pair.1);
    /// *second = 3;
    /// drop(second);
    /// assert_eq!(*pair.lock().await, (1, 3));
    /// # });
    /// ```
    pub fn map<U: ?Sized, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        OwnedMappedMutexGuard {
            data: this.exclusive().part(f),
            permit: this.permit,
            _value: PhantomData,
        }
    }

    /// Narrows the guard to a component of the value, if `f` returns one.
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{Mutex, OwnedMutexGuard};
    /// # futures::executor::block_on(async {
    /// let names = Arc::new(Mutex::new(vec!["a"]));
    /// let guard = names.clone().lock_owned().await;
    /// let guard = OwnedMutexGuard::try_map(guard, |names| names.get_mut(1)).unwrap_err();
    /// *OwnedMutexGuard::try_map(guard, |names| names.get_mut(0)).unwrap() = "b";
    /// assert_eq!(*names.lock().await, ["b"]);
    /// # });
    /// ```
    pub fn try_map<U: ?Sized, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.exclusive().try_part(f) {
            Some(data) => Ok(OwnedMappedMutexGuard {
                permit: this.permit,
                data,
                _value: PhantomData,
            }),
            None => Err(this),
        }
    }

    /// Returns the locked mutex.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{Mutex, OwnedMutexGuard};
    /// # futures::executor::block_on(async {
    /// let count = Arc::new(Mutex::new(1));
    /// let guard = count.clone().lock_owned().await;
    /// let mutex = OwnedMutexGuard::mutex(&guard).clone();
    /// // Another task may lock it in between.
    /// drop(guard);
    /// *mutex.lock().await += 1;
    /// assert_eq!(*count.lock().await, 2);
    /// # });
    /// ```
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.permit.0
    }

    fn exclusive(&mut self) -> ExclusivePointer<T> {
        // SAFETY: the guard holds the only permit, so no other thread accesses the value. A cell's pointer is
        // not null.
        unsafe { ExclusivePointer::new(NonNull::new_unchecked(self.permit.0.value.get())) }
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the only permit, so no other thread accesses the value.
        unsafe { &*self.permit.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the only permit and is borrowed exclusively.
        unsafe { &mut *self.permit.0.value.get() }
    }
}

fmt_guard!([T: ?Sized] OwnedMutexGuard<T> => T);

/// A guard of a component of a mutex's value that keeps the mutex alive. Returned by
/// [`OwnedMutexGuard::map`].
///
/// ```
/// use std::sync::Arc;
/// use pointsman::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
///
/// type Pair = (u32, u32);
///
/// async fn second(pair: Arc<Mutex<Pair>>) -> OwnedMappedMutexGuard<Pair, u32> {
///     OwnedMutexGuard::map(pair.lock_owned().await, |pair| &mut pair.1)
/// }
///
/// # futures::executor::block_on(async {
/// let pair = Arc::new(Mutex::new((1, 2)));
/// *second(pair.clone()).await = 3;
/// assert_eq!(*pair.lock().await, (1, 3));
/// # });
/// ```
#[must_use = "the mutex is unlocked at once if this is not kept"]
#[clippy::has_significant_drop]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized = T> {
    permit: OnlyPermit<Arc<Mutex<T>>>,
    data: ExclusivePointer<U>,
    _value: PhantomData<Box<T>>,
}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// Narrows the guard further, like [`OwnedMutexGuard::map`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    /// # futures::executor::block_on(async {
    /// let nested = Arc::new(Mutex::new(((1, 2), 3)));
    /// let pair = OwnedMutexGuard::map(nested.clone().lock_owned().await, |nested| &mut nested.0);
    /// *OwnedMappedMutexGuard::map(pair, |pair| &mut pair.1) = 5;
    /// assert_eq!(*nested.lock().await, ((1, 5), 3));
    /// # });
    /// ```
    pub fn map<S: ?Sized, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, S>
    where
        F: FnOnce(&mut U) -> &mut S,
    {
        OwnedMappedMutexGuard {
            data: this.data.part(f),
            permit: this.permit,
            _value: PhantomData,
        }
    }

    /// Narrows the guard further, like [`OwnedMutexGuard::try_map`].
    ///
    /// # Errors
    /// The original guard, if `f` returns `None`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    /// # futures::executor::block_on(async {
    /// let lists = Arc::new(Mutex::new((vec![1], vec![2])));
    /// let second = OwnedMutexGuard::map(lists.clone().lock_owned().await, |lists| &mut lists.1);
    /// let second = OwnedMappedMutexGuard::try_map(second, |list| list.get_mut(1)).unwrap_err();
    /// *OwnedMappedMutexGuard::try_map(second, |list| list.get_mut(0)).unwrap() = 3;
    /// assert_eq!(lists.lock().await.1, [3]);
    /// # });
    /// ```
    pub fn try_map<S: ?Sized, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, S>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut S>,
    {
        match this.data.try_part(f) {
            Some(data) => Ok(OwnedMappedMutexGuard {
                permit: this.permit,
                data,
                _value: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_mut_guard!([T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U> => U);
