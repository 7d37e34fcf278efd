//! Tasks that stay on one thread, and so need not be `Send`.
//!
//! # Invariants
//!
//! - Futures of a local set are polled and dropped on the thread that created the set, which alone uses the set's queue and
//!   arena. Other threads pass woken tasks to it through `remote`.
//! - While tasks of a set are ready, the set is being polled or its waker has been woken.

pub(in crate::runtime) mod list;
#[cfg(all(test, loom, feature = "diagnostics"))]
mod loom_tests;
pub(crate) mod shared;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use self::list::Listing;
use self::shared::{
    CurrentSetGuard, LocalEnterGuard, LocalShared, spawn_in, without_block_in_place,
};
use super::super::hooks::UnhandledPanic;
use super::super::id::Id;
use super::super::runtime::Runtime;
use super::super::scheduler::{Shared, Slot};
use crate::loom::lock;
use crate::task::activity::{SEVERAL_TASKS, WaitKind, note_wait};
use crate::task::arena::Arena;
use crate::task::coop;
use crate::task::join::JoinHandle;
use crate::task::origin::SpawnSite;
use crate::task::raw::Notified;

/// The number of task polls after which a set yields. In a [`LocalRuntime`](crate::runtime::LocalRuntime) it is the
/// `event_interval`.
const MAX_POLLS: u32 = 61;
/// The number of task polls after which a set checks for tasks that other threads have woken.
const REMOTE_INTERVAL: u32 = 31;

/// A set of tasks that run on the thread that created the set and need not be `Send`. They run while the set is awaited, or
/// during [`run_until`](Self::run_until) or [`block_on`](Self::block_on). Awaiting the set waits until all its tasks have
/// ended.
///
/// Dropping the set drops its tasks.
///
/// ```
/// use std::rc::Rc;
/// use pointsman::task::{self, LocalSet};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let text = Rc::new("not to be sent");
/// let local = LocalSet::new();
/// let length = local.run_until(async move {
///     task::spawn_local(async move { text.len() }).await.unwrap()
/// });
/// assert_eq!(length.await, 14);
/// # }
/// ```
pub struct LocalSet {
    shared: Arc<LocalShared>,
    arena: NonNull<Arena<Arc<LocalShared>>>,
    max_polls: u32,
    _not_send: PhantomData<Rc<()>>,
}

impl LocalSet {
    /// Creates an empty set that belongs to this thread. Does not need a runtime.
    ///
    /// ```
    /// # use pointsman::task::LocalSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let local = LocalSet::new();
    /// let task = local.spawn_local(async { 1 + 1 });
    /// // Wait until all tasks have ended.
    /// local.await;
    /// assert!(task.is_finished());
    /// # }
    /// ```
    pub fn new() -> Self {
        Self::build(None)
    }

    /// Creates the set of a [`LocalRuntime`](crate::runtime::LocalRuntime). Its tasks count as tasks of the runtime.
    pub(in crate::runtime) fn of(runtime: &Arc<Shared>) -> Self {
        Self::build(Some(Arc::clone(runtime)))
    }

    fn build(runtime: Option<Arc<Shared>>) -> Self {
        let max_polls = match &runtime {
            Some(runtime) => runtime.config.event_interval,
            None => MAX_POLLS,
        };
        let shared = Arc::new(LocalShared::new(runtime));
        let arena = Arena::new(Arc::clone(&shared));
        shared.own.arena.set(Some(arena));
        Listing::insert(&shared, arena);
        Self {
            shared,
            arena,
            max_polls,
            _not_send: PhantomData,
        }
    }

