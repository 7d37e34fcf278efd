//! A reference to a runtime.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::sync::{Arc, MutexGuard};

use super::blocking::Refused;
#[cfg(feature = "reactor")]
use super::driver::{Interest, Reactor, RegisteredSource};
use super::error::TryCurrentError;
use super::id::Id;
use super::metrics::RuntimeMetrics;
use super::scheduler::Shared;
use super::scheduler::context::{self, Work};
use super::task::local_set::shared::LocalEnterGuard;
use super::task::spawn::spawn_on;
use crate::task::join::JoinHandle;
use crate::task::origin::SpawnSite;

/// A reference to a runtime, for spawning tasks from any thread. It does not keep the runtime running.
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

/// Keeps a runtime entered until it is dropped; see [`Handle::enter`].
///
/// # Panics
/// The drop panics if a guard that was created later has not been dropped.
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
    /// Set by a `LocalRuntime`. Entered last, so it is the first field and is dropped first.
    pub(super) _local: Option<LocalEnterGuard>,
    _current: context::CurrentGuard,
    /// Makes the guard `!Send`, like a lock guard.
    _handle: PhantomData<(&'a Handle, MutexGuard<'static, ()>)>,
}

// SAFETY: `EnterGuard` has no method that takes `&self` but `fmt`, which reads no field.
unsafe impl Sync for EnterGuard<'_> {}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

