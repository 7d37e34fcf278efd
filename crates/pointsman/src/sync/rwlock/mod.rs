//! The read-write lock: a value behind as many permits as there may be readers.
//!
//! Invariant: a reader has one permit and a writer all of them. Locking and unlocking cost one RMW each
//! while nobody waits, 16 ns together for readers and for writers.

#[cfg(all(test, loom))]
mod loom_tests;
mod owned_read_guard;
mod owned_write_guard;
mod read_guard;
mod write_guard;

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

pub use owned_read_guard::OwnedRwLockReadGuard;
pub use owned_write_guard::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard};
pub use read_guard::RwLockReadGuard;
pub use write_guard::{RwLockMappedWriteGuard, RwLockWriteGuard};

use super::TryLockError;
use super::held::{Exclusive, Guarded, Held, HeldAll, Shared};
use super::semaphore::Permits;
use crate::park::block_outside;

const MOST_READERS: u32 = u32::MAX >> 3;

/// A value that many may read or one may write to, and whose guards may be held over an `.await`.
///
/// The lock is fair: whoever waits gets it in the order in which they asked, counted from the first poll. A
/// writer that waits makes later readers wait behind it, so who reads must not lock for reading again: it
/// would wait for a writer that waits for it.
///
/// It is not poisoned by a panic: the value stays as the panic left it.
///
/// ```
/// use pointsman::sync::RwLock;
///
/// # futures::executor::block_on(async {
/// let lock = RwLock::new(5);
/// {
///     let first = lock.read().await;
///     let second = lock.read().await;
///     assert_eq!(*first + *second, 10);
/// }
/// *lock.write().await += 1;
/// assert_eq!(*lock.read().await, 6);
/// # });
/// ```
pub struct RwLock<T: ?Sized> {
    most_readers: u32,
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: readers share the value, and a writer is as if the value moved to its thread.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> Guarded for RwLock<T> {
    #[inline]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

impl<T> RwLock<T> {
    const_unless_loom! {
        const fn with_permits(value: T, most_readers: u32) -> Self {
            Self {
                most_readers,
                permits: Permits::new(most_readers as usize),
                value: UnsafeCell::new(value),
            }
        }
    }

    /// An unlocked lock with this value, for up to `u32::MAX >> 3` readers at a time.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let lock = RwLock::new(1);
    /// assert_eq!(*lock.try_read().unwrap(), 1);
    /// ```
    pub fn new(value: T) -> Self {
        Self::with_permits(value, MOST_READERS)
    }

    /// As [`new`](Self::new), for up to `max_reads` readers at a time. More have to wait.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let lock = RwLock::with_max_readers(5, 1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_read().is_err());
    /// # drop(reader);
    /// ```
    ///
    /// # Panics
    /// If `max_reads` is zero or more than `u32::MAX >> 3`.
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> Self {
        assert_ne!(max_reads, 0, "a RwLock may not be created with 0 readers");
        assert!(
            max_reads <= MOST_READERS,
            "a RwLock may not be created with more than {MOST_READERS} readers"
        );
        Self::with_permits(value, max_reads)
    }

    /// As [`new`](Self::new), for a `static`.
    ///
    /// ```
    /// use pointsman::sync::RwLock;
    ///
    /// static LEVEL: RwLock<u32> = RwLock::const_new(3);
    /// assert_eq!(*LEVEL.try_read().unwrap(), 3);
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_new(value: T) -> Self {
        Self::with_permits(value, MOST_READERS)
    }

    /// As [`with_max_readers`](Self::with_max_readers), for a `static`.
    ///
    /// # Panics
    /// If `max_reads` is zero or more than `u32::MAX >> 3`.
    ///
    /// ```
    /// use pointsman::sync::RwLock;
    ///
    /// static LEVEL: RwLock<u32> = RwLock::const_with_max_readers(3, 1);
    /// let reader = LEVEL.try_read().unwrap();
    /// assert_eq!(*reader, 3);
    /// assert!(LEVEL.try_read().is_err());
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_with_max_readers(value: T, max_reads: u32) -> Self {
        assert!(max_reads != 0, "a RwLock may not be created with 0 readers");
        assert!(
            max_reads <= MOST_READERS,
            "a RwLock may not be created with more than u32::MAX >> 3 readers"
        );
        Self::with_permits(value, max_reads)
    }

    /// The value, without the lock.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let names = RwLock::new(vec!["a"]);
    /// names.try_write().unwrap().push("b");
    /// assert_eq!(names.into_inner(), ["a", "b"]);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading, and waits until nobody writes and no writer waits ahead.
    ///
    /// # Cancel safety
    /// Whoever drops the future loses its place in the queue and nothing else.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// # futures::executor::block_on(async {
    /// let lock = RwLock::new(1);
    /// assert_eq!(*lock.read().await, 1);
    /// # });
    /// ```
    #[inline]
    pub async fn read(&self) -> RwLockReadGuard<'_, T> {
        self.acquire(1).await;
        self.read_guard()
    }

    /// As [`read`](Self::read), blocking the thread.
    ///
    /// # Panics
    /// Within a runtime.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let lock = RwLock::new(1);
    /// let reader = lock.blocking_read();
    /// assert_eq!(*reader + *lock.blocking_read(), 2);
    /// ```
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        block_outside(self.read())
    }

