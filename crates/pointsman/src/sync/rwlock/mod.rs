//! The read-write lock: a value guarded by as many permits as there may be readers.
//!
//! Invariant: a reader holds one permit and a writer holds all. So readers share the value, and a writer has
//! it alone.
//!
//! Cost: without waiters one read-modify-write each to lock and to unlock.

#[cfg(all(test, loom))]
mod loom_tests;
mod owned;
mod owned_read_guard;
mod owned_write_guard;
mod read_guard;
mod write_guard;

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

pub use owned_read_guard::OwnedRwLockReadGuard;
pub use owned_write_guard::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard};
pub use read_guard::RwLockReadGuard;
pub use write_guard::{RwLockMappedWriteGuard, RwLockWriteGuard};

use super::TryLockError;
use super::guard::{AllPermits, ExclusivePointer, HasPermits, OnePermit, SharedPointer};
use super::holders::Hold;
use super::semaphore::Permits;
use crate::park::block_outside;
use crate::task::activity::WaitKind;

/// The default and maximum number of readers. Equals [`Permits::MAXIMUM`] on 32-bit targets.
const MAX_READERS: u32 = u32::MAX >> 3;

/// An asynchronous read-write lock, whose guards may be held across an `.await`.
///
/// Many readers or one writer hold the lock at a time. It is fair: it is locked in the order of the requests,
/// counted from the first poll. Readers that come after a waiting writer wait behind it. So a task that holds
/// a read guard must not lock for reading again: it can deadlock with a writer that waits for the first
/// guard.
///
/// A panic does not poison the lock: the value stays as the panic left it.
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
    max_readers: u32,
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: readers hold a permit and share the value, hence `Sync`. A writer holds all and has it alone, as if
// it were sent to its thread, hence `Send`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> HasPermits for RwLock<T> {
    #[inline]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

impl<T> RwLock<T> {
    const_unless_loom! {
        const fn with_permits(value: T, max_readers: u32) -> Self {
            Self {
                max_readers,
                permits: Permits::new(max_readers as usize, WaitKind::RwLock),
                value: UnsafeCell::new(value),
            }
        }
    }

    #[track_caller]
    fn with_spans(value: T, max_readers: u32) -> Self {
        Self {
            max_readers,
            permits: Permits::with_spans(max_readers as usize, WaitKind::RwLock),
            value: UnsafeCell::new(value),
        }
    }

    /// Creates an unlocked lock for at most `u32::MAX >> 3` readers at a time.
    ///
    /// ```
    /// # use pointsman::sync::RwLock;
    /// let lock = RwLock::new(1);
    /// assert_eq!(*lock.try_read().unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::with_spans(value, MAX_READERS)
    }

    /// Creates an unlocked lock for at most `max_reads` readers at a time. Further readers wait.
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
            max_reads <= MAX_READERS,
            "a RwLock may not be created with more than {MAX_READERS} readers"
        );
        Self::with_spans(value, max_reads)
    }

    /// Like [`new`](Self::new), in a constant.
    ///
    /// ```
    /// use pointsman::sync::RwLock;
    ///
    /// static LEVEL: RwLock<u32> = RwLock::const_new(3);
    /// assert_eq!(*LEVEL.try_read().unwrap(), 3);
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_new(value: T) -> Self {
        Self::with_permits(value, MAX_READERS)
    }

    /// Like [`with_max_readers`](Self::with_max_readers), in a constant.
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
            max_reads <= MAX_READERS,
            "a RwLock may not be created with more than u32::MAX >> 3 readers"
        );
        Self::with_permits(value, max_reads)
    }

    /// Consumes the lock and returns the value.
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
    /// Locks for reading; waits while a writer holds the lock or is ahead in the queue.
    ///
    /// # Cancel safety
    /// Dropping the future gives up its place in the queue and nothing else.
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
        let hold = traced_op!(
            self.permits.spans.lock(),
            "RwLock::read",
            "poll",
            self.permits.acquire_open(1)
        )
        .await;
        self.read_guard(hold)
    }

    /// Like [`read`](Self::read), but blocks the thread.
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

    /// Locks for reading if no writer holds the lock, no task waits, and the maximum number of readers is not
    /// reached.
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
        let hold = self.try_acquire(1)?;
        Ok(self.read_guard(hold))
    }

    /// Locks for writing; waits while a reader or writer holds the lock or a task is ahead in the queue.
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
        let count = self.max_readers as usize;
        let hold = traced_op!(
            self.permits.spans.lock(),
            "RwLock::write",
            "poll",
            self.permits.acquire_open(count)
        )
        .await;
        self.write_guard(hold)
    }

    /// Like [`write`](Self::write), but blocks the thread.
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

    /// Locks for writing if the lock is free and no task waits.
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
        let hold = self.try_acquire(self.max_readers)?;
        Ok(self.write_guard(hold))
    }

    /// Returns the value without locking, as the exclusive borrow rules out other users.
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
    fn try_acquire(&self, count: u32) -> Result<Hold, TryLockError> {
        self.permits
            .try_acquire(count as usize)
            .map_err(|_| TryLockError(()))
    }

    /// Called with a permit that the new guard takes over.
    #[inline]
    fn shared(&self) -> SharedPointer<T> {
        // SAFETY: a writer needs all permits, so there is none while the guard holds one. A cell's pointer is
        // not null.
        unsafe { SharedPointer::new(NonNull::new_unchecked(self.value.get())) }
    }

    /// Called with all permits, which the new guard takes over.
    #[inline]
    fn exclusive(&self) -> ExclusivePointer<T> {
        // SAFETY: readers and writers need a permit, so there are no others while the guard holds all. A
        // cell's pointer is not null.
        unsafe { ExclusivePointer::new(NonNull::new_unchecked(self.value.get())) }
    }

    #[inline]
    fn read_guard(&self, hold: Hold) -> RwLockReadGuard<'_, T> {
        let guard = RwLockReadGuard {
            permit: OnePermit {
                owner: &self.permits,
                hold,
            },
            data: self.shared(),
            _lock: PhantomData,
        };
        self.permits.spans.one_acquired();
        guard
    }

    #[inline]
    fn write_guard(&self, hold: Hold) -> RwLockWriteGuard<'_, T> {
        let guard = RwLockWriteGuard {
            permits: AllPermits {
                owner: &self.permits,
                count: self.max_readers,
                hold,
            },
            data: self.exclusive(),
            _lock: PhantomData,
        };
        self.permits.spans.all_acquired();
        guard
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
