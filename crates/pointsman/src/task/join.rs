//! The handle that waits for a task's output.
//!
//! Invariant: a completion concurrent with a change of the waker is not missed. Either the new waker is
//! woken, or the handle sees that the task is complete.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use super::abort::AbortHandle;
use super::activity::{WaitKind, note_wait};
use super::coop;
use super::error::JoinError;
use super::id::Id;
use super::raw::RawTask;
use super::state::JoinHandleCleanup;

/// A future of a task's output. Dropping it detaches the task, which continues to run.
///
/// Cancel safe: `&mut handle` can be awaited again if the wait is cancelled. Polling a handle that returned
/// the output panics.
///
/// # Errors
/// Resolves to a [`JoinError`] if the task panicked or was aborted.
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

// SAFETY: the handle moves the output to its own thread, hence `T: Send`. All else it does through the state
// word.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives no access to the output, only to the state word, which is atomic.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// The caller passes the join handle's reference and interest of a new task with output `T`.
    pub(crate) unsafe fn new(task: RawTask) -> Self {
        Self {
            task,
            _output: PhantomData,
        }
    }

    /// Aborts the task: its future is dropped at its next await, and the handle resolves to a [`JoinError`]
    /// that [is cancelled](JoinError::is_cancelled). A task that completes first keeps its output. A
    /// `spawn_blocking` function that has started is not aborted.
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

    /// Returns whether the task is finished. An aborted task is finished once its future is dropped.
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

    /// Returns an [`AbortHandle`] for the task. It can abort the task after this handle is dropped; dropping
    /// it aborts nothing.
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
        // SAFETY: `add_reference` above added the reference that the handle takes over.
        unsafe { AbortHandle::new(self.task) }
    }

    /// Returns the id of the task.
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

    /// Registers the waker to be woken when the task completes. False if it is complete.
    #[inline]
    pub(crate) fn set_waker(&self, waker: &Waker) -> bool {
        let task = self.task;
        let state = task.state().load();
        if state.is_complete() {
            return false;
        }
        if state.has_join_waker() {
            // SAFETY: JOIN_WAKER is set. Before completion only this handle clears it, and after completion
            // the runtime writes the field only if the handle is gone. So no thread writes it now.
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
        // SAFETY: JOIN_WAKER is clear and this handle alone sets it, so it owns the field.
        unsafe { task.set_join_waker(Some(waker.clone())) };
        if task.state().set_join_waker().is_ok() {
            return true;
        }
        // SAFETY: JOIN_WAKER was not set, because the task completed first: the handle keeps the field.
        unsafe { task.set_join_waker(None) };
        false
    }

    /// Takes the output of a complete task.
    #[inline]
    fn take(&self) -> Option<Result<T, JoinError>> {
        let mut output = None;
        // SAFETY: `poll` saw that the task is complete, this is its join handle, and `T` its output type.
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
            note_wait(
                WaitKind::Join,
                self.task.id().as_number() as usize,
                cx.waker(),
            );
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
        if task.state().has_only_join_handle() {
            // SAFETY: the handle holds the last reference to a complete task, so the stage and the task are
            // its own.
            unsafe {
                task.drop_output();
                task.free();
            }
            return;
        }
        // SAFETY: the transition says what the handle owns: the waker's field, or the output of a complete
        // task. Its reference is dropped last.
        unsafe {
            match task.state().transition_to_join_handle_dropped() {
                JoinHandleCleanup::Nothing => return,
                JoinHandleCleanup::Waker => task.set_join_waker(None),
                JoinHandleCleanup::Output { with_waker } => {
                    task.drop_output();
                    if with_waker {
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