    /// As [`read`](Self::read), with a guard that keeps the lock alive.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// # futures::executor::block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let guard = lock.read_owned().await;
    /// std::thread::spawn(move || assert_eq!(*guard, 1)).join().unwrap();
    /// # });
    /// ```
    pub async fn read_owned(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        self.acquire(1).await;
        self.owned_read_guard()
    }

    /// Locks for reading if nobody writes and nobody waits.
    ///
    /// # Errors
    /// [`TryLockError`] otherwise.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let lock = RwLock::new(1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_read().is_ok());
    /// assert!(lock.try_write().is_err());
    /// # drop(reader);
    /// ```
    #[inline]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.try_acquire(1)?;
        Ok(self.read_guard())
    }

    /// As [`try_read`](Self::try_read), with a guard that keeps the lock alive.
    ///
    /// # Errors
    /// As [`try_read`](Self::try_read).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.clone().try_read_owned().unwrap();
    /// assert!(lock.try_write().is_err());
    /// drop(reader);
    /// assert!(lock.try_write().is_ok());
    /// ```
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_acquire(1)?;
        Ok(self.owned_read_guard())
    }

    /// Locks for writing, and waits until nobody reads or writes and nobody waits ahead.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// # futures::executor::block_on(async {
    /// let lock = RwLock::new(1);
    /// *lock.write().await = 2;
    /// assert_eq!(lock.into_inner(), 2);
    /// # });
    /// ```
    #[inline]
    pub async fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.acquire(self.most_readers).await;
        self.write_guard()
    }

    /// As [`write`](Self::write), blocking the thread.
    ///
    /// # Panics
    /// Within a runtime.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let count = RwLock::new(0);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| *count.blocking_write() += 1);
    ///     scope.spawn(|| *count.blocking_write() += 1);
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        block_outside(self.write())
    }

    /// As [`write`](Self::write), with a guard that keeps the lock alive.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// # futures::executor::block_on(async {
    /// let count = Arc::new(RwLock::new(1));
    /// let mut writer = count.clone().write_owned().await;
    /// std::thread::spawn(move || *writer += 1).join().unwrap();
    /// assert_eq!(*count.read().await, 2);
    /// # });
    /// ```
    pub async fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        self.acquire(self.most_readers).await;
        self.owned_write_guard()
    }

    /// Locks for writing if nobody reads or writes and nobody waits.
    ///
    /// # Errors
    /// [`TryLockError`] otherwise.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.try_write().unwrap();
    /// *writer = 2;
    /// assert!(lock.try_write().is_err() && lock.try_read().is_err());
    /// drop(writer);
    /// assert_eq!(*lock.try_read().unwrap(), 2);
    /// ```
    #[inline]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_acquire(self.most_readers)?;
        Ok(self.write_guard())
    }

    /// As [`try_write`](Self::try_write), with a guard that keeps the lock alive.
    ///
    /// # Errors
    /// As [`try_write`](Self::try_write).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::RwLock;
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut writer = lock.clone().try_write_owned().unwrap();
    /// *writer = 2;
    /// assert!(lock.try_read().is_err());
    /// drop(writer);
    /// assert_eq!(*lock.try_read().unwrap(), 2);
    /// ```
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        self.try_acquire(self.most_readers)?;
        Ok(self.owned_write_guard())
    }

    /// The value, without locking: who borrows the lock exclusively is alone with it.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let mut lock = RwLock::new(1);
    /// *lock.get_mut() = 2;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    #[inline]
    async fn acquire(&self, count: u32) {
        if self.permits.acquire(count as usize).await.is_err() {
            unreachable!("the permits of a lock are never closed");
        }
    }

    #[inline]
    fn try_acquire(&self, count: u32) -> Result<(), TryLockError> {
        self.permits
            .try_acquire(count as usize)
            .map_err(|_| TryLockError(()))
    }

    /// For who has a permit.
    #[inline]
    fn shared(&self) -> Shared<T> {
        // SAFETY: who has a permit keeps writers away, and a cell's pointer is not null.
        unsafe { Shared::new(NonNull::new_unchecked(self.value.get())) }
    }

    /// For who has all permits.
    #[inline]
    fn exclusive(&self) -> Exclusive<T> {
        // SAFETY: who has all permits is alone with the value, and a cell's pointer is not null.
        unsafe { Exclusive::new(NonNull::new_unchecked(self.value.get())) }
    }

    #[inline]
    fn read_guard(&self) -> RwLockReadGuard<'_, T> {
        RwLockReadGuard {
            held: Held(&self.permits),
            data: self.shared(),
            _lock: PhantomData,
        }
    }

    fn owned_read_guard(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        OwnedRwLockReadGuard {
            data: self.shared(),
            held: Held(self),
        }
    }

    #[inline]
    fn write_guard(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard {
            held: HeldAll {
                owner: &self.permits,
                count: self.most_readers,
            },
            data: self.exclusive(),
            _lock: PhantomData,
        }
    }

    fn owned_write_guard(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        OwnedRwLockWriteGuard {
            data: self.exclusive(),
            held: HeldAll {
                count: self.most_readers,
                owner: self,
            },
        }
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(_) => shown.field("data", &format_args!("<locked>")),
        };
        shown.finish()
    }
}
