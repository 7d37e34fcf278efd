//! Handles that abort a task without waiting for it.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::id::Id;
use super::raw::RawTask;

/// Aborts a task from elsewhere. Unlike a [`JoinHandle`](super::JoinHandle) it does not wait for the task and
/// can be cloned.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let handle = pointsman::spawn(std::future::pending::<()>());
/// let abort = handle.abort_handle();
/// pointsman::spawn(async move { abort.abort() });
/// assert!(handle.await.unwrap_err().is_cancelled());
/// # }
/// ```
pub struct AbortHandle {
    task: RawTask,
}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// # Safety
    /// The caller passes a reference to the task.
    pub(super) unsafe fn new(task: RawTask) -> Self {
        Self { task }
    }

    /// Aborts the task, like [`JoinHandle::abort`](super::JoinHandle::abort).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let task = pointsman::spawn(std::future::pending::<()>());
    /// task.abort_handle().abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Returns whether the task is finished. An aborted task is finished once its future is dropped.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let task = pointsman::spawn(async {});
    /// let abort = task.abort_handle();
    /// assert!(!abort.is_finished());
    /// task.await.unwrap();
    /// assert!(abort.is_finished());
    /// # }
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.state().load().is_complete()
    }

    /// Returns the id of the task.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let task = pointsman::spawn(async {});
    /// assert_eq!(task.abort_handle().id(), task.id());
    /// # }
    /// ```
    pub fn id(&self) -> Id {
        self.task.id()
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        self.task.state().add_reference();
        Self { task: self.task }
    }
}

impl Drop for AbortHandle {
    fn drop(&mut self) {
        // SAFETY: the handle holds this reference and is gone after this.
        unsafe { self.task.drop_references(1) };
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("id", &self.id())
            .finish()
    }
}
