//! The part of a [`LocalSet`](super::LocalSet) that its tasks and other threads share, and the current set of a thread.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use super::super::super::id::Id;
use super::super::super::scheduler::context::with_current;
use super::super::super::scheduler::{Shared, Slot};
use super::list::Listing;
#[cfg(feature = "test-util")]
use crate::context;
use crate::context::{Work, thread_number, with_work, work};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::task::arena::{Arena, Schedule};
use crate::task::body::is_large;
use crate::task::join::JoinHandle;
use crate::task::origin::SpawnSite;
use crate::task::raw::{Notified, RawTask};

pub(in crate::runtime::task) struct LocalShared {
    pub(super) id: Id,
    /// The runtime whose tasks these are.
    runtime: Option<Arc<Shared>>,
    /// The number of the thread that created the set.
    pub(super) owner: usize,
    pub(super) listing: Listing,
    pub(super) own: Own,
    /// Tasks that other threads have woken. `None` after the set was dropped.
    pub(super) remote: Mutex<Option<VecDeque<Notified>>>,
    pub(super) waker: Mutex<Option<Waker>>,
}

/// State that only the owner's thread uses.
pub(super) struct Own {
    pub(super) queue: RefCell<VecDeque<Notified>>,
    /// The number of tasks that are not complete.
    pub(super) alive: Cell<usize>,
    pub(super) is_open: Cell<bool>,
    /// Whether the panic of a task ends the set.
    pub(super) ends_with_panic: Cell<bool>,
    has_panicked: Cell<bool>,
    pub(super) arena: Cell<Option<NonNull<Arena<Arc<LocalShared>>>>>,
}

impl Own {
    /// # Panics
    /// If the panic of a task has ended the set.
    #[track_caller]
    pub(super) fn fail_if_panicked(&self) {
        assert!(
            !self.has_panicked.get(),
            "a spawned task panicked and the LocalSet is configured to shutdown on unhandled panic"
        );
    }

    /// Takes the task that runs next.
    pub(super) fn next(&self) -> Option<Notified> {
        let mut queue = self.queue.borrow_mut();
        #[cfg(feature = "test-util")]
        if context::explores() && !queue.is_empty() {
            let chosen = context::explore_below(queue.len());
            return queue.remove(chosen);
        }
        queue.pop_front()
    }
}

// SAFETY: all fields but `own` and `listing` are `Send`. `listing` has the address of the arena, whose functions for
// other threads are called under its lock. `own` is used only after `is_own_thread`, or by a `LocalSet` or the current
// set, which do not leave their thread; when the last reference is dropped elsewhere, `LocalSet::drop` has emptied it.
unsafe impl Send for LocalShared {}
// SAFETY: all fields but `own` and `listing` are `Sync`, and only the thread of the set uses `own`; see `Send` above.
unsafe impl Sync for LocalShared {}

impl LocalShared {
    /// A set of this thread, without an arena.
    pub(super) fn new(runtime: Option<Arc<Shared>>) -> Self {
        Self {
            id: Id::next(),
            owner: thread_number(),
            listing: Listing::new(runtime.as_ref().map(|runtime| runtime.id)),
            runtime,
            own: Own {
                queue: RefCell::new(VecDeque::new()),
                alive: Cell::new(0),
                is_open: Cell::new(true),
                ends_with_panic: Cell::new(false),
                has_panicked: Cell::new(false),
                arena: Cell::new(None),
            },
            remote: Mutex::new(Some(VecDeque::new())),
            waker: Mutex::new(None),
        }
    }

    /// The runtime and the slot that count the polls of the tasks, if any.
    pub(super) fn observer(&self) -> Option<(&Shared, &Slot)> {
        let runtime = self.runtime.as_deref()?;
        Some((runtime, runtime.slots.first()?))
    }

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
        // `self` is the arena's reference, which may be dropped with the task as soon as the owner can run it.
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
        // The owner's thread alone runs and drops the tasks.
        self.own.alive.set(self.own.alive.get() - 1);
    }

    fn ended(&self, task: RawTask) {
        if let Some(runtime) = &self.runtime {
            runtime.call_terminate_hook(task);
        }
    }

    fn panicked(&self) {
        if let Some(runtime) = &self.runtime {
            runtime.task_panicked();
        }
        if self.own.ends_with_panic.get() {
            self.own.has_panicked.set(true);
            if let Some(arena) = self.own.arena.get() {
                // SAFETY: the owner's thread alone polls the tasks, and it owns the arena, which is open while it is
                // here.
                unsafe { Arena::shut_down(arena) };
            }
        }
    }

    fn owns(arena: NonNull<Arena<Self>>) -> bool {
        // SAFETY: the caller has a task of this arena, which keeps the arena alive.
        let shared = unsafe { arena.as_ref() }.scheduler();
        shared.is_own_thread() && shared.own.is_open.get()
    }
}

