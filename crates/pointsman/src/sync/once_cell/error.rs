//! The error of the once cell.

use std::error::Error;
use std::fmt;

/// Error of [`OnceCell::set`](super::OnceCell::set), with the value that was to be set.
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
    /// Another task initialises the cell.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Returns whether the cell has a value.
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

    /// Returns whether another task initialises the cell.
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
