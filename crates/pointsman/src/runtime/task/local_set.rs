//! Tasks that stay in one thread, and so need not be `Send`.
//!
//! Invariants:
//! - Futures of a local set are polled and dropped in the thread that made the set, which alone touches its
//!   own queue and arena. Others bring woken tasks over `remote`.
//! - A set that has tasks to run is polled, or its waker was woken.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;

use super::super::context::with_current;
use super::super::{Handle, Id, Runtime};
use crate::context::{Work, thread_number, with_work, work};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::task::{self, Arena, JoinHandle, Notified, RawTask, Schedule, coop};

/// The number of tasks that the set runs before it yields. In a [`LocalRuntime`](crate::runtime::LocalRuntime), its
/// `event_interval`.
const MOST_AT_ONCE: u32 = 61;
/// Tasks after which a look is taken at what other threads have brought.
const REMOTE_INTERVAL: u32 = 31;

/// A set of tasks that run in the thread that made it: they need not be `Send`. They run while the set is
/// awaited, or a future is with [`run_until`](Self::run_until) or [`block_on`](Self::block_on). Awaiting the
/// set itself waits until all its tasks have ended.
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
    most_at_once: u32,
    _of_this_thread: PhantomData<Rc<()>>,
}

struct LocalShared {
    id: Id,
    owner: usize,
    own: Own,
    /// `None` when the set has gone.
    remote: Mutex<Option<VecDeque<Notified>>>,
    waker: Mutex<Option<Waker>>,
}

/// What only the owner touches.
struct Own {
    queue: RefCell<VecDeque<Notified>>,
    alive: Cell<usize>,
    is_open: Cell<bool>,
    arena: Cell<Option<NonNull<Arena<Arc<LocalShared>>>>>,
}

// SAFETY: `own` is touched by the owner's thread alone.
unsafe impl Send for LocalShared {}
// SAFETY: as above.
unsafe impl Sync for LocalShared {}

impl LocalShared {
    fn is_own_thread(&self) -> bool {
        self.owner == thread_number()
    }

