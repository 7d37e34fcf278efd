//! Work that blocks its thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::super::{Handle, Refused};
use crate::context::{Work, with_work, work};
use crate::task::{JoinHandle, Notified, RawTask, coop, is_large};

/// A function as a task: it runs when it is polled, to its end.
struct Job<F>(Option<F>);

impl<F> Unpin for Job<F> {}

impl<F: FnOnce() -> R, R> Future for Job<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        let function = self.0.take().expect("a job runs once");
        // It has its thread for itself.
        Poll::Ready(coop::without_budget(function))
    }
}

/// Runs a function that blocks in a thread for such work, and gives its result.
///
/// Short functions that come together share a thread. One that has to wait is sent a thread of its own within
/// about 0.1 ms, or somewhat later if many wait, up to
/// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads); what comes then waits. So functions
/// may wait for each other.
///
/// A function that has begun cannot be aborted: [`abort`](JoinHandle::abort) only cancels one that has not. Dropping
/// the runtime runs the queued functions and waits for all of them; see [`Runtime`](crate::runtime::Runtime). A
/// function that is submitted after the shutdown is dropped, and its task is cancelled.
///
/// ```
/// # #[pointsman::main] async fn main() {
/// let text = pointsman::task::spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
/// assert!(text.await.unwrap().unwrap().contains("pointsman"));
/// # }
/// ```
///
/// # Panics
/// Outside of a runtime, and if no thread at all can be started.
#[track_caller]
pub fn spawn_blocking<F, R>(function: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    match Handle::try_current() {
        Ok(handle) => spawn_blocking_on(&handle, function),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
pub(crate) fn spawn_blocking_on<F, R>(handle: &Handle, function: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (joined, accepted) = try_spawn_blocking_on(handle, function);
    if let Err(Refused::NoThread(error)) = accepted {
        panic!("OS can't spawn worker thread: {error}");
    }
    joined
}

/// Also returns whether the job was accepted.
pub(crate) fn try_spawn_blocking_on<F, R>(
    handle: &Handle,
    function: F,
) -> (JoinHandle<R>, Result<(), Refused>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    if is_large::<F>() {
        submit(handle, Box::new(function))
    } else {
        submit(handle, function)
    }
}

fn submit<F, R>(handle: &Handle, function: F) -> (JoinHandle<R>, Result<(), Refused>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let shared = handle.shared();
    let job = Job(Some(function));
    // SAFETY: the arena is this thread's while the task is made.
    // The pool decides whether it accepts the job: it stays open after tasks can no longer be spawned.
    let (task, _) = shared.make(|arena| unsafe { RawTask::new(arena, job, true) });
    // SAFETY: the third reference of a new task.
    let joined = unsafe { JoinHandle::new(task) };
    // SAFETY: the task was just made.
    let accepted = handle.submit(unsafe { Notified::woken(task) });
    (joined, accepted)
}

/// Runs a function that blocks in this thread, and lets another do the thread's work meanwhile: a worker that
/// sleeps, or else a thread for blocking work, which takes this worker's place. Afterwards the task goes on in
/// this thread.
///
/// Unlike with [`spawn_blocking`] the function may borrow. What else is awaited in the same task waits. The
/// function may use [`Handle::block_on`](crate::runtime::Handle::block_on). Any number of tasks may be in here at
/// once, as long as there are threads for blocking work left.
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
/// In a runtime of the current thread and in a [`LocalSet`](super::LocalSet), where nobody else could do the
/// thread's work.
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
            // Of the runtime whose task this is, whatever runtime it has entered.
            match crate::runtime::context::worked_for() {
                Some(shared) => shared.block_in_place(run),
                None => run(),
            }
        }
    }
}
