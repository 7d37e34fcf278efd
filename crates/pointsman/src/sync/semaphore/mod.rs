//! The semaphore, and [`Permits`], the counter and wait queue that the mutex, the read-write lock, the once
//! cell and bounded channels share.

mod acquire;
mod error;
#[cfg(all(test, loom))]
mod loom_tests;
mod owned;
mod permit;
mod permits;
#[cfg(all(test, not(loom)))]
mod tests;

use std::fmt;

pub(super) use acquire::Acquire;
pub use error::{AcquireError, TryAcquireError};
pub use permit::{OwnedSemaphorePermit, SemaphorePermit};
pub(super) use permits::Permits;

use super::holders::Hold;
use crate::park::block_outside;
use crate::task::activity::WaitKind;

/// A counting semaphore for tasks.
///
/// A semaphore has a number of permits. A task that acquires one holds it until it drops the permit. If no
/// permit is available, [`acquire`](Self::acquire) waits until one is released.
///
/// The semaphore is fair: it grants permits in the order of the requests, counted from the first poll. A
/// request for many permits is not overtaken by a later one for few: released permits are reserved for it.
///
/// Without waiters, acquiring and releasing are one atomic read-modify-write each.
///
/// ```
/// use std::sync::Arc;
/// use pointsman::sync::Semaphore;
///
/// # futures::executor::block_on(async {
/// let connections = Arc::new(Semaphore::new(2));
/// let first = connections.acquire().await.unwrap();
/// let second = connections.acquire().await.unwrap();
/// assert!(connections.try_acquire().is_err());
/// drop(first);
/// assert!(connections.try_acquire().is_ok());
/// # drop(second);
/// # });
/// ```
pub struct Semaphore {
    pub(in crate::sync) permits: Permits,
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Semaphore")
            .field("permits", &self.available_permits())
            .field("closed", &self.is_closed())
            .finish()
    }
}

impl Semaphore {
    /// The maximum number of permits: `usize::MAX >> 3`.
    pub const MAX_PERMITS: usize = Permits::MAXIMUM;