    /// Enters the set: until the guard is dropped, [`spawn_local`](crate::task::spawn_local) on this thread uses it.
    ///
    /// ```
    /// # use pointsman::{runtime::Runtime, task::{LocalSet, spawn_local}};
    /// let (runtime, local) = (Runtime::new()?, LocalSet::new());
    /// let task = {
    ///     let _entered = local.enter();
    ///     spawn_local(async { 1 + 1 })
    /// };
    /// assert_eq!(local.block_on(&runtime, task).unwrap(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard::new(&self.shared)
    }

    /// Spawns a task onto this set. It runs when the set runs.
    ///
    /// ```
    /// # use pointsman::task::{LocalSet, yield_now};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let local = LocalSet::new();
    /// let task = local.spawn_local(async { 1 + 1 });
    /// yield_now().await;
    /// assert!(!task.is_finished());
    /// local.await;
    /// assert_eq!(task.await.unwrap(), 2);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.spawn_at(future, SpawnSite::caller())
    }

    pub(super) fn spawn_at<F>(&self, future: F, site: SpawnSite<'_>) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        spawn_in(&self.shared, future, site)
    }

    /// Runs a future to completion on the runtime, and the tasks of the set meanwhile.
    ///
    /// # Panics
    /// If [`Runtime::block_on`](crate::runtime::Runtime::block_on) panics.
    ///
    /// ```
    /// # use pointsman::{runtime::Runtime, task::{LocalSet, spawn_local}};
    /// use std::rc::Rc;
    ///
    /// let (runtime, local) = (Runtime::new()?, LocalSet::new());
    /// let number = Rc::new(7);
    /// let answer = local.block_on(&runtime, async {
    ///     spawn_local(async move { *number }).await.unwrap()
    /// });
    /// assert_eq!(answer, 7);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, runtime: &Runtime, future: F) -> F::Output {
        runtime.block_on(self.run_until(future))
    }

    /// Runs the future and the tasks of the set until the future is ready. Cancel safe.
    ///
    /// Tasks that are not complete then continue when the set is run again.
    ///
    /// ```
    /// # use pointsman::task::{LocalSet, spawn_local};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let local = LocalSet::new();
    /// let endless = local.spawn_local(std::future::pending::<()>());
    /// let answer = local.run_until(async { spawn_local(async { 7 }).await });
    /// assert_eq!(answer.await.unwrap(), 7);
    /// assert!(!endless.is_finished());
    /// # }
    /// ```
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        RunUntil { set: self, future }.await
    }

    /// Runs at most `max_polls` tasks. Returns whether tasks may be left.
    ///
    /// # Panics
    /// If the panic of a task has ended the set.
    fn run(&self) -> bool {
        let has_more = match self.shared.observer() {
            None => self.run_by(Notified::run),
            Some((runtime, slot)) => self.run_counted(runtime, slot),
        };
        self.shared.listing.end_polls();
        self.shared.own.fail_if_panicked();
        has_more
    }

    /// Not inlined, so that the other path is compiled as if it were the only one.
    #[inline(never)]
    fn run_counted(&self, runtime: &Shared, slot: &Slot) -> bool {
        self.run_by(|entry| runtime.poll_local(slot, entry))
    }

    #[inline(always)]
    fn run_by(&self, poll: impl Fn(Notified) -> Option<Notified>) -> bool {
        let own = &self.shared.own;
        let mut until_fetch = REMOTE_INTERVAL;
        for _ in 0..self.max_polls {
            let mut entry = None;
            until_fetch -= 1;
            match until_fetch {
                0 => until_fetch = REMOTE_INTERVAL,
                _ => entry = own.next(),
            }
            if entry.is_none() {
                self.fetch();
                entry = own.next();
            }
            let Some(entry) = entry else {
                // SAFETY: a `LocalSet` does not leave its thread, which owns the arena.
                unsafe { self.arena.as_ref().collect() };
                return false;
            };
            self.shared.listing.begin_poll(entry.task);
            if let Some(again) = without_block_in_place(|| poll(entry)) {
                own.queue.borrow_mut().push_back(again);
            }
        }
        true
    }

    /// Queues the tasks that other threads have woken.
    fn fetch(&self) {
        let woken = lock(&self.shared.remote).as_mut().map(mem::take);
        let mut queue = self.shared.own.queue.borrow_mut();
        queue.extend(woken.into_iter().flatten());
    }

    fn register(&self, cx: &Context<'_>) {
        self.shared.listing.enter_runtime();
        let known = lock(&self.shared.waker);
        if known
            .as_ref()
            .is_some_and(|known| known.will_wake(cx.waker()))
        {
            return;
        }
        drop(known);
        // Without the lock, since cloning or dropping a waker runs user code. Tasks that this code queues are seen by the
        // run that follows.
        let waker = cx.waker().clone();
        let before = lock(&self.shared.waker).replace(waker);
        drop(before);
    }
}

impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.register(cx);
        let _current = CurrentSetGuard::new(&self.shared);
        if self.run() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.shared.own.alive.get() {
            0 => Poll::Ready(()),
            _ => {
                note_wait(WaitKind::Join, SEVERAL_TASKS, cx.waker());
                Poll::Pending
            }
        }
    }
}

pin_project! {
    struct RunUntil<'a, F> {
        set: &'a LocalSet,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for RunUntil<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.set.register(cx);
        let _current = CurrentSetGuard::new(&this.set.shared);
        if let Poll::Ready(output) =
            without_block_in_place(|| coop::budget(|| this.future.poll(cx)))
        {
            return Poll::Ready(output);
        }
        if this.set.run() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl LocalSet {
    /// Sets what happens when a task of the set panics. Default: [`UnhandledPanic::Ignore`]. With
    /// [`UnhandledPanic::ShutdownRuntime`] the other tasks are dropped, and the set panics when it runs.
    ///
    /// ```should_panic
    /// use pointsman::runtime::UnhandledPanic;
    /// # use pointsman::task::{LocalSet, spawn_local};
    ///
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut local = LocalSet::new();
    /// local.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    /// local.spawn_local(async { panic!("in a task") });
    /// // Panics instead of waiting for ever.
    /// local.run_until(std::future::pending::<()>()).await;
    /// # }
    /// ```
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        let shuts_down = !matches!(behavior, UnhandledPanic::Ignore);
        self.shared.own.ends_with_panic.set(shuts_down);
        self
    }

    /// Returns the number of the set, which no other set and no runtime of the process has.
    ///
    /// ```
    /// use pointsman::task::LocalSet;
    ///
    /// let (one, other) = (LocalSet::new(), LocalSet::new());
    /// assert_ne!(one.id(), other.id());
    /// assert_eq!(one.id(), one.id());
    /// ```
    pub fn id(&self) -> Id {
        self.shared.id
    }
}

impl Default for LocalSet {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").finish_non_exhaustive()
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        let _current = CurrentSetGuard::new(&self.shared);
        let own = &self.shared.own;
        // SAFETY: a `LocalSet` does not leave its thread, which owns the arena.
        without_block_in_place(|| unsafe { Arena::shut_down(self.arena) });
        let remote = lock(&self.shared.remote).take();
        remote.into_iter().flatten().for_each(Notified::give_up);
        loop {
            // Dropping an entry may wake another task.
            let Some(entry) = own.queue.borrow_mut().pop_front() else {
                break;
            };
            entry.give_up();
        }
        own.is_open.set(false);
        own.arena.set(None);
        // Task handles keep the set's memory, but need not keep the task that waited for the set.
        let waker = lock(&self.shared.waker).take();
        drop(waker);
        Listing::remove(&self.shared);
        // SAFETY: this thread owns the arena and does not use it afterwards: `own.arena` is `None`.
        unsafe { Arena::close(self.arena) };
    }
}
