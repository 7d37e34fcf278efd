//! The mutex: a value behind one permit.
//!
//! Invariant: who has the permit, and nobody else, reaches the value. Locking and unlocking cost one RMW
//! each while nobody waits, 17 ns together.

mod guard;
#[cfg(all(test, loom))]
mod loom_tests;
mod owned_guard;

use std::cell::UnsafeCell;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use guard::{MappedMutexGuard, MutexGuard};
pub use owned_guard::{OwnedMappedMutexGuard, OwnedMutexGuard};

use super::held::{Guarded, Held};
use super::semaphore::Permits;
use crate::park::block_outside;

/// The lock is taken: for [`Mutex::try_lock`], [`RwLock::try_read`](super::RwLock::try_read) and their kin.
///
/// ```
/// # use pointsman::sync::Mutex;
/// let mutex = Mutex::new(1);
/// let guard = mutex.try_lock().unwrap();
/// let error = mutex.try_lock().unwrap_err();
/// assert_eq!(error.to_string(), "operation would block");
/// # drop(guard);
/// ```
#[derive(Debug)]
pub struct TryLockError(pub(super) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("operation would block")
    }
}

impl Error for TryLockError {}

/// A value that one at a time may use, and whose guard may be held over an `.await`.
///
/// Where no guard is held over an `.await`, the standard library's mutex is the better one: it blocks the
/// thread for a moment, and costs less.
///
/// The mutex is fair: those who wait get it in the order in which they asked, counted from the first poll.
/// It is not poisoned by a panic: the value stays as the panic left it.
///
/// ```
/// use std::sync::Arc;
/// use pointsman::sync::Mutex;
///
/// # futures::executor::block_on(async {
/// let count = Arc::new(Mutex::new(0));
/// *count.lock().await += 1;
/// assert_eq!(*count.lock().await, 1);
/// # });
/// ```
pub struct Mutex<T: ?Sized> {
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: only who has the permit reaches the value, so it is as if it moved from thread to thread.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T: ?Sized> Guarded for Mutex<T> {
    #[inline]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

impl<T> Mutex<T> {
    /// An unlocked mutex with this value.
    ///
    /// ```
    /// # use pointsman::sync::Mutex;
    /// let mutex = Mutex::new(1);
    /// assert_eq!(*mutex.try_lock().unwrap(), 1);
    /// ```
    pub fn new(value: T) -> Self {
        Self {
            permits: Permits::new(1),
            value: UnsafeCell::new(value),
        }
    }

    /// As [`new`](Self::new), for a `static`.
    ///
    /// ```
    /// use pointsman::sync::Mutex;
    ///
    /// static NAMES: Mutex<Vec<String>> = Mutex::const_new(Vec::new());
    /// assert!(NAMES.try_lock().unwrap().is_empty());
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_new(value: T) -> Self {
        Self {
            permits: Permits::new(1),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, without the mutex.
    ///
    /// ```
    /// # use pointsman::sync::Mutex;
    /// let names = Mutex::new(vec!["a"]);
    /// names.try_lock().unwrap().push("b");
    /// assert_eq!(names.into_inner(), ["a", "b"]);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks, and waits until it is unlocked. Who locks while it has the guard waits for itself, for ever.
    ///
    /// # Cancel safety
    /// Whoever drops the future loses its place in the queue and nothing else.
    ///
    /// ```
    /// # use pointsman::sync::Mutex;
    /// # futures::executor::block_on(async {
    /// let name = Mutex::new(String::from("a"));
    /// name.lock().await.push('b');
    /// assert_eq!(*name.lock().await, "ab");
    /// # });
    /// ```
    #[inline]
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        self.acquire().await;
        self.guard()
    }

    /// As [`lock`](Self::lock), blocking the thread.
    ///
    /// # Panics
    /// Within a runtime.
    ///
    /// ```
    /// # use pointsman::sync::Mutex;
    /// let count = Mutex::new(1);
    /// *count.blocking_lock() += 1;
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        block_outside(self.lock())
    }

    /// As [`lock_owned`](Self::lock_owned), blocking the thread.
    ///
    /// # Panics
    /// Within a runtime.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Mutex;
    /// let count = Arc::new(Mutex::new(1));
    /// let mut guard = count.clone().blocking_lock_owned();
    /// std::thread::spawn(move || *guard += 1).join().unwrap();
    /// assert_eq!(*count.blocking_lock(), 2);
    /// ```
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        block_outside(self.lock_owned())
    }

    /// As [`lock`](Self::lock), with a guard that keeps the mutex alive.
    ///
    /// # Cancel safety
    /// As [`lock`](Self::lock).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Mutex;
    /// # futures::executor::block_on(async {
    /// let count = Arc::new(Mutex::new(1));
    /// let mut guard = count.clone().lock_owned().await;
    /// std::thread::spawn(move || *guard += 1).join().unwrap();
    /// assert_eq!(*count.lock().await, 2);
    /// # });
    /// ```
    pub async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        self.acquire().await;
        self.owned_guard()
    }

    /// Locks if it is unlocked and nobody waits.
    ///
    /// # Errors
    /// [`TryLockError`] if it is locked.
    ///
    /// ```
    /// # use pointsman::sync::Mutex;
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_err());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        match self.permits.try_acquire(1) {
            Ok(()) => Ok(self.guard()),
            Err(_) => Err(TryLockError(())),
        }
    }

    /// As [`try_lock`](Self::try_lock), with a guard that keeps the mutex alive.
    ///
    /// # Errors
    /// As [`try_lock`](Self::try_lock).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Mutex;
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().try_lock_owned().unwrap();
    /// assert!(mutex.clone().try_lock_owned().is_err());
    /// drop(guard);
    /// assert!(mutex.try_lock_owned().is_ok());
    /// ```
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        match self.permits.try_acquire(1) {
            Ok(()) => Ok(self.owned_guard()),
            Err(_) => Err(TryLockError(())),
        }
    }

    /// The value, without locking: who borrows the mutex exclusively is alone with it.
    ///
    /// ```
    /// # use pointsman::sync::Mutex;
    /// let mut mutex = Mutex::new(1);
    /// *mutex.get_mut() = 2;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    #[inline]
    async fn acquire(&self) {
        if self.permits.acquire(1).await.is_err() {
            unreachable!("the permits of a mutex are never closed");
        }
    }

    #[inline]
    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard {
            held: Held(self),
            _value: PhantomData,
        }
    }

    fn owned_guard(self: Arc<Self>) -> OwnedMutexGuard<T> {
        OwnedMutexGuard {
            held: Held(self),
            _value: PhantomData,
        }
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(_) => shown.field("data", &format_args!("<locked>")),
        };
        shown.finish()
    }
}
