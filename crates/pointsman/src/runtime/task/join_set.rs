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

use super::super::Handle;
use super::{LocalSet, spawn, spawn_blocking, spawn_local};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::task::{AbortHandle, Id, JoinError, JoinHandle, coop};

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
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// let set = JoinSet::<u32>::new();
    /// assert!(set.is_empty());
    /// ```
    pub fn new() -> Self {
        Self {
            members: Vec::new(),
            vacant: Vec::new(),
            line: Arc::default(),
        }
    }

    /// How many tasks there are whose results were not taken. Those that are complete count.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set: JoinSet<_> = [1, 2, 3].map(|n| async move { n }).into_iter().collect();
    /// assert_eq!(set.len(), 3);
    /// set.join_next().await;
    /// assert_eq!(set.len(), 2);
    /// # }
    /// ```
    pub fn len(&self) -> usize {
        self.members.len() - self.vacant.len()
    }

    /// Whether there is none.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// set.spawn(async {});
    /// assert!(!set.is_empty());
    /// set.join_next().await;
    /// assert!(set.is_empty());
    /// # }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: 'static> JoinSet<T> {
    /// Starts a task; see [`spawn`](crate::spawn).
    ///
    /// # Panics
    /// Outside of a runtime.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// let endless = set.spawn(std::future::pending());
    /// set.spawn(async { 2 });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 2);
    /// endless.abort();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(spawn(task))
    }

    /// Starts a task on a runtime. This can be done outside of a runtime, too.
    ///
    /// ```
    /// # use pointsman::{runtime::Runtime, task::JoinSet};
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.spawn_on(async { 1 + 1 }, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [2]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
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
    /// Outside of a `LocalSet` and of a [`LocalRuntime`](crate::runtime::LocalRuntime).
    ///
    /// ```
    /// # use pointsman::{runtime::LocalRuntime, task::JoinSet};
    /// use std::rc::Rc;
    ///
    /// let sum = LocalRuntime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     let number = Rc::new(7);
    ///     set.spawn_local(async move { *number });
    ///     set.join_all().await
    /// });
    /// assert_eq!(sum, [7]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(spawn_local(task))
    }

    /// Starts a task in a [`LocalSet`]. It runs when that does.
    ///
    /// ```
    /// # use pointsman::task::{JoinSet, LocalSet};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use std::rc::Rc;
    ///
    /// let (local, mut set) = (LocalSet::new(), JoinSet::new());
    /// let number = Rc::new(7);
    /// set.spawn_local_on(async move { *number }, &local);
    /// assert_eq!(local.run_until(set.join_all()).await, [7]);
    /// # }
    /// ```
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
    /// Outside of a runtime, and if no thread at all can be started.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// for file in ["Cargo.toml", "src/lib.rs"] {
    ///     set.spawn_blocking(move || std::fs::read(file).unwrap().len());
    /// }
    /// assert!(set.join_all().await.iter().all(|length| *length > 0));
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, function: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(spawn_blocking(function))
    }

    /// Runs what blocks, on a runtime. This can be done outside of a runtime, too.
    ///
    /// # Panics
    /// If no thread at all can be started.
    ///
    /// ```
    /// # use pointsman::{runtime::Runtime, task::JoinSet};
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.spawn_blocking_on(|| 1 + 1, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [2]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
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
    ///
    /// # Errors
    /// The result is an error if the task has panicked or was aborted.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// set.spawn(async { 7 });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 7);
    /// assert!(set.join_next().await.is_none());
    /// # }
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As [`join_next`](Self::join_next), with the number of the task; an error has it itself.
    ///
    /// Cancel safe: if it is dropped no task was taken.
    ///
    /// # Errors
    /// The result is an error if the task has panicked or was aborted.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// let id = set.spawn(async { "done" }).id();
    /// assert_eq!(set.join_next_with_id().await.unwrap().unwrap(), (id, "done"));
    /// # }
    /// ```
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Takes the result of a task that is complete. `None` if there is none.
    ///
    /// # Errors
    /// The result is an error if the task has panicked or was aborted.
    ///
    /// ```
    /// # use pointsman::task::{JoinSet, yield_now};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// set.spawn(async { 7 });
    /// assert!(set.try_join_next().is_none());
    /// yield_now().await;
    /// assert_eq!(set.try_join_next().unwrap().unwrap(), 7);
    /// # }
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_join_next_with_id()
            .map(|result| result.map(|(_, output)| output))
    }

    /// As [`try_join_next`](Self::try_join_next), with the number of the task.
    ///
    /// # Errors
    /// The result is an error if the task has panicked or was aborted.
    ///
    /// ```
    /// # use pointsman::task::{JoinSet, yield_now};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// let id = set.spawn(async { "done" }).id();
    /// yield_now().await;
    /// assert_eq!(set.try_join_next_with_id().unwrap().unwrap(), (id, "done"));
    /// # }
    /// ```
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        coop::without_budget(|| {
            loop {
                let place = lock(&self.line.0).places.pop_front()?;
                if let Some(result) = self.take(place) {
                    return Some(result);
                }
            }
        })
    }

    /// As [`join_next`](Self::join_next), for futures written by hand: pending if no task is complete. Then the
    /// task that polls is woken when one is; of several, the last that has polled.
    ///
    /// # Errors
    /// The result is an error if the task has panicked or was aborted.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use std::future::poll_fn;
    ///
    /// let mut set = JoinSet::new();
    /// set.spawn(async { 7 });
    /// let next = poll_fn(|cx| set.poll_join_next(cx)).await;
    /// assert_eq!(next.unwrap().unwrap(), 7);
    /// # }
    /// ```
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_join_next_with_id(cx)
            .map(|next| next.map(|result| result.map(|(_, output)| output)))
    }

    /// As [`poll_join_next`](Self::poll_join_next), with the number of the task.
    ///
    /// # Errors
    /// The result is an error if the task has panicked or was aborted.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use std::future::poll_fn;
    ///
    /// let mut set = JoinSet::new();
    /// let id = set.spawn(async { "done" }).id();
    /// let next = poll_fn(|cx| set.poll_join_next_with_id(cx)).await;
    /// assert_eq!(next.unwrap().unwrap(), (id, "done"));
    /// # }
    /// ```
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        let proceed = std::task::ready!(coop::poll_proceed(cx));
        let mut waker = None;
        loop {
            if self.is_empty() {
                proceed.made_progress();
                return Poll::Ready(None);
            }
            let mut state = lock(&self.line.0);
            let Some(place) = state.places.pop_front() else {
                let known = state.waiting.as_ref();
                if known.is_some_and(|known| known.will_wake(cx.waker())) {
                    return Poll::Pending;
                }
                let Some(waker) = waker.take() else {
                    // Without the lock: a waker may do anything when it is cloned or dropped. Then there may be
                    // something in the line.
                    drop(state);
                    waker = Some(cx.waker().clone());
                    continue;
                };
                let before = state.waiting.replace(waker);
                drop(state);
                drop(before);
                return Poll::Pending;
            };
            drop(state);
            if let Some(result) = coop::without_budget(|| self.take(place)) {
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

    /// Aborts all tasks and waits until they have ended; their results are dropped. Blocking work that has begun
    /// cannot be ended: it is waited for.
    ///
    /// If it is dropped after its first poll, the tasks end all the same; before, nothing has happened.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// let task = set.spawn(std::future::pending::<()>());
    /// set.shutdown().await;
    /// assert!(set.is_empty() && task.is_finished());
    /// # }
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks, and gives their outputs in the order in which they have completed.
    ///
    /// If this is dropped before it is ready, the tasks are aborted and the outputs are lost.
    ///
    /// # Panics
    /// With what a task has thrown, and if one was aborted. Then the others are aborted.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let squares = (1..=3).map(|n| async move { n * n });
    /// let mut squares = squares.collect::<JoinSet<u32>>().join_all().await;
    /// squares.sort();
    /// assert_eq!(squares, [1, 4, 9]);
    /// # }
    /// ```
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
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.abort_all();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn abort_all(&mut self) {
        for handle in self.handles() {
            handle.abort();
        }
    }

    /// Lets go of all tasks, which go on.
    ///
    /// ```
    /// # use pointsman::{sync::oneshot, task::JoinSet};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let (tx, rx) = oneshot::channel();
    /// let mut set = JoinSet::new();
    /// set.spawn(async { tx.send(7) });
    /// set.detach_all();
    /// drop(set);
    /// assert_eq!(rx.await, Ok(7));
    /// # }
    /// ```
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
