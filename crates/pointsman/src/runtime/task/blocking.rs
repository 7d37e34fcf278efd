//! `spawn_blocking` and `block_in_place`.

use super::super::handle::Handle;
use super::super::scheduler::context::slot_owner;
use crate::context::{Work, with_work, work};
use crate::task::coop;
use crate::task::join::JoinHandle;

/// Runs a blocking function on the runtime's blocking pool. The [`JoinHandle`] returns its result.
///
/// Short functions that are submitted together share a thread. A function that has to wait gets a thread of its own
/// within about 0.1 ms, or somewhat later if many wait, up to
/// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads); further functions are queued. So functions may
/// wait for each other.
///
/// A function that has begun cannot be aborted: [`abort`](JoinHandle::abort) cancels only one that has not. Dropping the
/// runtime runs the queued functions and waits for all of them; see [`Runtime`](crate::runtime::Runtime). A function that
/// is submitted after the shutdown is dropped, and its task is cancelled.
///
/// ```
/// # #[pointsman::main] async fn main() {
/// let text = pointsman::task::spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
/// assert!(text.await.unwrap().unwrap().contains("pointsman"));
/// # }
/// ```
///
/// # Panics
/// If called outside of a runtime, or if the pool has no thread and none can be started.
#[track_caller]
pub fn spawn_blocking<F, R>(function: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    match Handle::try_current() {
        Ok(handle) => handle.spawn_blocking(function),
        Err(error) => panic!("{error}"),
    }
}

/// Runs a blocking function on this thread. Meanwhile another thread runs the worker's other tasks: a sleeping worker, or
/// else a thread of the blocking pool, which replaces this worker. Afterwards the task continues on this thread.
///
/// Unlike with [`spawn_blocking`] the function may borrow. Other futures of the same task do not make progress meanwhile.
/// The function may call [`Handle::block_on`](crate::runtime::Handle::block_on). Outside of a runtime the function is just
/// called.
///
/// ```
/// # #[pointsman::main] async fn main() {
/// let mut text = String::from("Cargo");
/// pointsman::task::block_in_place(|| text += &std::fs::read_to_string("Cargo.toml").unwrap());
/// assert!(text.starts_with("Cargo["));
/// # }
/// ```
///
/// # Panics
/// If called in a current-thread runtime or in a [`LocalSet`](super::local_set::LocalSet), whose tasks no other thread can
/// run.
#[track_caller]
pub fn block_in_place<F, R>(function: F) -> R
where
    F: FnOnce() -> R,
{
    match work() {
        Work::None => function(),
        Work::Runs => panic!("can call blocking only when running on the multi-threaded runtime"),
        Work::RunsAndMayBlock => {
            let run = || with_work(Work::None, || coop::without_budget(function));
            // The runtime that runs this task, even if the task has entered another.
            match slot_owner() {
                Some(shared) => shared.block_in_place(run),
                None => run(),
            }
        }
    }
}
