//! The error of a task that has no output.

use std::any::Any;
use std::fmt;
use std::io;

use super::body::Payload;
use super::id::Id;

/// Error of a task that was aborted or that panicked.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let error = pointsman::spawn(async { panic!("out of luck") }).await.unwrap_err();
/// assert!(error.is_panic());
/// let reason = error.into_panic();
/// assert_eq!(reason.downcast_ref::<&str>(), Some(&"out of luck"));
/// # }
/// ```
pub struct JoinError {
    id: Id,
    reason: Reason,
}

enum Reason {
    Cancelled,
    Panic(SyncPayload),
}

/// The payload of a panic. A shared reference gives access to its text only.
struct SyncPayload(Payload);

// SAFETY: through a shared reference only `text` reads the payload, and only if it is a `&'static str` or a
// `String`, which are `Sync`.
unsafe impl Sync for SyncPayload {}

impl SyncPayload {
    fn text(&self) -> Option<&str> {
        let thrown = &*self.0;
        thrown
            .downcast_ref::<&'static str>()
            .copied()
            .or_else(|| thrown.downcast_ref::<String>().map(String::as_str))
    }
}

impl JoinError {
    pub(super) fn cancelled(id: Id) -> Self {
        let reason = Reason::Cancelled;
        Self { id, reason }
    }

    pub(super) fn panic(id: Id, payload: Payload) -> Self {
        let reason = Reason::Panic(SyncPayload(payload));
        Self { id, reason }
    }

    /// Returns whether the task was aborted, or cancelled by the shutdown of its runtime.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let task = pointsman::spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self.reason, Reason::Cancelled)
    }

    /// Returns whether the task panicked.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let error = pointsman::spawn(async { panic!("out of luck") }).await.unwrap_err();
    /// assert!(error.is_panic() && !error.is_cancelled());
    /// # }
    /// ```
    pub fn is_panic(&self) -> bool {
        matches!(self.reason, Reason::Panic(_))
    }

    /// Returns the payload of the task's panic, for example for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    /// If the task did not panic.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let task = pointsman::spawn(async { std::panic::panic_any(7) });
    /// let thrown = task.await.unwrap_err().into_panic();
    /// assert_eq!(thrown.downcast_ref(), Some(&7));
    /// # }
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        self.try_into_panic()
            .expect("`JoinError` reason is not a panic.")
    }

    /// Returns the payload of the task's panic.
    ///
    /// # Errors
    /// Returns the error itself if the task did not panic.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let task = pointsman::spawn(std::future::pending::<()>());
    /// task.abort();
    /// let error = task.await.unwrap_err().try_into_panic().unwrap_err();
    /// assert!(error.is_cancelled());
    /// # }
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.reason {
            Reason::Panic(payload) => Ok(payload.0),
            Reason::Cancelled => Err(self),
        }
    }

    /// Returns the id of the task.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let task = pointsman::spawn(std::future::pending::<()>());
    /// let id = task.id();
    /// task.abort();
    /// assert_eq!(task.await.unwrap_err().id(), id);
    /// # }
    /// ```
    pub fn id(&self) -> Id {
        self.id
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Cancelled => write!(f, "task {} was cancelled", self.id),
            Reason::Panic(payload) => match payload.text() {
                Some(text) => write!(f, "task {} panicked with message {text:?}", self.id),
                None => write!(f, "task {} panicked", self.id),
            },
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Cancelled => write!(f, "JoinError::Cancelled({:?})", self.id),
            Reason::Panic(payload) => match payload.text() {
                Some(text) => write!(f, "JoinError::Panic({:?}, {text:?}, ...)", self.id),
                None => write!(f, "JoinError::Panic({:?}, ...)", self.id),
            },
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        io::Error::other(match error.reason {
            Reason::Cancelled => "task was cancelled",
            Reason::Panic(_) => "task panicked",
        })
    }
}
