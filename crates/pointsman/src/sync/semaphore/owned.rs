//! The methods of the semaphore that return permits which keep it alive.

use std::sync::Arc;

use super::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};
use crate::park::block_outside;
use crate::sync::holders::Hold;

impl Semaphore {
    /// Like [`acquire`](Self::acquire). The permit keeps the semaphore alive.
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
        let hold = traced_op!(
            self.permits.spans.lock(),
            "Semaphore::acquire_owned",
            "poll",
            self.permits.acquire(1),
            true
        )
        .await?;
        Ok(self.owned_permit(1, hold))
    }

    /// Like [`acquire_many`](Self::acquire_many). The permits keep the semaphore alive.
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
        let hold = traced_op!(
            self.permits.spans.lock(),
            "Semaphore::acquire_many_owned",
            "poll",
            self.permits.acquire(n as usize),
            true
        )
        .await?;
        Ok(self.owned_permit(n as usize, hold))
    }

    /// Like [`try_acquire`](Self::try_acquire). The permit keeps the semaphore alive.
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
        let hold = self.permits.try_acquire(1)?;
        Ok(self.owned_permit(1, hold))
    }

    /// Like [`try_acquire_many`](Self::try_acquire_many). The permits keep the semaphore alive.
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
        let hold = self.permits.try_acquire(n as usize)?;
        Ok(self.owned_permit(n as usize, hold))
    }

    /// Like [`acquire_owned`](Self::acquire_owned), but blocks the thread.
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

    /// Like [`acquire_many_owned`](Self::acquire_many_owned), but blocks the thread.
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

    fn owned_permit(self: Arc<Self>, permits: usize, hold: Hold) -> OwnedSemaphorePermit {
        self.permits.holder.may_move(hold);
        OwnedSemaphorePermit {
            semaphore: self,
            permits,
            hold,
        }
    }
}
