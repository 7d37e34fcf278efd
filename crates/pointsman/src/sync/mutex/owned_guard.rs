//! Guards that keep their mutex alive.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use super::Mutex;
use crate::sync::held::{Exclusive, Held, deref_mut_guard, show_guard};

/// The right to use the value of a locked [`Mutex`], which it keeps alive. Dropping it unlocks.
///
/// Of [`Mutex::lock_owned`]. Unlike [`MutexGuard`](super::MutexGuard) it can move into a task.
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
    pub(super) held: Held<Arc<Mutex<T>>>,
    /// What this is: shared between threads only if the value may be.
    pub(super) _value: PhantomData<Box<T>>,
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// Narrows the guard to a part of the value. If `f` panics, the mutex is unlocked.
    ///
    /// This is a function, not a method, so that it does not hide one of the value's.
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
            held: this.held,
            _value: PhantomData,
        }
    }

    /// Narrows the guard to a part of the value, if there is one.
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
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
                held: this.held,
                data,
                _value: PhantomData,
            }),
            None => Err(this),
        }
    }

    /// The mutex that this has locked.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{Mutex, OwnedMutexGuard};
    /// # futures::executor::block_on(async {
    /// let count = Arc::new(Mutex::new(1));
    /// let guard = count.clone().lock_owned().await;
    /// let mutex = OwnedMutexGuard::mutex(&guard).clone();
    /// // Others may come in between.
    /// drop(guard);
    /// *mutex.lock().await += 1;
    /// assert_eq!(*count.lock().await, 2);
    /// # });
    /// ```
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.held.0
    }

    fn exclusive(&mut self) -> Exclusive<T> {
        // SAFETY: who has the permit is alone with the value, and a cell's pointer is not null.
        unsafe { Exclusive::new(NonNull::new_unchecked(self.held.0.value.get())) }
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: who has the permit is alone with the value.
        unsafe { &*self.held.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.held.0.value.get() }
    }
}

show_guard!([T: ?Sized] OwnedMutexGuard<T> => T);

/// An [`OwnedMutexGuard`] for a part of the value, of [`OwnedMutexGuard::map`].
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
    held: Held<Arc<Mutex<T>>>,
    data: Exclusive<U>,
    _value: PhantomData<Box<T>>,
}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// As [`OwnedMutexGuard::map`].
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
            held: this.held,
            _value: PhantomData,
        }
    }

    /// As [`OwnedMutexGuard::try_map`].
    ///
    /// # Errors
    /// The guard, if `f` gives `None`.
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
                held: this.held,
                data,
                _value: PhantomData,
            }),
            None => Err(this),
        }
    }
}

deref_mut_guard!([T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U> => U);