impl Handle {
    /// Enters the runtime: until the guard is dropped, [`spawn`](crate::spawn), timers, I/O and [`Handle::current`] on this
    /// thread use it. Guards must be dropped in the reverse order of their creation.
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
            _current: context::set_current(&self.shared),
            _handle: PhantomData,
        }
    }

    /// Returns a handle to the current runtime: the one that runs this task or `block_on`, or that was last
    /// [entered](Self::enter).
    ///
    /// # Panics
    /// If there is no current runtime.
    ///
    /// ```
    /// # use pointsman::runtime::Handle;
    /// # #[pointsman::main] async fn main() {
    /// let handle = Handle::current();
    /// // A thread outside of the runtime.
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

    /// Returns a handle to the current runtime; see [`current`](Self::current).
    ///
    /// # Errors
    /// If there is no current runtime, or the thread is ending.
    ///
    /// ```
    /// # use pointsman::runtime::{Handle, Runtime};
    /// assert!(Handle::try_current().is_err());
    /// let runtime = Runtime::new()?;
    /// assert!(runtime.block_on(async { Handle::try_current() }).is_ok());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn try_current() -> Result<Self, TryCurrentError> {
        context::with_current(|shared| Self {
            shared: Arc::clone(shared),
        })
        .ok_or_else(context::missing)
    }

    /// Spawns a task onto the runtime; see [`spawn`](crate::spawn). If the runtime has shut down, the task is cancelled.
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
        spawn_on(&self.shared, future, SpawnSite::caller())
    }

    /// Runs a blocking function on the blocking pool; see [`spawn_blocking`](crate::task::spawn_blocking). If the runtime
    /// has shut down, the function is dropped and the task is cancelled.
    ///
    /// # Panics
    /// If the pool has no thread and none can be started.
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
        let (joined, accepted) = self.shared.spawn_blocking(function, SpawnSite::caller());
        if let Err(Refused::NoThread(error)) = accepted {
            panic!("OS can't spawn worker thread: {error}");
        }
        joined
    }

    /// Runs a future to completion on this thread, which polls only that future.
    ///
    /// A current-thread runtime does not run its tasks, timers and I/O here, but only while a thread is in
    /// [`Runtime::block_on`](super::Runtime::block_on).
    ///
    /// # Panics
    /// If called in a task or in another `block_on`, or in the destructor of a task while a multi-thread runtime shuts
    /// down, and if the future panics. Blocking functions may call it, in
    /// [`spawn_blocking`](crate::task::spawn_blocking) and in [`block_in_place`](crate::task::block_in_place).
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
        let _current = context::set_current(&self.shared);
        let _seeded = self.shared.seed_block_on();
        #[cfg(feature = "tracing")]
        let future = crate::task::span::block_on(future, std::panic::Location::caller());
        // Not moved any further, since the future may be large.
        let future = pin!(future);
        if !is_worker {
            return context::with_work(Work::RunsAndMayBlock, || {
                context::block_on_unchecked(future)
            });
        }
        let work = match self.shared.is_current_thread() {
            true => Work::Runs,
            false => Work::RunsAndMayBlock,
        };
        context::with_work(work, || self.shared.block_on(future))
    }

    /// Returns the flavor of the runtime.
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

    /// Returns the name of the runtime, which [`Builder::name`](super::Builder::name) sets.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// assert_eq!(pointsman::runtime::Handle::current().name(), None);
    /// # }
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.shared.config.name.as_deref()
    }

    /// Returns the number of the runtime, which no other runtime of the process has or had.
    ///
    /// ```
    /// # use pointsman::runtime::Runtime;
    /// let (one, other) = (Runtime::new()?, Runtime::new()?);
    /// assert_eq!(one.handle().id(), one.handle().clone().id());
    /// assert_ne!(one.handle().id(), other.handle().id());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn id(&self) -> Id {
        self.shared.id
    }

    /// Returns the metrics of the runtime.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// assert_eq!(pointsman::runtime::Handle::current().metrics().num_workers(), 1);
    /// # }
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(Arc::clone(&self.shared))
    }

    // --- used by the modules for I/O ---

    /// Queues a function on the blocking pool. Also returns whether the pool accepted it.
    #[cfg(any(feature = "fs", feature = "io-std", all(windows, feature = "process")))]
    pub(crate) fn try_spawn_blocking<F, R>(
        &self,
        function: F,
    ) -> (JoinHandle<R>, Result<(), Refused>)
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.shared.spawn_blocking(function, SpawnSite::caller())
    }

    /// Registers an I/O source.
    ///
    /// # Errors
    /// If the runtime has shut down, or the system refuses the source.
    ///
    /// # Panics
    /// If I/O is not enabled.
    #[cfg(feature = "reactor")]
    #[track_caller]
    pub(crate) fn register(
        &self,
        source: &mut impl mio::event::Source,
        interest: Interest,
    ) -> std::io::Result<RegisteredSource> {
        let worker = self.shared.worker_index();
        let (source, is_first) = self.reactor().register(source, interest, worker)?;
        if is_first {
            self.shared.notify_driver();
        }
        Ok(source)
    }

    /// Calls `deliver` from now on whenever the pipe of signals is readable. `source` is that pipe, which lives as long as
    /// the process and is the same in each call. Errors and panics are those of [`register`](Self::register).
    #[cfg(all(unix, any(feature = "process", feature = "signal")))]
    #[track_caller]
    pub(crate) fn watch_signals(
        &self,
        source: &mut impl mio::event::Source,
        deliver: fn(),
    ) -> std::io::Result<()> {
        if self.reactor().watch_signals(source, deliver)? {
            self.shared.notify_driver();
        }
        Ok(())
    }

    #[cfg(all(unix, any(feature = "process", feature = "signal")))]
    pub(crate) fn has_io(&self) -> bool {
        self.shared.reactor().is_some()
    }

    #[cfg(feature = "reactor")]
    #[track_caller]
    fn reactor(&self) -> &Arc<Reactor> {
        let Some(reactor) = self.shared.reactor() else {
            panic!(
                "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime \
                 builder to enable IO. (The runtime is that of pointsman.)"
            );
        };
        reactor
    }
}

/// The flavor of a runtime.
///
/// ```
/// use pointsman::runtime::{Builder, RuntimeFlavor};
///
/// let runtime = Builder::new_multi_thread().build()?;
/// assert_eq!(runtime.handle().runtime_flavor(), RuntimeFlavor::MultiThread);
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// Tasks run on the thread that is in `block_on`.
    CurrentThread,
    /// Tasks run on several worker threads.
    MultiThread,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("id", &self.shared.id.0)
            .finish_non_exhaustive()
    }
}

impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}
