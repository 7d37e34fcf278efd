//! A runtime of one thread, whose tasks need not be `Send`.

use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

use super::context;
use super::task::LocalSet;
use super::{Builder, EnterGuard, Handle, Runtime, RuntimeMetrics};
use crate::task::JoinHandle;

/// How a [`LocalRuntime`] is made. There is nothing to choose yet.
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

/// A runtime of the current thread with a [`LocalSet`] of its own: [`spawn_local`](crate::task::spawn_local)
/// works anywhere in it. It stays in its thread.
///
/// When it is dropped its tasks are, too. That waits for blocking work that has begun.
///
/// # Panics
/// When it is dropped in a task or in a `block_on`: use
/// [`shutdown_background`](Self::shutdown_background) there. The runtime ends all the same.
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
    // They go first.
    tasks: Tasks,
    runtime: Runtime,
}

/// Drops its tasks where their runtime is the current one.
struct Tasks {
    local: LocalSet,
    handle: Handle,
}

impl Drop for Tasks {
    fn drop(&mut self) {
        // Not where a thread ends, and the runtime with it.
        let _current = context::try_set_current(&self.handle);
        drop(mem::take(&mut self.local));
    }
}

impl LocalRuntime {
    /// A runtime with timers.
    ///
    /// # Errors
    /// None in practice; other runtimes may fail to start threads.
    ///
    /// ```
    /// # use pointsman::{runtime::LocalRuntime, time::{Duration, timeout}};
    /// let runtime = LocalRuntime::new()?;
    /// let answer = runtime.block_on(async { timeout(Duration::from_secs(1), async { 7 }).await });
    /// assert_eq!(answer, Ok(7));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Self> {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
    }

    pub(super) fn new_on(runtime: Runtime) -> Self {
        let tasks = Tasks {
            local: LocalSet::with_most_at_once(runtime.handle().shared.config.event_interval),
            handle: runtime.handle().clone(),
        };
        Self { tasks, runtime }
    }

    /// A reference to the runtime. What other threads spawn with it has to be `Send`.
    ///
    /// ```
    /// let runtime = pointsman::runtime::LocalRuntime::new()?;
    /// let handle = runtime.handle().clone();
    /// let thread = std::thread::spawn(move || handle.spawn(async { std::thread::current().id() }));
    /// // The task itself runs here.
    /// let task = thread.join().unwrap();
    /// assert_eq!(runtime.block_on(task).unwrap(), std::thread::current().id());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Starts a task that need not be `Send`. It runs when somebody blocks on a future.
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

    /// Runs what blocks in a thread for that; see [`spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// If no thread at all can be started.
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

    /// Blocks this thread until the future is ready, and runs the tasks meanwhile.
    ///
    /// # Panics
    /// In a task or in another `block_on`, and if the future panics.
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

    /// Makes the runtime the current one of this thread, also for [`spawn_local`](crate::task::spawn_local).
    /// Guards are dropped in the opposite order.
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

    /// Ends the runtime, and waits at most so long for blocking work, which goes on if it needs longer.
    ///
    /// # Panics
    /// In a task or in a `block_on`, unless the time is zero. The runtime ends all the same.
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
        // As in Tokio, tasks that are dropped from here on cannot start blocking work.
        runtime.handle().shared.blocking.close();
        drop(tasks);
        runtime.shutdown_timeout(duration);
    }

    /// Ends the runtime without waiting: blocking work that has begun goes on. May be used in a task.
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

    /// Figures of the runtime, without the tasks that are not `Send`.
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
