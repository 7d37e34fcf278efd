//! A cell that is initialised once, by the first task that needs the value.
//!
//! Invariant: the holder of the single permit may write the value, and closes the permits afterwards. So
//! closed means initialised.
//!
//! Cost: reading an initialised cell is one load.

mod error;
#[cfg(all(test, loom))]
mod loom_tests;

use std::fmt;
use std::future::Future;
use std::mem::MaybeUninit;

pub use error::SetError;

use super::TryAcquireError;
use super::guard::OnlyPermit;
use super::semaphore::Permits;
use crate::loom::cell::UnsafeCell;
use crate::task::activity::WaitKind;

/// A cell that is written once, with a value or the output of a future.
///
/// ```
/// use pointsman::sync::OnceCell;
///
/// static ANSWER: OnceCell<u32> = OnceCell::const_new();
///
/// # futures::executor::block_on(async {
/// let answer = ANSWER.get_or_init(|| async { 42 }).await;
/// assert_eq!(*answer, 42);
/// assert_eq!(*ANSWER.get_or_init(|| async { 0 }).await, 42);
/// # });
/// ```
pub struct OnceCell<T> {
    permits: Permits,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: `set` sends the value to the cell through a shared reference, hence `Send`. `get` shares it, hence
// `Sync`.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}
// SAFETY: sending the cell sends the value, hence `Send`; the rest of the cell may be sent.
unsafe impl<T: Send> Send for OnceCell<T> {}

impl<T> OnceCell<T> {
    const_unless_loom! {
        const fn empty() -> Self {
            Self {
                permits: Permits::new(1, WaitKind::OnceCell),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            }
        }
    }

    const_unless_loom! {
        const fn written(value: T) -> Self {
            Self {
                permits: Permits::closed(WaitKind::OnceCell),
                value: UnsafeCell::new(MaybeUninit::new(value)),
            }
        }
    }

    /// Creates an empty cell.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.get(), None);
    /// cell.set(1).unwrap();
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    pub fn new() -> Self {
        Self::empty()
    }

    /// Like [`new`](Self::new), in a constant.
    ///
    /// ```
    /// use pointsman::sync::OnceCell;
    ///
    /// static NAME: OnceCell<String> = OnceCell::const_new();
    /// NAME.set(String::from("a")).unwrap();
    /// assert_eq!(NAME.get().unwrap(), "a");
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_new() -> Self {
        Self::empty()
    }

