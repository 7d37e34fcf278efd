//! Ends a task without waiting for it.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::id::Id;
use super::raw::RawTask;

/// Can end a task. Unlike a [`JoinHandle`](super::JoinHandle) it does not wait for it, and can be cloned.
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
    /// A reference of the caller's becomes the handle's.
    pub(super) unsafe fn new(task: RawTask) -> Self {
        Self { task }
    }

    /// Ends the task as [`JoinHandle::abort`](super::JoinHandle::abort) does.
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

    /// Whether the task is complete. An aborted task is when its future was dropped.
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

    /// The number of the task.
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
        // SAFETY: the handle's reference.
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
