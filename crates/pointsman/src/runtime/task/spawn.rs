//! `spawn`.

use std::future::Future;

use super::super::scheduler::{Shared, context};
use crate::task::body::is_large;
use crate::task::join::JoinHandle;
use crate::task::origin::SpawnSite;
use crate::task::raw::RawTask;

/// Spawns a task onto the current runtime. The task runs whether its [`JoinHandle`] is awaited or not.
///
/// The task is queued behind the tasks that are ready. If it is not complete when the runtime shuts down, it is dropped at
/// an `.await`. In a multi-thread runtime it runs on a worker, never on a thread that is in
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
/// If called outside of a runtime.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_at(future, SpawnSite::caller())
}

#[inline]
#[track_caller]
pub(super) fn spawn_at<F>(future: F, site: SpawnSite<'_>) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // SAFETY: `spawn_on` runs user code in two cases. If the runtime has shut down, it drops the future, and does not
    // use `shared` afterwards. A spawn hook runs while `Shared::call_spawn_hook` keeps the runtime alive.
    match unsafe { context::current_shared() } {
        Some(shared) => spawn_on(shared, future, site),
        None => panic!("{}", context::missing()),
    }
}

#[inline]
pub(crate) fn spawn_on<F>(
    shared: &Shared,
    future: F,
    mut site: SpawnSite<'_>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    site.span.set_size::<F>();
    if is_large::<F>() {
        spawn_small_on(shared, Box::pin(future), site)
    } else {
        spawn_small_on(shared, future, site)
    }
}

#[inline]
fn spawn_small_on<F>(shared: &Shared, future: F, mut site: SpawnSite<'_>) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let future = site.traced(future);
    // SAFETY: `Shared::spawn` calls the closure while this thread owns the arena.
    let task = shared.spawn(|arena| unsafe { RawTask::new(arena, future, false, site) });
    // SAFETY: a new task has three references, and this is the only one that becomes a `JoinHandle`.
    unsafe { JoinHandle::new(task) }
}
