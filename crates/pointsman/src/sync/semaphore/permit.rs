//! Acquired permits, which release themselves when they are dropped.

use std::sync::Arc;

use super::Semaphore;
use crate::sync::holders::Hold;

macro_rules! permit_methods {
    () => {
        /// Drops the permits without releasing them: the semaphore has fewer from then on.
        ///
        /// ```
        /// # use std::sync::Arc;
        /// # use pointsman::sync::Semaphore;
        /// let semaphore = Arc::new(Semaphore::new(2));
        /// semaphore.try_acquire().unwrap().forget();
        /// assert_eq!(semaphore.available_permits(), 1);
        /// semaphore.clone().try_acquire_owned().unwrap().forget();
        /// assert_eq!(semaphore.available_permits(), 0);
        /// ```
        pub fn forget(mut self) {
            self.permits = 0;
            self.hold.forget();
            self.semaphore.permits.forget_holders();
        }

        /// Merges the permits of `other` into this one.
        ///
        /// # Panics
        /// If `other` belongs to a different semaphore.
        ///
        /// ```
        /// # use pointsman::sync::Semaphore;
        /// let semaphore = Semaphore::new(3);
        /// let mut permit = semaphore.try_acquire().unwrap();
        /// permit.merge(semaphore.try_acquire_many(2).unwrap());
        /// assert_eq!(permit.num_permits(), 3);
        /// ```
        #[track_caller]
        pub fn merge(&mut self, mut other: Self) {
            assert!(
                std::ptr::eq(&*self.semaphore, &*other.semaphore),
                "merging permits from different semaphore instances"
            );
            let sum = self
                .permits
                .checked_add(std::mem::take(&mut other.permits))
                .filter(|&sum| sum <= Semaphore::MAX_PERMITS);
            self.permits = sum.expect("number of permits overflowed");
            self.hold.forget();
            other.hold.forget();
        }

        /// Splits off `n` permits. `None` if this has fewer.
        ///
        /// ```
        /// # use pointsman::sync::Semaphore;
        /// let semaphore = Semaphore::new(3);
        /// let mut permit = semaphore.try_acquire_many(3).unwrap();
        /// let two = permit.split(2).unwrap();
        /// assert_eq!((permit.num_permits(), two.num_permits()), (1, 2));
        /// assert!(permit.split(2).is_none());
        /// ```
        pub fn split(&mut self, n: usize) -> Option<Self> {
            self.permits = self.permits.checked_sub(n)?;
            self.hold.forget();
            Some(Self {
                semaphore: self.semaphore.clone(),
                permits: n,
                hold: Hold::NONE,
            })
        }

        /// Returns the number of permits.
        ///
        /// ```
        /// # use std::sync::Arc;
        /// # use pointsman::sync::Semaphore;
        /// let semaphore = Arc::new(Semaphore::new(3));
        /// assert_eq!(semaphore.try_acquire_many(2).unwrap().num_permits(), 2);
        /// assert_eq!(semaphore.try_acquire_many_owned(3).unwrap().num_permits(), 3);
        /// ```
        pub fn num_permits(&self) -> usize {
            self.permits
        }
    };
}

/// Permits of a [`Semaphore`], released when this is dropped.
///
/// Returned by [`Semaphore::acquire`] and the other methods that borrow the semaphore.
///
/// ```
/// # use pointsman::sync::Semaphore;
/// # futures::executor::block_on(async {
/// let semaphore = Semaphore::new(3);
/// {
///     let _two = semaphore.acquire_many(2).await.unwrap();
///     assert_eq!(semaphore.available_permits(), 1);
/// }
/// assert_eq!(semaphore.available_permits(), 3);
/// # });
/// ```
#[must_use]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    pub(super) semaphore: &'a Semaphore,
    pub(super) permits: usize,
    pub(super) hold: Hold,
}

impl SemaphorePermit<'_> {
    permit_methods!();

    /// Returns the semaphore that issued the permits.
    ///
    /// ```
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Semaphore::new(3);
    /// let permit = semaphore.try_acquire().unwrap();
    /// assert!(std::ptr::eq(permit.semaphore(), &semaphore));
    /// assert_eq!(permit.semaphore().available_permits(), 2);
    /// ```
    pub fn semaphore(&self) -> &Semaphore {
        self.semaphore
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.permits.release(self.permits, self.hold);
    }
}

/// Permits that keep their [`Semaphore`] alive, released when this is dropped.
///
/// Returned by [`Semaphore::acquire_owned`] and the other methods that take an `Arc`. Unlike
/// [`SemaphorePermit`] they can move into a task.
///
/// ```
/// # use std::sync::Arc;
/// # use pointsman::sync::Semaphore;
/// # futures::executor::block_on(async {
/// let workers = Arc::new(Semaphore::new(2));
/// for _ in 0..10 {
///     // At most two threads at a time.
///     let permit = workers.clone().acquire_owned().await.unwrap();
///     std::thread::spawn(move || drop(permit));
/// }
/// // All threads have finished.
/// let all = workers.acquire_many(2).await.unwrap();
/// assert_eq!((all.num_permits(), workers.available_permits()), (2, 0));
/// # });
/// ```
#[must_use]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    pub(super) semaphore: Arc<Semaphore>,
    pub(super) permits: usize,
    pub(super) hold: Hold,
}

impl OwnedSemaphorePermit {
    permit_methods!();

    /// Returns the semaphore that issued the permits.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Semaphore;
    /// let semaphore = Arc::new(Semaphore::new(3));
    /// let permit = semaphore.clone().try_acquire_owned().unwrap();
    /// assert!(Arc::ptr_eq(permit.semaphore(), &semaphore));
    /// assert_eq!(permit.semaphore().available_permits(), 2);
    /// ```
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

impl Drop for OwnedSemaphorePermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.permits.release(self.permits, self.hold);
    }
}
