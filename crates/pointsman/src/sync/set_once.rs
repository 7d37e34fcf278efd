//! A cell that is set once, whose value tasks can wait for.
//!
//! Invariant: the value is written under the lock of the waiters, before the flag is set.
//!
//! Cost: reading a set cell is one load.

use std::error::Error;
use std::fmt;
use std::mem::MaybeUninit;

use super::Notify;
use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicBool;
use crate::loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A cell that is set once, whose value tasks can wait for.
///
/// Unlike [`OnceCell`](super::OnceCell) it does not compute the value: waiters get what another task sets.
///
/// ```
/// use pointsman::sync::SetOnce;
///
/// static ANSWER: SetOnce<u32> = SetOnce::const_new();
///
/// # futures::executor::block_on(async {
/// std::thread::spawn(|| ANSWER.set(42).unwrap());
/// assert_eq!(*ANSWER.wait().await, 42);
/// # });
/// ```
pub struct SetOnce<T> {
    is_set: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
    set: Notify,
}

// SAFETY: `set` sends the value to the cell through a shared reference, hence `Send`. `get` shares it, hence
// `Sync`.
unsafe impl<T: Send + Sync> Sync for SetOnce<T> {}
// SAFETY: sending the cell sends the value, hence `Send`; the rest of the cell may be sent.
unsafe impl<T: Send> Send for SetOnce<T> {}

impl<T> SetOnce<T> {
    /// Creates an empty cell.
    ///
    /// ```
    /// # use pointsman::sync::SetOnce;
    /// let cell = SetOnce::new();
    /// assert_eq!(cell.get(), None);
    /// cell.set(1).unwrap();
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    pub fn new() -> Self {
        Self {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            set: Notify::new(),
        }
    }

    /// Like [`new`](Self::new), in a constant.
    ///
    /// ```
    /// use pointsman::sync::SetOnce;
    ///
    /// static NAME: SetOnce<String> = SetOnce::const_new();
    /// NAME.set(String::from("a")).unwrap();
    /// assert_eq!(NAME.get().unwrap(), "a");
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_new() -> Self {
        Self {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            set: Notify::const_new(),
        }
    }

