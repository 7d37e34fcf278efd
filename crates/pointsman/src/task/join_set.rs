//! Many tasks whose results are taken in the order in which they complete.
//!
//! Invariant: a task that is complete is in the line of those that can be taken, or its waker is on the way to
//! put it there. A place in the line may be stale: then there is nothing behind it, or another task that is
//! asked for nothing.
//!
//! Cost: one allocation per task, for its waker.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::{AbortHandle, Id, JoinError, JoinHandle, LocalSet};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::runtime::Handle;

/// A set of tasks, all with outputs of the same type. Dropping it aborts them.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let mut set = pointsman::task::JoinSet::new();
/// for n in 0..3 {
///     set.spawn(async move { n });
/// }
/// let mut sum = 0;
/// while let Some(result) = set.join_next().await {
///     sum += result.unwrap();
/// }
/// assert_eq!(sum, 3);
/// # }
/// ```
pub struct JoinSet<T> {
    /// Those that have not been taken, at their places.
    members: Vec<Option<Member<T>>>,
    vacant: Vec<usize>,
    line: Arc<Line>,
}

struct Member<T> {
    handle: JoinHandle<T>,
    waker: Waker,
}

/// The places of those that are complete.
#[derive(Default)]
struct Line(Mutex<LineState>);

#[derive(Default)]
struct LineState {
    places: VecDeque<usize>,
    /// Whoever waits for the next.
    waiting: Option<Waker>,
}

impl Line {
    fn push(&self, place: usize) {
        let mut state = lock(&self.0);
        state.places.push_back(place);
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

struct Place {
    line: Arc<Line>,
    place: usize,
}

impl Wake for Place {
    fn wake(self: Arc<Self>) {
        self.line.push(self.place);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.line.push(self.place);
    }
}

impl<T> JoinSet<T> {
    /// A set without tasks.
    pub fn new() -> Self {
        Self {
            members: Vec::new(),
            vacant: Vec::new(),
            line: Arc::default(),
        }
    }

    /// How many tasks there are whose results were not taken.
    pub fn len(&self) -> usize {
        self.members.len() - self.vacant.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: 'static> JoinSet<T> {
    /// Starts a task; see [`spawn`](crate::spawn).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(crate::spawn(task))
    }

    /// Starts a task on a runtime.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(task))
    }

    /// Starts a task in the current [`LocalSet`]; see [`spawn_local`](super::spawn_local).
    ///
    /// # Panics
    /// Outside of a `LocalSet`.
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(super::spawn_local(task))
    }

    /// Starts a task in a [`LocalSet`].
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    /// Runs what blocks; see [`spawn_blocking`](super::spawn_blocking).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, function: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn_blocking(function))
    }

    /// Runs what blocks, on a runtime.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, function: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(function))
    }

    fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.members.push(None);
            self.members.len() - 1
        });
        let line = Arc::clone(&self.line);
        let waker = Waker::from(Arc::new(Place { line, place }));
        let waits = handle.set_waker(&waker);
        self.members[place] = Some(Member { handle, waker });
        if !waits {
            self.line.push(place);
        }
        abort
    }

    /// Waits for the next task to complete, and takes its result. `None` if there is no task.
    ///
    /// Cancel safe: if it is dropped no task was taken.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As [`join_next`](Self::join_next), with the number of the task; an error has it itself.
    ///
    /// Cancel safe: if it is dropped no task was taken.
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Takes the result of a task that is complete. `None` if there is none.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_join_next_with_id()
            .map(|result| result.map(|(_, output)| output))
    }

    /// As [`try_join_next`](Self::try_join_next), with the number of the task.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        super::coop::without_budget(|| {
            loop {
                let place = lock(&self.line.0).places.pop_front()?;
                if let Some(result) = self.take(place) {
                    return Some(result);
                }
            }
        })
    }

    /// As [`join_next`](Self::join_next), for futures written by hand: pending if no task is complete.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_join_next_with_id(cx)
            .map(|next| next.map(|result| result.map(|(_, output)| output)))
    }

    /// As [`poll_join_next`](Self::poll_join_next), with the number of the task.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        let proceed = std::task::ready!(super::coop::poll_proceed(cx));
        loop {
            if self.is_empty() {
                proceed.made_progress();
                return Poll::Ready(None);
            }
            let mut state = lock(&self.line.0);
            let Some(place) = state.places.pop_front() else {
                let known = state.waiting.as_ref();
                if !known.is_some_and(|known| known.will_wake(cx.waker())) {
                    let before = state.waiting.replace(cx.waker().clone());
                    // What goes with it may want the lock.
                    drop(state);
                    drop(before);
                }
                return Poll::Pending;
            };
            drop(state);
            if let Some(result) = super::coop::without_budget(|| self.take(place)) {
                proceed.made_progress();
                return Poll::Ready(Some(result));
            }
        }
    }

    /// The result of the task at this place, if it is complete.
    fn take(&mut self, place: usize) -> Option<Result<(Id, T), JoinError>> {
        // One that was let go of may have completed later: its place need not be there any more.
        let member = self.members.get_mut(place)?.as_mut()?;
        let id = member.handle.id();
        let mut cx = Context::from_waker(&member.waker);
        match Pin::new(&mut member.handle).poll(&mut cx) {
            Poll::Pending => None,
            Poll::Ready(result) => {
                self.members[place] = None;
                self.vacant.push(place);
                Some(result.map(|output| (id, output)))
            }
        }
    }

    /// Aborts all tasks and waits until they have ended; their results are dropped.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks, and gives their outputs in the order in which they have completed.
    ///
    /// # Panics
    /// With what a task has thrown, and if one was aborted. Then the others are aborted.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result {
                Ok(output) => outputs.push(output),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => panic!("{error}"),
            }
        }
        outputs
    }
}

impl<T> JoinSet<T> {
    fn handles(&self) -> impl Iterator<Item = &JoinHandle<T>> {
        self.members.iter().flatten().map(|member| &member.handle)
    }

    /// Aborts all tasks. Their results can be taken still.
    pub fn abort_all(&mut self) {
        for handle in self.handles() {
            handle.abort();
        }
    }

    /// Lets go of all tasks, which go on.
    pub fn detach_all(&mut self) {
        self.members.clear();
        self.vacant.clear();
        lock(&self.line.0).places.clear();
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}

/// Starts a task for each future.
///
/// # Panics
/// Outside of a runtime.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        set.extend(futures);
        set
    }
}

/// Starts a task for each future.
///
/// # Panics
/// Outside of a runtime.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}
