//! The error of a failed registration.

use std::error::Error;
use std::fmt;
use std::io;

/// Returned when a descriptor cannot be registered. Contains the descriptor's owner.
///
/// ```
/// use pointsman::io::unix::AsyncFd;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let directory = std::fs::File::open(".")?;
///     // SAFETY: the file has the same descriptor until it is dropped, and nothing else closes it.
///     let error = unsafe { AsyncFd::register(directory) }.unwrap_err();
///     let (_directory, cause) = error.into_parts();
///     assert_eq!(cause.kind(), std::io::ErrorKind::PermissionDenied);
///     Ok(())
/// }
/// ```
pub struct AsyncFdRegisterError<T> {
    inner: T,
    cause: io::Error,
}

/// The former name of [`AsyncFdRegisterError`].
#[doc(hidden)]
#[deprecated(note = "use `AsyncFdRegisterError` instead")]
pub type AsyncFdTryNewError<T> = AsyncFdRegisterError<T>;

impl<T> AsyncFdRegisterError<T> {
    pub(super) fn new(inner: T, cause: io::Error) -> Self {
        Self { inner, cause }
    }

    /// Returns the owner of the descriptor, and the error.
    ///
    /// ```
    /// # use pointsman::io::unix::AsyncFdRegisterError;
    /// # fn example(error: AsyncFdRegisterError<std::fs::File>) {
    /// let (file, cause) = error.into_parts();
    /// # }
    /// ```
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.cause)
    }
}

impl<T> fmt::Display for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.cause, f)
    }
}

impl<T> fmt::Debug for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cause, f)
    }
}

impl<T> Error for AsyncFdRegisterError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl<T> From<AsyncFdRegisterError<T>> for io::Error {
    fn from(error: AsyncFdRegisterError<T>) -> Self {
        error.cause
    }
}
