//! A set of tasks whose results are returned in the order in which they complete.
//!
//! Invariant: the key of a complete task is in the completion queue, or its waker is about to push it there. A key in the
//! queue may be stale: then the set has no task with this key, or a later one, whose poll is harmless.
//!
//! Cost: one allocation per task, for its waker.

mod builder;
mod spawn;

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

pub use builder::Builder;

use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::task::abort::AbortHandle;
use crate::task::activity::{SEVERAL_TASKS, WaitKind, note_wait};
use crate::task::coop;
use crate::task::error::JoinError;
use crate::task::id::Id;
use crate::task::join::JoinHandle;

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
    /// The tasks whose results were not returned, by key.
    members: Vec<Option<Member<T>>>,
    vacant: Vec<usize>,
    completed: Arc<CompletionQueue>,
}

struct Member<T> {
    handle: JoinHandle<T>,
    waker: Waker,
}

#[derive(Default)]
struct CompletionQueue(Mutex<Completions>);

#[derive(Default)]
struct Completions {
    keys: VecDeque<usize>,
    /// The waker of the task that waits for the next key.
    waiter: Option<Waker>,
}

impl CompletionQueue {
    fn push(&self, key: usize) {
        let mut completions = lock(&self.0);
        completions.keys.push_back(key);
        let waiter = completions.waiter.take();
        drop(completions);
        if let Some(waker) = waiter {
            waker.wake();
        }
    }
}

struct MemberWaker {
    completed: Arc<CompletionQueue>,
    key: usize,
}

impl Wake for MemberWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.completed.push(self.key);
    }
}

impl<T> JoinSet<T> {
    /// Creates an empty set.
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
            completed: Arc::default(),
        }
    }

    /// Returns the number of tasks whose results were not returned, including complete ones.
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

    /// Returns true if the set has no tasks.
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
    fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        let key = self.vacant.pop().unwrap_or_else(|| {
            self.members.push(None);
            self.members.len() - 1
        });
        let completed = Arc::clone(&self.completed);
        let waker = Waker::from(Arc::new(MemberWaker { completed, key }));
        let is_pending = handle.set_waker(&waker);
        self.members[key] = Some(Member { handle, waker });
        if !is_pending {
            self.completed.push(key);
        }
        abort
    }

    /// Waits until a task completes, removes it and returns its result. Returns `None` if the set is empty.
    ///
    /// Cancel safe: if it is dropped, no task is removed.
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

    /// As [`join_next`](Self::join_next), and also returns the id of the task, which an error contains.
    ///
    /// Cancel safe: if it is dropped, no task is removed.
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

    /// Removes a complete task and returns its result. Returns `None` if no task is complete.
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

    /// As [`try_join_next`](Self::try_join_next), and also returns the id of the task.
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
                let key = lock(&self.completed.0).keys.pop_front()?;
                if let Some(result) = self.take(key) {
                    return Some(result);
                }
            }
        })
    }

    /// Polls for the next complete task; see [`join_next`](Self::join_next). If no task is complete, the waker of `cx` is
    /// woken when one completes. Only the waker of the last poll is woken.
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

    /// As [`poll_join_next`](Self::poll_join_next), and also returns the id of the task.
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
            let mut completions = lock(&self.completed.0);
            let Some(key) = completions.keys.pop_front() else {
                let known = completions.waiter.as_ref();
                if known.is_some_and(|known| known.will_wake(cx.waker())) {
                    note_wait(WaitKind::Join, SEVERAL_TASKS, cx.waker());
                    return Poll::Pending;
                }
                let Some(waker) = waker.take() else {
                    // Without the lock, since cloning or dropping a waker runs user code. A task may complete meanwhile.
                    drop(completions);
                    waker = Some(cx.waker().clone());
                    continue;
                };
                let before = completions.waiter.replace(waker);
                drop(completions);
                drop(before);
                note_wait(WaitKind::Join, SEVERAL_TASKS, cx.waker());
                return Poll::Pending;
            };
            drop(completions);
            if let Some(result) = coop::without_budget(|| self.take(key)) {
                proceed.made_progress();
                return Poll::Ready(Some(result));
            }
        }
    }

    /// Removes the task with this key, if it is complete.
    fn take(&mut self, key: usize) -> Option<Result<(Id, T), JoinError>> {
        // The key of a detached task that has completed may not exist any more.
        let member = self.members.get_mut(key)?.as_mut()?;
        let id = member.handle.id();
        let mut cx = Context::from_waker(&member.waker);
        match Pin::new(&mut member.handle).poll(&mut cx) {
            Poll::Pending => None,
            Poll::Ready(result) => {
                self.members[key] = None;
                self.vacant.push(key);
                Some(result.map(|output| (id, output)))
            }
        }
    }

    /// Aborts all tasks, waits until they have ended and drops their results. A blocking function that has begun cannot be
    /// aborted, so this waits until it returns.
    ///
    /// If the future is dropped after its first poll, the tasks are aborted nevertheless.
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

    /// Waits for all tasks and returns their outputs in the order in which they completed.
    ///
    /// If the future is dropped before it is ready, the tasks are aborted and their outputs dropped.
    ///
    /// # Panics
    /// If a task panics, with its panic, or if a task was aborted. The other tasks are then aborted.
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

    /// Aborts all tasks. They stay in the set until their results are returned.
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

    /// Removes all tasks from the set without aborting them.
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
        lock(&self.completed.0).keys.clear();
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
