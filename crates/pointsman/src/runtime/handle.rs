//! A reference to a runtime.

use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, MutexGuard};

use super::context::{self, Work};
use super::metrics::RuntimeMetrics;
use super::scheduler::Shared;
use super::{RuntimeFlavor, TryCurrentError};
use crate::task::{self, Entry, JoinHandle};
use crate::time;

/// A reference to a runtime: it can spawn tasks, and be kept by any thread. It does not keep the runtime
/// running.
///
/// ```
/// let runtime = pointsman::runtime::Runtime::new()?;
/// let handle = runtime.handle().clone();
/// let thread = std::thread::spawn(move || handle.block_on(async { 1 + 1 }));
/// assert_eq!(thread.join().unwrap(), 2);
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    pub(super) shared: Arc<Shared>,
}

/// Makes a runtime the current one of this thread until it is dropped; see [`Handle::enter`].
#[must_use = "the runtime is the current one only until this is dropped"]
pub struct EnterGuard<'a> {
    _current: context::Current,
    /// It belongs to the thread, as a guard of a lock does. Others may look at it.
    _handle: PhantomData<(&'a Handle, MutexGuard<'static, ()>)>,
}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

impl Handle {
    /// Makes the runtime the current one of this thread, for [`spawn`](crate::spawn), timers, and
    /// [`Handle::current`]. Guards are dropped in the opposite order.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Runtime::new()?;
    /// let _guard = runtime.handle().enter();
    /// let task = pointsman::spawn(async { 1 + 1 });
    /// assert_eq!(runtime.block_on(task).unwrap(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard {
            _current: context::set_current(self),
            _handle: PhantomData,
        }
    }

    /// The current runtime of this thread.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn current() -> Self {
        match Self::try_current() {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// The current runtime of this thread.
    ///
    /// # Errors
    /// If there is none, or the thread is ending.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        context::with_current(Self::clone).ok_or_else(TryCurrentError::now)
    }

    /// Spawns a task; see [`spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        task::spawn_on(&self.shared, future)
    }

    /// Runs what blocks in a thread for that; see [`spawn_blocking`](crate::task::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, function: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        task::spawn_blocking_on(self, function)
    }

    /// As [`spawn_blocking`](Self::spawn_blocking), for the runtime itself: later if no thread can be had now.
    pub(super) fn run_blocking(&self, run: impl FnOnce(Handle) + Send + 'static) {
        let handle = self.clone();
        drop(task::try_spawn_blocking_on(self, move || run(handle)));
    }

    /// Blocks this thread until the future is ready.
    ///
    /// The tasks of a runtime of several threads may run in this thread meanwhile. A runtime of the current
    /// thread runs its tasks and timers only while somebody is in [`Runtime::block_on`](super::Runtime::block_on),
    /// not in this.
    ///
    /// # Panics
    /// In a task or in another `block_on`, and if the future panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let is_worker = !self.shared.is_current_thread();
        self.block(future, is_worker)
    }

    #[track_caller]
    pub(super) fn block<F: Future>(&self, future: F, is_worker: bool) -> F::Output {
        assert!(
            context::work() == Work::None,
            "Cannot start a runtime from within a runtime. This happens because a function (like `block_on`) \
             attempted to block the current thread while the thread is being used to drive asynchronous tasks. \
             If you are in an async function, use `.await` on the future instead of blocking on it."
        );
        let _current = context::set_current(self);
        if !is_worker {
            return context::with_work(Work::RunsAndMayBlock, || {
                context::block_in_any_case(future)
            });
        }
        let work = match self.shared.is_current_thread() {
            true => Work::Runs,
            false => Work::RunsAndMayBlock,
        };
        context::with_work(work, || self.shared.block_on(future))
    }

    /// What kind of runtime it is.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match self.shared.is_current_thread() {
            true => RuntimeFlavor::CurrentThread,
            false => RuntimeFlavor::MultiThread,
        }
    }

    /// The name that the runtime was given.
    pub fn name(&self) -> Option<&str> {
        self.shared.config.name.as_deref()
    }

    /// The number of the runtime, which no other of the process has or had.
    pub fn id(&self) -> super::Id {
        super::Id::new(self.shared.id)
    }

    /// Figures of the runtime.
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }

    pub(crate) fn is_local(&self) -> bool {
        self.shared.config.is_local
    }

    pub(crate) fn driver(&self) -> Option<&time::Driver> {
        self.shared.driver.as_ref()
    }

    /// There is a timer that fires before all others.
    pub(crate) fn timer_is_earlier(&self) {
        if let Some(after) = self.driver().and_then(time::Driver::until_next) {
            self.shared.timer_is_earlier(after);
        }
    }

    /// Puts a job in the queue of those that block. An error if no thread at all can be had.
    pub(crate) fn submit(&self, job: Entry) -> Option<io::Error> {
        self.shared.blocking.submit(self, job)
    }

    /// Lets another thread work while this one runs what blocks.
    pub(crate) fn step_aside<R>(&self, run: impl FnOnce() -> R) -> R {
        self.shared.step_aside(run)
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("id", &self.shared.id)
            .finish_non_exhaustive()
    }
}

impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}
