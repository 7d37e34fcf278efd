//! The semaphore.

mod acquire;
mod error;
#[cfg(all(test, loom))]
mod loom_tests;
mod permit;
mod permits;

use std::fmt;
use std::sync::Arc;

pub(super) use acquire::Acquire;
pub use error::{AcquireError, TryAcquireError};
pub use permit::{OwnedSemaphorePermit, SemaphorePermit};
pub(super) use permits::Permits;

use crate::park::block_outside;

/// Limits how many may do something at the same time.
///
/// A semaphore has a number of permits. Who acquires one has it until it drops the permit; who finds none
/// waits until one is given back.
///
/// The semaphore is fair: permits are given out in the order in which they were asked for. A request for
/// many permits is not overtaken by a later one for few: the permits that there are stay reserved for it.
/// A request counts from the first poll of its future.
///
/// Acquiring and giving back take one atomic operation each while nobody waits.
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
    permits: Permits,
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
    /// The most permits that a semaphore can have: `usize::MAX >> 3`.
    pub const MAX_PERMITS: usize = Permits::MAXIMUM;

    /// A semaphore with that many permits.
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
            permits: Permits::new(permits),
        }
    }

    /// As [`new`](Self::new), for a `static`.
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
            permits: Permits::new(permits),
        }
    }

    /// How many permits can be acquired now.
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

    /// Adds permits, for those who wait first.
    ///
    /// # Panics
    /// If there were more than [`MAX_PERMITS`](Self::MAX_PERMITS).
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
        self.permits.release(n);
    }

    /// Takes up to `n` of the available permits away for good. Returns how many.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(3);
    /// assert_eq!(semaphore.forget_permits(2), 2);
    /// assert_eq!(semaphore.forget_permits(2), 1);
    /// ```
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.forget(n)
    }

    /// Acquires a permit, and waits until there is one.
    ///
    /// # Errors
    /// [`AcquireError`] if the semaphore is closed, or is closed while this waits.
    ///
    /// # Cancel safety
    /// Whoever drops the future loses its place in the queue and nothing else.
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
        self.permits.acquire(1).await?;
        Ok(self.permit(1))
    }

    /// Acquires `n` permits at once, and waits until there are as many.
    ///
    /// While it waits for more it reserves those that there are, so that it is not overtaken. If it asks for
    /// more than the semaphore has, it waits until somebody [adds](Self::add_permits) them.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire): what was reserved goes to the next.
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
        self.permits.acquire(n as usize).await?;
        Ok(self.permit(n as usize))
    }

    /// Acquires a permit if there is one and nobody waits for it.
    ///
    /// # Errors
    /// [`TryAcquireError::NoPermits`] or [`TryAcquireError::Closed`].
    ///
    /// ```
    /// # use pointsman::sync::{Semaphore, TryAcquireError};
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.try_acquire().unwrap();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// ```
    #[inline]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_acquire(1)?;
        Ok(self.permit(1))
    }

    /// Acquires `n` permits if there are as many and nobody waits for them.
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
        self.permits.try_acquire(n as usize)?;
        Ok(self.permit(n as usize))
    }

    /// As [`acquire`](Self::acquire), blocking the thread.
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

    /// As [`acquire_many`](Self::acquire_many), blocking the thread.
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

    /// As [`acquire`](Self::acquire), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Semaphore;
    /// # futures::executor::block_on(async {
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = semaphore.clone().acquire_owned().await.unwrap();
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # });
    /// ```
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.acquire(1).await?;
        Ok(self.owned_permit(1))
    }

    /// As [`acquire_many`](Self::acquire_many), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    /// As [`acquire_many`](Self::acquire_many).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Semaphore;
    /// # futures::executor::block_on(async {
    /// let semaphore = Arc::new(Semaphore::new(3));
    /// let permit = semaphore.clone().acquire_many_owned(2).await.unwrap();
    /// assert_eq!((permit.num_permits(), semaphore.available_permits()), (2, 1));
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(semaphore.available_permits(), 3);
    /// # });
    /// ```
    pub async fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.acquire(n as usize).await?;
        Ok(self.owned_permit(n as usize))
    }

    /// As [`try_acquire`](Self::try_acquire), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::{Semaphore, TryAcquireError};
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = semaphore.clone().try_acquire_owned().unwrap();
    /// let error = semaphore.clone().try_acquire_owned().unwrap_err();
    /// assert_eq!(error, TryAcquireError::NoPermits);
    /// drop(permit);
    /// assert!(semaphore.try_acquire_owned().is_ok());
    /// ```
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(1)?;
        Ok(self.owned_permit(1))
    }

    /// As [`try_acquire_many`](Self::try_acquire_many), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Arc::new(Semaphore::new(4));
    /// let permit = semaphore.clone().try_acquire_many_owned(3).unwrap();
    /// assert!(semaphore.clone().try_acquire_many_owned(2).is_err());
    /// drop(permit);
    /// assert!(semaphore.try_acquire_many_owned(4).is_ok());
    /// ```
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(self.owned_permit(n as usize))
    }

    /// As [`acquire_owned`](Self::acquire_owned), blocking the thread.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Panics
    /// Within a runtime.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = semaphore.clone().blocking_acquire_owned().unwrap();
    /// std::thread::spawn(move || drop(permit));
    /// // Waits for the thread.
    /// assert!(semaphore.blocking_acquire_owned().is_ok());
    /// ```
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_outside(self.acquire_owned())
    }

    /// As [`acquire_many_owned`](Self::acquire_many_owned), blocking the thread.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Panics
    /// Within a runtime.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Arc::new(Semaphore::new(3));
    /// let permit = semaphore.clone().blocking_acquire_many_owned(2).unwrap();
    /// assert_eq!((permit.num_permits(), semaphore.available_permits()), (2, 1));
    /// ```
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        block_outside(self.acquire_many_owned(n))
    }

    /// Closes the semaphore: whoever waits for permits or asks for them gets an error from here on. Permits
    /// that are out are not touched. It cannot be opened again.
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

    /// Whether [`close`](Self::close) was called.
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
    fn permit(&self, permits: usize) -> SemaphorePermit<'_> {
        SemaphorePermit {
            semaphore: self,
            permits,
        }
    }

    fn owned_permit(self: Arc<Self>, permits: usize) -> OwnedSemaphorePermit {
        OwnedSemaphorePermit {
            semaphore: self,
            permits,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use tokio_test::task::spawn;
    use tokio_test::{assert_pending, assert_ready_ok};

    use super::*;
    use crate::task::coop::{budget, has_budget_remaining, poll_proceed};

    /// Polls with no budget left.
    fn with_nothing_left<R>(run: impl FnOnce() -> R) -> R {
        budget(|| {
            let mut spender = spawn(());
            while has_budget_remaining() {
                spender.enter(|cx, _| match poll_proceed(cx) {
                    std::task::Poll::Ready(proceed) => proceed.made_progress(),
                    std::task::Poll::Pending => unreachable!("there was budget"),
                });
            }
            run()
        })
    }

    #[test]
    fn who_has_spent_the_budget_has_the_permit_and_waits_for_its_next_poll() {
        let semaphore = Semaphore::new(1);
        let mut acquire = spawn(semaphore.acquire());
        with_nothing_left(|| assert_pending!(acquire.poll()));
        assert!(acquire.is_woken());
        assert_eq!(semaphore.available_permits(), 0);
        let permit = assert_ready_ok!(acquire.poll());
        drop(permit);
        assert_eq!(semaphore.available_permits(), 1);
    }

    #[test]
    fn who_has_spent_the_budget_and_gives_up_gives_the_permit_back() {
        let semaphore = Semaphore::new(1);
        let mut acquire = spawn(semaphore.acquire());
        with_nothing_left(|| assert_pending!(acquire.poll()));
        drop(acquire);
        assert_eq!(semaphore.available_permits(), 1);
    }

    #[test]
    fn each_permit_costs_one_unit() {
        let semaphore = Semaphore::new(1000);
        let taken = budget(|| {
            let mut taken = 0;
            while spawn(semaphore.acquire()).poll().is_ready() {
                taken += 1;
            }
            taken
        });
        assert_eq!(taken, 128);
    }

    #[test]
    fn who_waits_spends_nothing() {
        let semaphore = Semaphore::new(0);
        let mut acquire = spawn(semaphore.acquire());
        budget(|| {
            for _ in 0..200 {
                assert_pending!(acquire.poll());
            }
            assert!(has_budget_remaining());
        });
    }
}