    fn wake_set(&self) {
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Schedule for Arc<LocalShared> {
    fn schedule(&self, entry: Notified) {
        if self.is_own_thread() && self.own.is_open.get() {
            self.own.queue.borrow_mut().push_back(entry);
            self.wake_set();
            return;
        }
        // This reference is the arena's: it may go with the task.
        let shared = Arc::clone(self);
        let mut remote = lock(&shared.remote);
        let Some(entries) = remote.as_mut() else {
            drop(remote);
            entry.give_up();
            return;
        };
        entries.push_back(entry);
        drop(remote);
        shared.wake_set();
    }

    fn completed(&self) {
        // Only the owner runs or drops its tasks.
        self.own.alive.set(self.own.alive.get() - 1);
    }

    fn owns(arena: NonNull<Arena<Self>>) -> bool {
        // SAFETY: a task keeps its arena.
        let shared = unsafe { arena.as_ref() }.scheduler();
        shared.is_own_thread() && shared.own.is_open.get()
    }
}

std::thread_local! {
    /// The set whose tasks run, or that was entered.
    static CURRENT: RefCell<Option<Arc<LocalShared>>> = const { RefCell::new(None) };
}

/// Sets the current set back when it is dropped.
struct Current(Option<Arc<LocalShared>>);

/// Runs what belongs to a set: the thread cannot be left to others meanwhile, as the tasks cannot go there.
fn in_place<R>(run: impl FnOnce() -> R) -> R {
    match work() {
        Work::RunsAndMayBlock => with_work(Work::Runs, run),
        Work::Runs | Work::None => run(),
    }
}

impl Current {
    fn set(shared: Option<&Arc<LocalShared>>) -> Self {
        let before = CURRENT.try_with(|current| current.replace(shared.map(Arc::clone)));
        Self(before.unwrap_or(None))
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let before = self.0.take();
        let _ = CURRENT.try_with(|current| drop(current.replace(before)));
    }
}

/// Starts a task in the current [`LocalSet`]: that whose task or future runs, or that was entered.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::task;
///
/// let local = task::LocalSet::new();
/// let sum = local.run_until(async {
///     task::spawn_local(async { 1 + 1 }).await.unwrap()
/// });
/// assert_eq!(sum.await, 2);
/// # }
/// ```
///
/// # Panics
/// Outside of a `LocalSet` and of a [`LocalRuntime`](crate::runtime::LocalRuntime).
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let shared = CURRENT.try_with(|current| current.borrow().clone());
    match shared.ok().flatten() {
        Some(shared) => spawn_in(&shared, future),
        None if with_current(Handle::is_local) == Some(true) => panic!(
            "Local tasks can only be spawned on a LocalRuntime from the thread the runtime was created on"
        ),
        None => panic!(
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`"
        ),
    }
}

fn spawn_in<F>(shared: &Arc<LocalShared>, future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    if task::is_large::<F>() {
        spawn_small_in(shared, Box::pin(future))
    } else {
        spawn_small_in(shared, future)
    }
}

fn spawn_small_in<F>(shared: &Arc<LocalShared>, future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let arena_of_set = shared.own.arena.get();
    let arena = arena_of_set.unwrap_or_else(|| {
        // The set has gone: the task goes with an arena of its own.
        Arena::new(Arc::clone(shared))
    });
    // SAFETY: a set is current in its own thread only, which owns the arena.
    let task = unsafe { RawTask::new(arena, future, false) };
    shared.own.alive.set(shared.own.alive.get() + 1);
    // SAFETY: the third reference of a new task.
    let handle = unsafe { JoinHandle::new(task) };
    // SAFETY: as above.
    let is_over = unsafe { arena.as_ref().is_shut_down() } || !shared.own.is_open.get();
    // SAFETY: the task was just made.
    unsafe { task.begin(is_over) };
    // As it was then: what is woken or dropped meanwhile may have dropped the set.
    if arena_of_set.is_none() {
        // SAFETY: made above, for this task alone.
        unsafe { Arena::close(arena) };
    }
    handle
}

/// Makes a [`LocalSet`] the current one until it is dropped; see [`LocalSet::enter`].
///
/// ```
/// # use pointsman::task::{LocalSet, spawn_local};
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let local = LocalSet::new();
/// let guard = local.enter();
/// let task = spawn_local(async { 1 + 1 });
/// drop(guard);
/// assert_eq!(local.run_until(task).await.unwrap(), 2);
/// # }
/// ```
#[must_use = "the set is the current one only until this is dropped"]
pub struct LocalEnterGuard {
    _current: Current,
    _of_this_thread: PhantomData<Rc<()>>,
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish_non_exhaustive()
    }
}

impl LocalSet {
    /// A set without tasks, of this thread. No runtime is needed to make one.
    ///
    /// ```
    /// # use pointsman::task::LocalSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let local = LocalSet::new();
    /// let task = local.spawn_local(async { 1 + 1 });
    /// // Waits until all tasks have ended.
    /// local.await;
    /// assert!(task.is_finished());
    /// # }
    /// ```
    pub fn new() -> Self {
        Self::with_most_at_once(MOST_AT_ONCE)
    }

    /// Returns a set that yields after this many tasks.
    pub(in crate::runtime) fn with_most_at_once(most_at_once: u32) -> Self {
        let shared = Arc::new(LocalShared {
            id: Id::unused(),
            owner: thread_number(),
            own: Own {
                queue: RefCell::new(VecDeque::new()),
                alive: Cell::new(0),
                is_open: Cell::new(true),
                arena: Cell::new(None),
            },
            remote: Mutex::new(Some(VecDeque::new())),
            waker: Mutex::new(None),
        });
        let arena = Arena::new(Arc::clone(&shared));
        shared.own.arena.set(Some(arena));
        Self {
            shared,
            arena,
            most_at_once,
            _of_this_thread: PhantomData,
        }
    }

    /// Makes this the current set, for [`spawn_local`].
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
        LocalEnterGuard {
            _current: Current::set(Some(&self.shared)),
            _of_this_thread: PhantomData,
        }
    }

    /// Starts a task in this set. It runs when the set does.
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
        spawn_in(&self.shared, future)
    }

    /// Blocks this thread on a future, and runs the tasks of the set meanwhile.
    ///
    /// # Panics
    /// As [`Runtime::block_on`](crate::runtime::Runtime::block_on).
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

    /// Runs the tasks of the set until the future is ready. Others go on when the set is run again.
    ///
    /// Cancel safe: if it is dropped, the tasks go on when the set is run again.
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

    /// Runs what is queued, for a while. Whether something is left.
    fn run(&self) -> bool {
        let own = &self.shared.own;
        for turn in 0..self.most_at_once {
            let mut entry = None;
            if turn % REMOTE_INTERVAL != REMOTE_INTERVAL - 1 {
                entry = own.queue.borrow_mut().pop_front();
            }
            if entry.is_none() {
                self.fetch();
                entry = own.queue.borrow_mut().pop_front();
            }
            let Some(entry) = entry else {
                // SAFETY: this is the owner's thread.
                unsafe { self.arena.as_ref().collect() };
                return false;
            };
            if let Some(again) = in_place(|| entry.run()) {
                own.queue.borrow_mut().push_back(again);
            }
        }
        true
    }

    /// Queues what other threads have brought.
    fn fetch(&self) {
        let brought = lock(&self.shared.remote).as_mut().map(mem::take);
        let mut queue = self.shared.own.queue.borrow_mut();
        queue.extend(brought.into_iter().flatten());
    }

    fn register(&self, cx: &Context<'_>) {
        let known = lock(&self.shared.waker);
        if known
            .as_ref()
            .is_some_and(|known| known.will_wake(cx.waker()))
        {
            return;
        }
        drop(known);
        // Without the lock: a waker may do anything when it is cloned or dropped. What it queues is seen by the
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
        let _current = Current::set(Some(&self.shared));
        if self.run() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.shared.own.alive.get() {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
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
        let _current = Current::set(Some(&this.set.shared));
        if let Poll::Ready(output) = in_place(|| coop::budget(|| this.future.poll(cx))) {
            return Poll::Ready(output);
        }
        if this.set.run() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl LocalSet {
    /// The number of the set, which no other set and no runtime of the process has.
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
        let _current = Current::set(Some(&self.shared));
        let own = &self.shared.own;
        // SAFETY: this is the owner's thread.
        in_place(|| unsafe { Arena::shut_down(self.arena) });
        let remote = lock(&self.shared.remote).take();
        remote.into_iter().flatten().for_each(Notified::give_up);
        loop {
            // What a task drops may wake another.
            let Some(entry) = own.queue.borrow_mut().pop_front() else {
                break;
            };
            entry.give_up();
        }
        own.is_open.set(false);
        own.arena.set(None);
        // Handles of its tasks keep the set's memory, but not whoever has waited for it.
        let waker = lock(&self.shared.waker).take();
        drop(waker);
        // SAFETY: this thread was the owner, and is not any more.
        unsafe { Arena::close(self.arena) };
    }
}
