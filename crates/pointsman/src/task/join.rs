//! What is left to whoever has spawned a task: its result, and the power to end it.
//!
//! Invariant: a waker that is replaced while the task completes is not lost: either the new one is woken, or
//! the handle sees that the task is complete.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use super::abort::AbortHandle;
use super::coop;
use super::error::JoinError;
use super::id::Id;
use super::raw::RawTask;
use super::state::Left;

/// Waits for a task and gives its output. A task goes on when its handle is dropped.
///
/// Cancel safe: as long as the handle is there, it can be awaited again. A handle that has given its output
/// panics when it is polled again.
///
/// # Errors
/// With a [`JoinError`] if the task has panicked or was aborted.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let handle = pointsman::spawn(async { 1 + 1 });
/// assert_eq!(handle.await.unwrap(), 2);
/// # }
/// ```
pub struct JoinHandle<T> {
    task: RawTask,
    _output: PhantomData<T>,
}

// SAFETY: the output passes from the task's thread to the handle's.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives no output.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// The reference and the interest of the join handle are the caller's, and `T` is the task's output.
    pub(crate) unsafe fn new(task: RawTask) -> Self {
        Self {
            task,
            _output: PhantomData,
        }
    }

    /// Ends the task at its next await: its future is dropped, and whoever waits for it gets a
    /// [`JoinError`] that [is cancelled](JoinError::is_cancelled). A task that completes first keeps its
    /// output. Blocking work that has begun cannot be ended.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let handle = pointsman::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.await.unwrap_err().is_cancelled());
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
    /// assert!(!task.is_finished());
    /// pointsman::task::yield_now().await;
    /// assert!(task.is_finished());
    /// # }
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.state().load().is_complete()
    }

    /// Something else that can end the task, also when this handle is gone. Dropping it ends nothing.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let task = pointsman::spawn(std::future::pending::<()>());
    /// let abort = task.abort_handle();
    /// pointsman::spawn(async move { abort.abort() });
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        self.task.state().add_reference();
        // SAFETY: the reference was added for it.
        unsafe { AbortHandle::new(self.task) }
    }

    /// The number of the task.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let (one, other) = (pointsman::spawn(async {}), pointsman::spawn(async {}));
    /// assert_ne!(one.id(), other.id());
    /// # }
    /// ```
    pub fn id(&self) -> Id {
        self.task.id()
    }

    /// Sees that this waker is woken when the task completes. False if it is complete.
    #[inline]
    pub(crate) fn set_waker(&self, waker: &Waker) -> bool {
        let task = self.task;
        let state = task.state().load();
        if state.is_complete() {
            return false;
        }
        if state.has_join_waker() {
            // SAFETY: while JOIN_WAKER is set nobody writes there.
            if unsafe { task.join_waker() }
                .as_ref()
                .is_some_and(|known| known.will_wake(waker))
            {
                return true;
            }
            if task.state().unset_join_waker().is_err() {
                return false;
            }
        }
        // SAFETY: without JOIN_WAKER the place is the handle's.
        unsafe { task.set_join_waker(Some(waker.clone())) };
        if task.state().set_join_waker().is_ok() {
            return true;
        }
        // SAFETY: as above: it was not set.
        unsafe { task.set_join_waker(None) };
        false
    }

    /// The output, if the task is complete.
    #[inline]
    fn take(&self) -> Option<Result<T, JoinError>> {
        let mut output = None;
        // SAFETY: the task is complete, and `T` is its output.
        unsafe { self.task.take_output((&raw mut output).cast()) };
        output
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let proceed = ready!(coop::poll_proceed(cx));
        if !self.task.state().load().is_complete() && self.set_waker(cx.waker()) {
            return Poll::Pending;
        }
        proceed.made_progress();
        match self.take() {
            Some(output) => Poll::Ready(output),
            None => unreachable!("a complete task has an output"),
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        let task = self.task;
        if task.state().only_join_handle_is_left() {
            // SAFETY: nobody else has the task. Its output may not have been taken.
            unsafe {
                task.drop_output();
                task.free();
            }
            return;
        }
        // SAFETY: what is left is the handle's, and then its reference goes.
        unsafe {
            match task.state().leave() {
                Left::Nothing => return,
                Left::Waker => task.set_join_waker(None),
                Left::Output { has_waker } => {
                    task.drop_output();
                    if has_waker {
                        task.set_join_waker(None);
                    }
                }
            }
            task.drop_references(1);
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("id", &self.id())
            .finish()
    }
}
