//! A runtime of one thread, whose tasks need not be `Send`.

use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

use super::context;
use super::{Builder, EnterGuard, Handle, Runtime, RuntimeMetrics};
use crate::task::{JoinHandle, LocalEnterGuard, LocalSet};

/// How a [`LocalRuntime`] is made. There is nothing to choose yet.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LocalOptions {
    _of_this_thread: PhantomData<*mut u8>,
}

/// A runtime of the current thread with a [`LocalSet`] of its own: [`spawn_local`](crate::task::spawn_local)
/// works anywhere in it. It stays in its thread.
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
    pub fn new() -> io::Result<Self> {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
    }

    pub(super) fn new_on(runtime: Runtime) -> Self {
        let tasks = Tasks {
            local: LocalSet::new(),
            handle: runtime.handle().clone(),
        };
        Self { tasks, runtime }
    }

    /// A reference to the runtime. What other threads spawn with it has to be `Send`.
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Starts a task that need not be `Send`. It runs when somebody blocks on a future.
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
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let local = &self.tasks.local;
        let _local = local.enter();
        self.runtime.block_on(local.run_until(future))
    }

    /// Makes the runtime the current one of this thread, also for [`spawn_local`](crate::task::spawn_local).
    pub fn enter(&self) -> LocalRuntimeGuard<'_> {
        LocalRuntimeGuard {
            _local: self.tasks.local.enter(),
            _runtime: self.runtime.enter(),
        }
    }

    /// Ends the runtime, and waits at most so long for blocking work.
    #[track_caller]
    pub fn shutdown_timeout(self, duration: Duration) {
        let Self { tasks, runtime } = self;
        drop(tasks);
        runtime.shutdown_timeout(duration);
    }

    /// Ends the runtime without waiting.
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    /// Figures of the runtime, without the tasks that are not `Send`.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.runtime.metrics()
    }
}

/// Makes a [`LocalRuntime`] the current one until it is dropped.
#[must_use = "the runtime is the current one only until this is dropped"]
pub struct LocalRuntimeGuard<'a> {
    _local: LocalEnterGuard,
    _runtime: EnterGuard<'a>,
}

impl fmt::Debug for LocalRuntimeGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRuntimeGuard").finish_non_exhaustive()
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
