//! A current-thread runtime whose tasks need not be `Send`.

use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

use super::handle::{EnterGuard, Handle};
use super::metrics::RuntimeMetrics;
use super::runtime::Runtime;
use super::scheduler::context;
use super::task::local_set::LocalSet;
use crate::task::join::JoinHandle;

/// Options for a [`LocalRuntime`]. There are none yet.
///
/// ```
/// use pointsman::runtime::{Builder, LocalOptions};
///
/// let runtime = Builder::new_current_thread().build_local(LocalOptions::default())?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LocalOptions {
    _of_this_thread: PhantomData<*mut u8>,
}

/// A current-thread runtime on which [`spawn_local`](crate::task::spawn_local) works in every task, as in a [`LocalSet`]. It
/// cannot be sent to another thread.
///
/// Dropping the runtime drops its tasks, and waits for blocking functions that have begun.
///
/// # Panics
/// Dropping it in a task or in a `block_on` panics: call [`shutdown_background`](Self::shutdown_background) there. The
/// runtime shuts down in any case.
///
/// ```
/// use std::rc::Rc;
/// use pointsman::runtime::LocalRuntime;
///
/// let runtime = LocalRuntime::new()?;
/// let text = Rc::new("not to be sent");
/// let length = runtime.block_on(async move {
///     pointsman::task::spawn_local(async move { text.len() }).await.unwrap()
/// });
/// assert_eq!(length, 14);
/// # Ok::<_, std::io::Error>(())
/// ```
pub struct LocalRuntime {
    // Dropped before the runtime.
    tasks: Tasks,
    runtime: Runtime,
}

/// Drops the tasks with their runtime entered.
struct Tasks {
    local: LocalSet,
    handle: Handle,
}

impl Drop for Tasks {
    fn drop(&mut self) {
        // `None` if the runtime is dropped as a thread-local value of an ending thread.
        let _current = context::try_set_current(&self.handle.shared);
        drop(mem::take(&mut self.local));
    }
}

impl LocalRuntime {
    /// Creates a runtime with all drivers enabled.
    ///
    /// # Errors
    /// If the system provides no descriptors for I/O.
    ///
    /// ```
    /// # use pointsman::{runtime::LocalRuntime, time::{Duration, timeout}};
    /// let runtime = LocalRuntime::new()?;
    /// let answer = runtime.block_on(async { timeout(Duration::from_secs(1), async { 7 }).await });
    /// assert_eq!(answer, Ok(7));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Self> {
        super::Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
    }

    pub(super) fn new_on(runtime: Runtime) -> Self {
        let tasks = Tasks {
            local: LocalSet::of(&runtime.handle().shared),
            handle: runtime.handle().clone(),
        };
        Self { tasks, runtime }
    }

    /// Returns a handle to the runtime. Tasks that are spawned with it must be `Send`.
    ///
    /// ```
    /// let runtime = pointsman::runtime::LocalRuntime::new()?;
    /// let handle = runtime.handle().clone();
    /// let thread = std::thread::spawn(move || handle.spawn(async { std::thread::current().id() }));
    /// // The task itself runs on this thread.
    /// let task = thread.join().unwrap();
    /// assert_eq!(runtime.block_on(task).unwrap(), std::thread::current().id());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Spawns a task that need not be `Send`. Tasks run only during [`block_on`](Self::block_on).
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    ///
    /// let runtime = pointsman::runtime::LocalRuntime::new()?;
    /// let has_run = Rc::new(Cell::new(false));
    /// let task = runtime.spawn_local({
    ///     let has_run = Rc::clone(&has_run);
    ///     async move { has_run.set(true) }
    /// });
    /// assert!(!has_run.get());
    /// runtime.block_on(task).unwrap();
    /// assert!(has_run.get());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let _entered = self.runtime.enter();
        self.tasks.local.spawn_local(future)
    }

    /// Runs a blocking function on the blocking pool; see [`spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// If the pool has no thread and none can be started.
    ///
    /// ```
    /// let runtime = pointsman::runtime::LocalRuntime::new()?;
    /// let job = runtime.spawn_blocking(|| std::thread::current().id());
    /// assert_ne!(runtime.block_on(job).unwrap(), std::thread::current().id());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, function: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.runtime.spawn_blocking(function)
    }

    /// Runs a future to completion on this thread, and the tasks meanwhile.
    ///
    /// # Panics
    /// If called in a task or in another `block_on`, and if the future panics.
    ///
    /// ```
    /// use pointsman::task::spawn_local;
    ///
    /// let runtime = pointsman::runtime::LocalRuntime::new()?;
    /// let sum = runtime.block_on(async {
    ///     let (one, two) = (spawn_local(async { 1 }), spawn_local(async { 2 }));
    ///     one.await.unwrap() + two.await.unwrap()
    /// });
    /// assert_eq!(sum, 3);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let local = &self.tasks.local;
        let _local = local.enter();
        self.runtime.block_on(local.run_until(future))
    }

    /// Enters the runtime, also for [`spawn_local`](crate::task::spawn_local). Guards must be dropped in the reverse order of
    /// their creation.
    ///
    /// ```
    /// let runtime = pointsman::runtime::LocalRuntime::new()?;
    /// let guard = runtime.enter();
    /// let task = pointsman::task::spawn_local(async { 1 + 1 });
    /// drop(guard);
    /// assert_eq!(runtime.block_on(task).unwrap(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        let mut guard = self.runtime.enter();
        guard._local = Some(self.tasks.local.enter());
        guard
    }

    /// Shuts down the runtime and waits at most for `duration` for blocking functions, which continue if they take longer.
    ///
    /// # Panics
    /// If called in a task or in a `block_on`, unless `duration` is zero. The runtime shuts down in any case.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let runtime = pointsman::runtime::LocalRuntime::new()?;
    /// let task = runtime.spawn_local(std::future::pending::<()>());
    /// runtime.shutdown_timeout(Duration::from_secs(1));
    /// assert!(task.is_finished());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn shutdown_timeout(self, duration: Duration) {
        let Self { tasks, runtime } = self;
        // As in Tokio, the destructors of tasks cannot submit blocking functions from here on.
        runtime.handle().shared.blocking.close();
        drop(tasks);
        runtime.shutdown_timeout(duration);
    }

    /// Shuts down the runtime without waiting for blocking functions that have begun. May be called in a task.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let runtime = pointsman::runtime::LocalRuntime::new().unwrap();
    /// let task = runtime.spawn_local(std::future::pending::<()>());
    /// runtime.shutdown_background();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    /// Returns the metrics of the runtime. They do not include tasks of [`spawn_local`](Self::spawn_local).
    ///
    /// ```
    /// let runtime = pointsman::runtime::LocalRuntime::new()?;
    /// runtime.spawn_local(async {});
    /// runtime.handle().spawn(async {});
    /// assert_eq!(runtime.metrics().spawned_tasks_count(), 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        self.runtime.metrics()
    }
}

impl fmt::Debug for LocalRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRuntime")
            .field("handle", self.handle())
            .finish_non_exhaustive()
    }
}

impl UnwindSafe for LocalRuntime {}
impl RefUnwindSafe for LocalRuntime {}