    /// Creates a semaphore with `permits` permits.
    ///
    /// # Panics
    /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(1);
    /// assert_eq!(semaphore.available_permits(), 1);
    /// let permit = semaphore.try_acquire().unwrap();
    /// assert!(semaphore.try_acquire().is_err());
    /// ```
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        assert!(
            permits <= Self::MAX_PERMITS,
            "a semaphore may not have more than MAX_PERMITS permits ({})",
            Self::MAX_PERMITS
        );
        Self {
            permits: Permits::with_spans(permits, WaitKind::Semaphore),
        }
    }

    /// Like [`new`](Self::new), in a constant.
    ///
    /// ```
    /// use pointsman::sync::Semaphore;
    ///
    /// static SLOTS: Semaphore = Semaphore::const_new(4);
    /// assert_eq!(SLOTS.available_permits(), 4);
    /// ```
    ///
    /// # Panics
    /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[cfg(not(all(test, loom)))]
    pub const fn const_new(permits: usize) -> Self {
        Self {
            permits: Permits::new(permits, WaitKind::Semaphore),
        }
    }

    /// Returns the number of available permits.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(3);
    /// let permit = semaphore.try_acquire_many(2).unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// drop(permit);
    /// assert_eq!(semaphore.available_permits(), 3);
    /// ```
    pub fn available_permits(&self) -> usize {
        self.permits.available()
    }

    /// Adds `n` permits. Waiters are served first.
    ///
    /// # Panics
    /// If the number of permits would exceed [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// # futures::executor::block_on(async {
    /// let semaphore = Semaphore::new(0);
    /// let add = async { semaphore.add_permits(2) };
    /// let (permit, ()) = futures::join!(semaphore.acquire(), add);
    /// assert!(permit.is_ok());
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # });
    /// ```
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        assert!(
            n <= Self::MAX_PERMITS,
            "cannot add more than MAX_PERMITS permits ({})",
            Self::MAX_PERMITS
        );
        self.permits.forget_holders();
        self.permits.release(n, Hold::NONE);
    }

    /// Removes up to `n` available permits for good. Returns the number removed.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(3);
    /// assert_eq!(semaphore.forget_permits(2), 2);
    /// assert_eq!(semaphore.forget_permits(2), 1);
    /// ```
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.forget_holders();
        self.permits.forget(n)
    }

    /// Acquires a permit; waits until one is available.
    ///
    /// # Errors
    /// [`AcquireError`] if the semaphore is closed, or is closed while this waits.
    ///
    /// # Cancel safety
    /// Dropping the future gives up its place in the queue and nothing else.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// # futures::executor::block_on(async {
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.acquire().await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 0);
    /// drop(permit);
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # });
    /// ```
    #[inline]
    pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        let hold = traced_op!(
            self.permits.spans.lock(),
            "Semaphore::acquire",
            "poll",
            self.permits.acquire(1),
            true
        )
        .await?;
        Ok(self.permit(1, hold))
    }

    /// Acquires `n` permits at once; waits until they are available.
    ///
    /// At the front of the queue the request reserves released permits until it has `n`. A request for more
    /// permits than the semaphore has waits until they are [added](Self::add_permits).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire). Reserved permits go to the next waiter.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// # futures::executor::block_on(async {
    /// let semaphore = Semaphore::new(5);
    /// let permit = semaphore.acquire_many(3).await.unwrap();
    /// assert_eq!(permit.num_permits(), 3);
    /// # });
    /// ```
    #[inline]
    pub async fn acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        let hold = traced_op!(
            self.permits.spans.lock(),
            "Semaphore::acquire_many",
            "poll",
            self.permits.acquire(n as usize),
            true
        )
        .await?;
        Ok(self.permit(n as usize, hold))
    }

    /// Acquires a permit if one is available and no task waits.
    ///
    /// # Errors
    /// [`TryAcquireError::NoPermits`] if not, [`TryAcquireError::Closed`] if the semaphore is closed.
    ///
    /// ```
    /// # use pointsman::sync::{Semaphore, TryAcquireError};
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.try_acquire().unwrap();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// ```
    #[inline]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let hold = self.permits.try_acquire(1)?;
        Ok(self.permit(1, hold))
    }

    /// Acquires `n` permits if they are available and no task waits.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(4);
    /// let permit = semaphore.try_acquire_many(3).unwrap();
    /// assert!(semaphore.try_acquire_many(2).is_err());
    /// ```
    #[inline]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let hold = self.permits.try_acquire(n as usize)?;
        Ok(self.permit(n as usize, hold))
    }

    /// Like [`acquire`](Self::acquire), but blocks the thread.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Panics
    /// Within a runtime.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.blocking_acquire().unwrap();
    /// assert_eq!(semaphore.available_permits(), 0);
    /// ```
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_outside(self.acquire())
    }

    /// Like [`acquire_many`](Self::acquire_many), but blocks the thread.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Panics
    /// Within a runtime.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(3);
    /// let permit = semaphore.blocking_acquire_many(2).unwrap();
    /// assert_eq!((permit.num_permits(), semaphore.available_permits()), (2, 1));
    /// ```
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_outside(self.acquire_many(n))
    }

    /// Closes the semaphore: waiting and later requests fail. Acquired permits stay valid. A semaphore cannot
    /// be reopened.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// # futures::executor::block_on(async {
    /// let semaphore = Semaphore::new(1);
    /// semaphore.close();
    /// assert!(semaphore.acquire().await.is_err());
    /// # });
    /// ```
    pub fn close(&self) {
        self.permits.close();
    }

    /// Returns whether [`close`](Self::close) was called.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(1);
    /// assert!(!semaphore.is_closed());
    /// semaphore.close();
    /// assert!(semaphore.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    #[inline]
    fn permit(&self, permits: usize, hold: Hold) -> SemaphorePermit<'_> {
        SemaphorePermit {
            semaphore: self,
            permits,
            hold,
        }
    }
}