    /// Creates a cell with this value, or an empty one for `None`.
    ///
    /// ```
    /// # use pointsman::sync::SetOnce;
    /// assert_eq!(SetOnce::new_with(Some(1)).get(), Some(&1));
    /// assert_eq!(SetOnce::<u32>::new_with(None).get(), None);
    /// ```
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::from)
    }

    /// Creates a cell with this value, in a constant.
    ///
    /// ```
    /// use pointsman::sync::SetOnce;
    ///
    /// static LEVEL: SetOnce<u32> = SetOnce::const_new_with(3);
    /// assert_eq!(LEVEL.get(), Some(&3));
    /// assert!(LEVEL.set(4).is_err());
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_new_with(value: T) -> Self {
        Self {
            is_set: AtomicBool::new(true),
            value: UnsafeCell::new(MaybeUninit::new(value)),
            set: Notify::const_new(),
        }
    }

    /// Returns whether the cell has a value.
    ///
    /// ```
    /// # use pointsman::sync::SetOnce;
    /// let cell = SetOnce::new();
    /// assert!(!cell.initialized());
    /// cell.set(1).unwrap();
    /// assert!(cell.initialized());
    /// ```
    #[inline]
    pub fn initialized(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `set`: a thread that sees the flag sees the value.
        self.is_set.load(Acquire)
    }

    /// Returns the value, if it is set. Does not wait.
    ///
    /// ```
    /// # use pointsman::sync::SetOnce;
    /// let cell = SetOnce::new();
    /// assert_eq!(cell.get(), None);
    /// cell.set("a").unwrap();
    /// assert_eq!(cell.get(), Some(&"a"));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.initialized().then(|| {
            self.value.with(|value| {
                // SAFETY: `initialized` saw the flag, so the value was written. Only `take` changes it again,
                // which borrows the cell exclusively.
                unsafe { (*value).assume_init_ref() }
            })
        })
    }

    /// Sets the value and wakes all waiters.
    ///
    /// # Errors
    /// Returns the value in a [`SetOnceError`] if the cell has one already.
    ///
    /// ```
    /// # use pointsman::sync::{SetOnce, SetOnceError};
    /// let cell = SetOnce::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetOnceError(2)));
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        if self.initialized() {
            return Err(SetOnceError(value));
        }
        let mut value = Some(value);
        self.set.notify_waiters_if(|| {
            if self.is_set.load(Relaxed) {
                return false;
            }
            if let Some(value) = value.take() {
                // SAFETY: the flag is not set, so no thread reads the value, and writers hold the lock.
                self.value.with_mut(|place| unsafe {
                    (*place).write(value);
                });
            }
            // ORDERING: Release pairs with the Acquire of `initialized`, which then sees the value.
            self.is_set.store(true, Release);
            true
        });
        match value {
            None => Ok(()),
            Some(value) => Err(SetOnceError(value)),
        }
    }

    /// Consumes the cell and returns the value, if it is set.
    ///
    /// ```
    /// # use pointsman::sync::SetOnce;
    /// let cell = SetOnce::new();
    /// cell.set(String::from("a")).unwrap();
    /// assert_eq!(cell.into_inner(), Some(String::from("a")));
    /// assert_eq!(SetOnce::<String>::new().into_inner(), None);
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Waits until the value is set, and returns it.
    ///
    /// # Cancel safety
    /// Cancel safe: the wait has no effect on the cell.
    ///
    /// ```
    /// # use pointsman::sync::SetOnce;
    /// # futures::executor::block_on(async {
    /// let cell = SetOnce::new();
    /// let (value, set) = futures::join!(cell.wait(), async { cell.set(1) });
    /// assert_eq!((value, set), (&1, Ok(())));
    /// // With a value set, this is ready at once.
    /// assert_eq!(cell.wait().await, &1);
    /// # });
    /// ```
    pub async fn wait(&self) -> &T {
        loop {
            let set = self.set.notified();
            if let Some(value) = self.get() {
                return value;
            }
            set.await;
        }
    }

    fn take(&mut self) -> Option<T> {
        if !self.is_set.load(Relaxed) {
            return None;
        }
        self.is_set.store(false, Relaxed);
        // SAFETY: the flag was set, so the value was written. The flag is clear now, so it is not read again.
        Some(
            self.value
                .with_mut(|value| unsafe { (*value).assume_init_read() }),
        )
    }
}

impl<T> Drop for SetOnce<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for SetOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SetOnce<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SetOnce")
            .field("value", &self.get())
            .finish()
    }
}

impl<T: Clone> Clone for SetOnce<T> {
    fn clone(&self) -> Self {
        Self::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for SetOnce<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for SetOnce<T> {}

impl<T> From<T> for SetOnce<T> {
    fn from(value: T) -> Self {
        Self {
            is_set: AtomicBool::new(true),
            value: UnsafeCell::new(MaybeUninit::new(value)),
            set: Notify::new(),
        }
    }
}

/// Error of [`SetOnce::set`] on a cell with a value. Holds the value that was to be set.
///
/// ```
/// # use pointsman::sync::SetOnce;
/// let cell = SetOnce::from(1);
/// let error = cell.set(2).unwrap_err();
/// assert_eq!(error.to_string(), "SetOnceError");
/// assert_eq!(error.0, 2);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct SetOnceError<T>(pub T);

impl<T> fmt::Display for SetOnceError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SetOnceError")
    }
}

impl<T: fmt::Debug> Error for SetOnceError<T> {}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::future::block_on;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    #[test]
    fn a_waiter_gets_the_value() {
        loom::model(|| {
            let cell = Arc::new(SetOnce::new());
            let other = cell.clone();
            let thread = thread::spawn(move || other.set(1).unwrap());
            assert_eq!(*block_on(cell.wait()), 1);
            thread.join().unwrap();
        });
    }

    #[test]
    fn one_set_succeeds_and_the_other_finds_the_value() {
        loom::model(|| {
            let cell = Arc::new(SetOnce::new());
            let other = cell.clone();
            let thread = thread::spawn(move || other.set(1).is_ok());
            let here = cell.set(2).is_ok();
            if !here {
                assert_eq!(cell.get(), Some(&1));
            }
            assert_ne!(thread.join().unwrap(), here);
        });
    }
}