std::thread_local! {
    /// The set that runs a task on this thread, or that was entered.
    static CURRENT: RefCell<Option<Arc<LocalShared>>> = const { RefCell::new(None) };
}

/// Restores the previous current set when it is dropped.
pub(super) struct CurrentSetGuard(Option<Arc<LocalShared>>);

/// Runs a function in which `block_in_place` panics, since no other thread could run the tasks of the set meanwhile.
pub(super) fn without_block_in_place<R>(run: impl FnOnce() -> R) -> R {
    match work() {
        Work::RunsAndMayBlock => with_work(Work::Runs, run),
        Work::Runs | Work::None => run(),
    }
}

impl CurrentSetGuard {
    pub(super) fn new(shared: &Arc<LocalShared>) -> Self {
        let before = CURRENT.try_with(|current| current.replace(Some(Arc::clone(shared))));
        Self(before.unwrap_or(None))
    }
}

impl Drop for CurrentSetGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        let _ = CURRENT.try_with(|current| drop(current.replace(before)));
    }
}

/// Spawns a task onto the current [`LocalSet`](super::LocalSet): the one that runs this task or future, or that was last
/// entered. The task need not be `Send`.
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
/// If called outside of a `LocalSet` and of a [`LocalRuntime`](crate::runtime::LocalRuntime).
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    spawn_in(&current_set(), future, SpawnSite::caller())
}

/// # Panics
/// If there is no current set.
#[track_caller]
pub(in crate::runtime::task) fn current_set() -> Arc<LocalShared> {
    let shared = CURRENT.try_with(|current| current.borrow().clone());
    match shared.ok().flatten() {
        Some(shared) => shared,
        None if with_current(|shared| shared.config.is_local) == Some(true) => panic!(
            "Local tasks can only be spawned on a LocalRuntime from the thread the runtime was created on"
        ),
        None => panic!(
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`"
        ),
    }
}

pub(in crate::runtime::task) fn spawn_in<F>(
    shared: &Arc<LocalShared>,
    future: F,
    mut site: SpawnSite<'_>,
) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    site.span.set_size::<F>();
    if is_large::<F>() {
        spawn_small_in(shared, Box::pin(future), site)
    } else {
        spawn_small_in(shared, future, site)
    }
}

fn spawn_small_in<F>(
    shared: &Arc<LocalShared>,
    future: F,
    mut site: SpawnSite<'_>,
) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    // Tokio's local runtimes have no set.
    if shared.runtime.is_none() {
        site.span.set_local();
    }
    let future = site.traced(future);
    let arena_of_set = shared.own.arena.get();
    let arena = arena_of_set.unwrap_or_else(|| {
        // The set was dropped: the task is cancelled at once, in an arena of its own.
        Arena::new(Arc::clone(shared))
    });
    // SAFETY: this is the set's thread, which owns the arena: a `LocalSet` and the current set do not leave it.
    let task = unsafe { RawTask::new(arena, future, false, site) };
    shared.own.alive.set(shared.own.alive.get() + 1);
    if let Some(runtime) = &shared.runtime {
        let _alive = runtime.call_spawn_hook(task);
    }
    // SAFETY: a new task has three references, and this is the only one that becomes a `JoinHandle`.
    let handle = unsafe { JoinHandle::new(task) };
    // SAFETY: the new task keeps the arena alive, and this thread owns it.
    let is_shut_down = unsafe { arena.as_ref().is_shut_down() } || !shared.own.is_open.get();
    // SAFETY: the task is new, and is in no queue.
    unsafe { task.begin(is_shut_down) };
    // Not read again: user code that `begin` has run may have dropped the set.
    if arena_of_set.is_none() {
        // SAFETY: the arena was created above, and only this thread knows it.
        unsafe { Arena::close(arena) };
    }
    handle
}

/// Keeps a local set entered until it is dropped; see [`LocalSet::enter`](super::LocalSet::enter).
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
    _current: CurrentSetGuard,
    _not_send: PhantomData<Rc<()>>,
}

impl LocalEnterGuard {
    pub(super) fn new(shared: &Arc<LocalShared>) -> Self {
        Self {
            _current: CurrentSetGuard::new(shared),
            _not_send: PhantomData,
        }
    }
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish_non_exhaustive()
    }
}
