//! The mutex: a value guarded by one permit.
//!
//! Invariant: only the holder of the permit accesses the value.
//!
//! Cost: without waiters one read-modify-write each to lock and to unlock.

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

use super::guard::{HasPermits, OnlyPermit};
use super::holders::Hold;
use super::semaphore::Permits;
use crate::park::block_outside;
use crate::task::activity::WaitKind;

/// Error of [`Mutex::try_lock`], [`RwLock::try_read`](super::RwLock::try_read),
/// [`RwLock::try_write`](super::RwLock::try_write) and their owned forms: the lock is held, or other tasks
/// wait for it.
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

/// An asynchronous mutex, whose guard may be held across an `.await`.
///
/// If no guard is held across an `.await`, prefer the standard library's mutex: it blocks the thread for a
/// moment and costs less.
///
/// The mutex is fair: it is locked in the order of the requests, counted from the first poll. A panic does
/// not poison it: the value stays as the panic left it.
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

// SAFETY: the single permit allows one thread at a time to access the value, as if it were sent to that
// thread.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T: ?Sized> HasPermits for Mutex<T> {
    #[inline]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    ///
    /// ```
    /// # use pointsman::sync::Mutex;
    /// let mutex = Mutex::new(1);
    /// assert_eq!(*mutex.try_lock().unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self {
            permits: Permits::with_spans(1, WaitKind::Mutex),
            value: UnsafeCell::new(value),
        }
    }

    /// Like [`new`](Self::new), in a constant.
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
            permits: Permits::new(1, WaitKind::Mutex),
            value: UnsafeCell::new(value),
        }
    }

    /// Consumes the mutex and returns the value.
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
    /// Locks the mutex; waits until it is unlocked. A task that locks it while it holds the guard deadlocks.
    ///
    /// # Cancel safety
    /// Dropping the future gives up its place in the queue and nothing else.
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
        traced_op!(
            self.permits.spans.lock(),
            "Mutex::lock",
            "poll",
            self.permits.acquire_open(1)
        )
        .await;
        self.guard()
    }

    /// Like [`lock`](Self::lock), but blocks the thread.
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

    /// Like [`lock_owned`](Self::lock_owned), but blocks the thread.
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

    /// Like [`lock`](Self::lock). The guard keeps the mutex alive.
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
        traced_op!(
            self.permits.spans.lock(),
            "Mutex::lock_owned",
            "poll",
            self.permits.acquire_open(1)
        )
        .await;
        self.owned_guard()
    }

    /// Locks the mutex if it is unlocked and no task waits.
    ///
    /// # Errors
    /// [`TryLockError`] otherwise.
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
            Ok(_) => Ok(self.guard()),
            Err(_) => Err(TryLockError(())),
        }
    }

    /// Like [`try_lock`](Self::try_lock). The guard keeps the mutex alive.
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
            Ok(_) => Ok(self.owned_guard()),
            Err(_) => Err(TryLockError(())),
        }
    }

    /// Returns the value without locking, as the exclusive borrow rules out other users.
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
    fn guard(&self) -> MutexGuard<'_, T> {
        let guard = MutexGuard {
            permit: OnlyPermit(self),
            _value: PhantomData,
        };
        self.permits.spans.one_acquired();
        guard
    }

    fn owned_guard(self: Arc<Self>) -> OwnedMutexGuard<T> {
        self.permits.holder.may_move(Hold::NONE);
        let guard = OwnedMutexGuard {
            permit: OnlyPermit(self),
            _value: PhantomData,
        };
        guard.permit.0.permits.spans.one_acquired();
        guard
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
