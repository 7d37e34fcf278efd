//! A cell that is written once.
//!
//! Invariant: who has the only permit may write, and closes the permits when it has: closed means written.
//! Reading a written cell is one load.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem::MaybeUninit;

use super::TryAcquireError;
use super::held::Held;
use super::semaphore::Permits;
use crate::loom::cell::UnsafeCell;

/// A cell that is written once, by whoever comes first, also with the result of a future.
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

// SAFETY: as it is written through a shared reference the value moves between threads, and then it is shared.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}
// SAFETY: the value goes with the cell.
unsafe impl<T: Send> Send for OnceCell<T> {}

impl<T> OnceCell<T> {
    const_unless_loom! {
        const fn empty() -> Self {
            Self {
                permits: Permits::new(1),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            }
        }
    }

    const_unless_loom! {
        const fn written(value: T) -> Self {
            Self {
                permits: Permits::closed(),
                value: UnsafeCell::new(MaybeUninit::new(value)),
            }
        }
    }

    /// An empty cell.
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

    /// As [`new`](Self::new), for a `static`.
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

    /// A cell with this value, or an empty one.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// assert_eq!(OnceCell::new_with(Some(1)).get(), Some(&1));
    /// assert_eq!(OnceCell::<u32>::new_with(None).get(), None);
    /// ```
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::written)
    }

    /// A cell with this value, for a `static`.
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

    /// Whether the cell has a value.
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

    /// The value, if there is one.
    /// Never waits, also while someone makes the value.
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
        // SAFETY: the cell was written.
        self.initialized().then(|| unsafe { self.get_written() })
    }

    /// The value, if there is one, to change it.
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
                // SAFETY: the cell was written, and is borrowed exclusively.
                unsafe { (*value).assume_init_mut() }
            })
        })
    }

    /// Writes the value.
    ///
    /// # Errors
    /// Gives the value back, with [`SetError::AlreadyInitializedError`] if there is a value, and with
    /// [`SetError::InitializingError`] if one is being made.
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
            Ok(()) => {
                self.write(value, Held(&self.permits));
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(SetError::InitializingError(value)),
            Err(TryAcquireError::Closed) => Err(SetError::AlreadyInitializedError(value)),
        }
    }

    /// The value. If there is none, it is made with `f`.
    ///
    /// If someone is making it this waits, and makes it itself if the other gives up or panics. Those who wait
    /// have their turn in the order in which they came.
    ///
    /// # Cancel safety
    /// Whoever drops the future drops that of `f` too, and leaves the cell empty for the next.
    ///
    /// A cell that is used in its own `f` waits for itself, for ever.
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
            Ok(()) => {
                let held = Held(&self.permits);
                self.write(f().await, held)
            }
            // SAFETY: only who has written closes the permits.
            Err(_) => unsafe { self.get_written() },
        }
    }

    /// As [`get_or_init`](Self::get_or_init), with an `f` that may fail.
    ///
    /// # Errors
    /// What `f` gave. The cell is still empty then.
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
            Ok(()) => {
                let held = Held(&self.permits);
                Ok(self.write(f().await?, held))
            }
            // SAFETY: only who has written closes the permits.
            Err(_) => Ok(unsafe { self.get_written() }),
        }
    }

    /// The value, without the cell.
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

    /// Takes the value out, and leaves the cell empty.
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
        // From here on the cell is empty.
        self.permits = Permits::new(1);
        // SAFETY: the cell was written, and what is read is not used again.
        Some(
            self.value
                .with_mut(|value| unsafe { (*value).assume_init_read() }),
        )
    }

    /// Writes the value and lets in all who wait for it.
    fn write(&self, value: T, held: Held<&Permits>) -> &T {
        // SAFETY: who has the only permit is alone with the value.
        self.value.with_mut(|place| unsafe {
            (*place).write(value);
        });
        // The permit is used up.
        std::mem::forget(held);
        self.permits.close();
        // SAFETY: it was written.
        unsafe { self.get_written() }
    }

    /// # Safety
    /// The cell was written, and this thread has seen it.
    unsafe fn get_written(&self) -> &T {
        // SAFETY: as above. It is not written again while it is borrowed.
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

/// Why [`OnceCell::set`] wrote nothing, with the value that it was given.
///
/// ```
/// # use pointsman::sync::{OnceCell, SetError};
/// let cell = OnceCell::from(1);
/// let error = cell.set(2).unwrap_err();
/// assert_eq!(error.to_string(), "AlreadyInitializedError");
/// assert_eq!(error, SetError::AlreadyInitializedError(2));
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// The cell has a value.
    AlreadyInitializedError(T),
    /// The value is being made.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Whether the cell has a value.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// let cell = OnceCell::new();
    /// cell.set(1).unwrap();
    /// let error = cell.set(2).unwrap_err();
    /// assert!(error.is_already_init_err() && !error.is_initializing_err());
    /// ```
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, Self::AlreadyInitializedError(_))
    }

    /// Whether the value is being made.
    ///
    /// ```
    /// # use pointsman::sync::OnceCell;
    /// # futures::executor::block_on(async {
    /// let cell = OnceCell::new();
    /// let is_initializing = cell.get_or_init(async || cell.set(false).unwrap_err().is_initializing_err());
    /// assert_eq!(is_initializing.await, &true);
    /// # });
    /// ```
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, Self::InitializingError(_))
    }
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AlreadyInitializedError(_) => "AlreadyInitializedError",
            Self::InitializingError(_) => "InitializingError",
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::future::block_on;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    #[test]
    fn one_value_is_made_and_all_see_it() {
        loom::model(|| {
            let cell = Arc::new(OnceCell::new());
            let other = cell.clone();
            let thread = thread::spawn(move || {
                *block_on(other.get_or_init(|| async { Box::new(1) })).clone()
            });
            let here = *block_on(cell.get_or_init(|| async { Box::new(2) })).clone();
            assert_eq!(thread.join().unwrap(), here);
        });
    }

    #[test]
    fn who_fails_leaves_it_to_the_next() {
        loom::model(|| {
            let cell = Arc::new(OnceCell::new());
            let other = cell.clone();
            let thread = thread::spawn(move || {
                let _ = block_on(other.get_or_try_init(|| async { Err::<u32, ()>(()) }));
            });
            assert_eq!(*block_on(cell.get_or_init(|| async { 2 })), 2);
            thread.join().unwrap();
        });
    }

    #[test]
    fn who_may_not_set_finds_a_value_or_its_making() {
        loom::model(|| {
            let cell = Arc::new(OnceCell::new());
            let other = cell.clone();
            let thread = thread::spawn(move || other.set(1));
            let here = cell.set(2);
            if let Err(SetError::AlreadyInitializedError(_)) = here {
                assert_eq!(cell.get(), Some(&1));
            }
            assert_ne!(thread.join().unwrap().is_ok(), here.is_ok());
        });
    }
}
