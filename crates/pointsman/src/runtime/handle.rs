//! A reference to a runtime.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::sync::{Arc, MutexGuard};

use super::blocking::Refused;
use super::context::{self, Work};
use super::metrics::RuntimeMetrics;
use super::scheduler::Shared;
use super::task::{self, LocalEnterGuard};
use super::{RuntimeFlavor, TryCurrentError};
use crate::task::{JoinHandle, Notified};
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
///
/// # Panics
/// When it is dropped before another that was made later.
///
/// ```
/// # use pointsman::runtime::{Handle, Runtime};
/// let (outer, inner) = (Runtime::new()?, Runtime::new()?);
/// let _outer_guard = outer.enter();
/// let inner_guard = inner.enter();
/// assert_eq!(Handle::current().id(), inner.handle().id());
/// drop(inner_guard);
/// assert_eq!(Handle::current().id(), outer.handle().id());
/// # Ok::<_, std::io::Error>(())
/// ```
#[must_use = "the runtime is the current one only until this is dropped"]
pub struct EnterGuard<'a> {
    /// Set for a `LocalRuntime`. Entered last, so it is the first field and drops first.
    pub(super) _local: Option<LocalEnterGuard>,
    _current: context::Current,
    /// Makes the guard `!Send`, like a lock guard.
    _handle: PhantomData<(&'a Handle, MutexGuard<'static, ()>)>,
}

// SAFETY: no method gives access to a field through `&self`.
unsafe impl Sync for EnterGuard<'_> {}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

impl Handle {
    /// Makes the runtime the current one of this thread, for [`spawn`](crate::spawn), timers, and
    /// [`Handle::current`]. Guards are dropped in the opposite order.
    ///
    /// # Panics
    /// If the thread is ending.
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
            _local: None,
            _current: context::set_current(self),
            _handle: PhantomData,
        }
    }

    /// The current runtime of this thread: that whose task or `block_on` runs, or that was
    /// [entered](Self::enter).
    ///
    /// # Panics
    /// If there is none.
    ///
    /// ```
    /// # use pointsman::runtime::Handle;
    /// # #[pointsman::main] async fn main() {
    /// let handle = Handle::current();
    /// // A thread that the runtime does not know.
    /// let thread = std::thread::spawn(move || handle.spawn(async { 1 + 1 }));
    /// assert_eq!(thread.join().unwrap().await.unwrap(), 2);
    /// # }
    /// ```
    #[track_caller]
    pub fn current() -> Self {
        match Self::try_current() {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// The current runtime of this thread; see [`current`](Self::current).
    ///
    /// # Errors
    /// If there is none, or the thread is ending.
    ///
    /// ```
    /// # use pointsman::runtime::{Handle, Runtime};
    /// assert!(Handle::try_current().is_err());
    /// let runtime = Runtime::new()?;
    /// assert!(runtime.block_on(async { Handle::try_current() }).is_ok());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn try_current() -> Result<Self, TryCurrentError> {
        context::with_current(Self::clone).ok_or_else(TryCurrentError::now)
    }

    /// Spawns a task; see [`spawn`](crate::spawn). If the runtime has ended, the task ends at once, cancelled.
    ///
    /// ```
    /// # use pointsman::runtime::Runtime;
    /// # #[pointsman::main] async fn main() {
    /// let runtime = Runtime::new().unwrap();
    /// let handle = runtime.handle().clone();
    /// assert_eq!(handle.spawn(async { 1 + 1 }).await.unwrap(), 2);
    ///
    /// runtime.shutdown_background();
    /// let late = handle.spawn(async { 1 + 1 });
    /// assert!(late.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        task::spawn_on(&self.shared, future)
    }

    /// Runs what blocks in a thread for that; see [`spawn_blocking`](crate::task::spawn_blocking). If the
    /// runtime has ended, the function is dropped and the task is cancelled.
    ///
    /// # Panics
    /// If no thread at all can be started.
    ///
    /// ```
    /// # use pointsman::runtime::Handle;
    /// # #[pointsman::main] async fn main() {
    /// let here = std::thread::current().id();
    /// let job = Handle::current().spawn_blocking(move || std::thread::current().id() != here);
    /// assert!(job.await.unwrap());
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, function: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        task::spawn_blocking_on(self, function)
    }

    /// Like [`spawn_blocking`](Self::spawn_blocking), for the runtime's own use.
    pub(super) fn run_blocking(
        &self,
        run: impl FnOnce(Handle) + Send + 'static,
    ) -> Result<(), Refused> {
        let handle = self.clone();
        task::try_spawn_blocking_on(self, move || run(handle)).1
    }

    /// Blocks this thread until the future is ready. This thread polls that future and nothing else.
    ///
    /// A runtime of the current thread runs its tasks and timers only while somebody is in
    /// [`Runtime::block_on`](super::Runtime::block_on), not in this.
    ///
    /// # Panics
    /// In a task or in another `block_on`, where a task is dropped at the end of a runtime of several threads, and if
    /// the future panics. Blocking work may use it, in [`spawn_blocking`](crate::task::spawn_blocking) and in
    /// [`block_in_place`](crate::task::block_in_place).
    ///
    /// ```
    /// # use pointsman::{runtime::Handle, sync::oneshot, task::spawn_blocking};
    /// # #[pointsman::main] async fn main() {
    /// let handle = Handle::current();
    /// let (tx, rx) = oneshot::channel();
    /// let job = spawn_blocking(move || handle.block_on(rx));
    /// tx.send(7).unwrap();
    /// assert_eq!(job.await.unwrap(), Ok(7));
    /// # }
    /// ```
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
        // Moved no further: it may be large.
        let future = pin!(future);
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
    ///
    /// ```
    /// # use pointsman::runtime::{Handle, RuntimeFlavor};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::CurrentThread);
    /// # }
    /// ```
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match self.shared.is_current_thread() {
            true => RuntimeFlavor::CurrentThread,
            false => RuntimeFlavor::MultiThread,
        }
    }

    /// The name that the runtime was given by [`Builder::name`](super::Builder::name).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// assert_eq!(pointsman::runtime::Handle::current().name(), None);
    /// # }
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.shared.config.name.as_deref()
    }

    /// The number of the runtime, which no other of the process has or had.
    ///
    /// ```
    /// # use pointsman::runtime::Runtime;
    /// let (one, other) = (Runtime::new()?, Runtime::new()?);
    /// assert_eq!(one.handle().id(), one.handle().clone().id());
    /// assert_ne!(one.handle().id(), other.handle().id());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn id(&self) -> super::Id {
        super::Id::new(self.shared.id)
    }

    /// Figures of the runtime.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// assert_eq!(pointsman::runtime::Handle::current().metrics().num_workers(), 1);
    /// # }
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }

    pub(crate) fn is_local(&self) -> bool {
        self.shared.config.is_local
    }

    pub(super) fn driver(&self) -> Option<&Arc<time::Driver>> {
        self.shared.time()
    }

    /// Queues a blocking job.
    pub(crate) fn submit(&self, job: Notified) -> Result<(), Refused> {
        self.shared.blocking.submit(self, job)
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