    /// Creates a cell with this value, or an empty one for `None`.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// assert_eq!(OnceCell::new_with(Some(1)).get(), Some(&1));
    /// assert_eq!(OnceCell::<u32>::new_with(None).get(), None);
    /// ```
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::written)
    }

    /// Creates a cell with this value, in a constant.
    ///
    /// ```
    /// use pointsman::sync::OnceCell;
    ///
    /// static LEVEL: OnceCell<u32> = OnceCell::const_new_with(3);
    /// assert_eq!(LEVEL.get(), Some(&3));
    /// assert!(LEVEL.set(4).is_err());
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_new_with(value: T) -> Self {
        Self::written(value)
    }

    /// Returns whether the cell has a value.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// let cell = OnceCell::new();
    /// assert!(!cell.initialized());
    /// cell.set(1).unwrap();
    /// assert!(cell.initialized());
    /// ```
    #[inline]
    pub fn initialized(&self) -> bool {
        self.permits.is_closed()
    }

    /// Returns the value, if the cell has one. Does not wait for an initialisation in progress.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// # futures::executor::block_on(async {
    /// let cell = OnceCell::new();
    /// cell.get_or_init(|| async {
    ///     assert_eq!(cell.get(), None);
    ///     1
    /// })
    /// .await;
    /// assert_eq!(cell.get(), Some(&1));
    /// # });
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: `initialized` saw the permits closed, so the value was written before.
        self.initialized().then(|| unsafe { self.get_written() })
    }

    /// Returns a mutable reference to the value, if the cell has one.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// let mut cell = OnceCell::new();
    /// assert_eq!(cell.get_mut(), None);
    /// cell.set(1).unwrap();
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(cell.get(), Some(&2));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.permits.is_closed_mut().then(|| {
            self.value.with_mut(|value| {
                // SAFETY: the permits are closed, so the value was written, and the cell is borrowed
                // exclusively.
                unsafe { (*value).assume_init_mut() }
            })
        })
    }

    /// Sets the value.
    ///
    /// # Errors
    /// Returns the value in [`SetError::AlreadyInitializedError`] if the cell has a value, and in
    /// [`SetError::InitializingError`] while another task initialises it.
    ///
    /// ```
    /// # use pointsman::sync::{OnceCell, SetError};
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetError::AlreadyInitializedError(2)));
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.permits.try_acquire(1) {
            Ok(_) => {
                self.write(value, OnlyPermit(&self.permits));
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(SetError::InitializingError(value)),
            Err(TryAcquireError::Closed) => Err(SetError::AlreadyInitializedError(value)),
        }
    }

    /// Returns the value, after initialising it with `f` if the cell is empty.
    ///
    /// While another task initialises the cell, this waits. If that task is cancelled or panics, the next
    /// waiter runs its own `f`. Waiters are served in the order of their requests.
    ///
    /// A call from within its own `f` deadlocks.
    ///
    /// # Cancel safety
    /// Dropping the future drops that of `f` and leaves the cell empty.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// # futures::executor::block_on(async {
    /// let cell = OnceCell::new();
    /// let first = cell.get_or_init(async || 1);
    /// let second = cell.get_or_init(async || 2);
    /// assert_eq!(futures::join!(first, second), (&1, &1));
    /// # });
    /// ```
    pub async fn get_or_init<F, Fut>(&self, f: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        if let Some(value) = self.get() {
            return value;
        }
        match self.permits.acquire(1).await {
            Ok(_) => {
                let permit = OnlyPermit(&self.permits);
                self.write(f().await, permit)
            }
            // SAFETY: the permits were found closed, and only `write` closes them, after it wrote the value.
            Err(_) => unsafe { self.get_written() },
        }
    }

    /// Like [`get_or_init`](Self::get_or_init), with an `f` that may fail.
    ///
    /// # Errors
    /// The error of `f`, which leaves the cell empty.
    ///
    /// # Cancel safety
    /// As [`get_or_init`](Self::get_or_init).
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// # futures::executor::block_on(async {
    /// let cell = OnceCell::new();
    /// assert!(cell.get_or_try_init(|| async { "x".parse::<u32>() }).await.is_err());
    /// assert_eq!(cell.get_or_try_init(|| async { "1".parse::<u32>() }).await, Ok(&1));
    /// # });
    /// ```
    pub async fn get_or_try_init<E, F, Fut>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.permits.acquire(1).await {
            Ok(_) => {
                let permit = OnlyPermit(&self.permits);
                Ok(self.write(f().await?, permit))
            }
            // SAFETY: the permits were found closed, and only `write` closes them, after it wrote the value.
            Err(_) => Ok(unsafe { self.get_written() }),
        }
    }

    /// Consumes the cell and returns the value, if it has one.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// let cell = OnceCell::new();
    /// cell.set(String::from("a")).unwrap();
    /// assert_eq!(cell.into_inner(), Some(String::from("a")));
    /// assert_eq!(OnceCell::<String>::new().into_inner(), None);
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value out and leaves the cell empty.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// let mut cell = OnceCell::from(1);
    /// assert_eq!(cell.take(), Some(1));
    /// assert_eq!(cell.take(), None);
    /// ```
    pub fn take(&mut self) -> Option<T> {
        if !self.permits.is_closed_mut() {
            return None;
        }
        self.permits = Permits::new(1, WaitKind::OnceCell);
        // SAFETY: the permits were closed, so the value was written. They are open now, so it is not read
        // again.
        Some(
            self.value
                .with_mut(|value| unsafe { (*value).assume_init_read() }),
        )
    }

    /// Writes the value and wakes all waiters.
    fn write(&self, value: T, permit: OnlyPermit<&Permits>) -> &T {
        // SAFETY: the caller holds the only permit, so no other thread writes the value, and none reads it
        // before the permits are closed.
        self.value.with_mut(|place| unsafe {
            (*place).write(value);
        });
        // The permit is not released: the cell is written once.
        std::mem::forget(permit);
        self.permits.close();
        // SAFETY: this thread wrote the value above.
        unsafe { self.get_written() }
    }

    /// # Safety
    /// The value was written, and that happened before this call.
    unsafe fn get_written(&self) -> &T {
        // SAFETY: the caller promises that the value was written. Only `take` and `get_mut` change it again,
        // which borrow the cell exclusively.
        self.value
            .with(|value| unsafe { (*value).assume_init_ref() })
    }
}

impl<T> Drop for OnceCell<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OnceCell")
            .field("value", &self.get())
            .finish()
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    fn clone(&self) -> Self {
        Self::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        Self::written(value)
    }
}
