//! Errors for a missing runtime and for one that has shut down.

use std::fmt;
use std::io;

/// Returned by [`Handle::try_current`](super::Handle::try_current) when there is no current runtime.
///
/// ```
/// let error = pointsman::runtime::Handle::try_current().unwrap_err();
/// assert!(error.to_string().contains("no reactor running"));
/// ```
#[derive(Debug)]
pub struct TryCurrentError {
    pub(super) is_thread_ending: bool,
}

impl TryCurrentError {
    /// Returns true if no runtime was entered.
    ///
    /// ```
    /// let error = pointsman::runtime::Handle::try_current().unwrap_err();
    /// assert!(error.is_missing_context());
    /// ```
    pub fn is_missing_context(&self) -> bool {
        !self.is_thread_ending
    }

    /// Returns true if the thread is ending and its thread-local storage has been destroyed.
    ///
    /// ```
    /// let error = pointsman::runtime::Handle::try_current().unwrap_err();
    /// assert!(!error.is_thread_local_destroyed());
    /// ```
    pub fn is_thread_local_destroyed(&self) -> bool {
        self.is_thread_ending
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Both begin with Tokio's message, for programs that match it.
        f.write_str(match self.is_thread_ending {
            false => {
                "there is no reactor running, must be called from the context of a Tokio 1.x runtime \
                 (here: a pointsman runtime)"
            }
            true => {
                "The Tokio context thread-local variable has been destroyed. (It belonged to pointsman.)"
            }
        })
    }
}

impl std::error::Error for TryCurrentError {}

#[derive(Debug)]
struct ShutdownError;

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "A Tokio 1.x context was found, but it is being shutdown. (The context is a pointsman runtime.)",
        )
    }
}

impl std::error::Error for ShutdownError {}

#[cfg(any(feature = "reactor", feature = "fs", feature = "io-std"))]
pub(crate) fn shutdown_error() -> io::Error {
    io::Error::other(ShutdownError)
}

/// Returns true if an I/O operation failed because its runtime is shutting down or has shut down.
///
/// ```
/// # #[cfg(feature = "net")] {
/// use pointsman::net::TcpListener;
/// use pointsman::runtime::{Runtime, is_rt_shutdown_err};
///
/// let (one, other) = (Runtime::new()?, Runtime::new()?);
/// let listener = one.block_on(TcpListener::bind("127.0.0.1:0"))?;
/// drop(one);
/// let error = other.block_on(listener.accept()).unwrap_err();
/// assert!(is_rt_shutdown_err(&error));
/// # }
/// # Ok::<_, std::io::Error>(())
/// ```
pub fn is_rt_shutdown_err(err: &io::Error) -> bool {
    err.get_ref()
        .is_some_and(|error| error.is::<ShutdownError>())
}
