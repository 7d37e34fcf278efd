//! Starts tasks.

use std::future::Future;

use super::super::scheduler::Shared;
use super::super::{TryCurrentError, context};
use crate::task::{JoinHandle, RawTask, is_large};

/// Starts a task, which runs on its own whether its [`JoinHandle`] is awaited or not. Needs a current runtime.
///
/// The task begins when the runtime has time for it, after what was ready before, and ends with the runtime at the
/// latest, at an await. In a runtime of several threads it runs in one of the workers, never in a thread that is in
/// [`block_on`](crate::runtime::Runtime::block_on).
///
/// ```
/// # #[pointsman::main] async fn main() {
/// let doubles: Vec<_> = (0..3).map(|n| pointsman::spawn(async move { 2 * n })).collect();
/// for (n, double) in doubles.into_iter().enumerate() {
///     assert_eq!(double.await.unwrap(), 2 * n);
/// }
/// # }
/// ```
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // SAFETY: what of the future runs here is dropped last, when the runtime has ended.
    match unsafe { context::current_shared() } {
        Some(shared) => spawn_on(shared, future),
        None => panic!("{}", TryCurrentError::now()),
    }
}

#[inline]
pub(crate) fn spawn_on<F>(shared: &Shared, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    if is_large::<F>() {
        spawn_small_on(shared, Box::pin(future))
    } else {
        spawn_small_on(shared, future)
    }
}

#[inline]
fn spawn_small_on<F>(shared: &Shared, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // SAFETY: the arena is this thread's while the task is made.
    let task = shared.spawn(|arena| unsafe { RawTask::new(arena, future, false) });
    // SAFETY: the third reference of a new task.
    unsafe { JoinHandle::new(task) }
}
