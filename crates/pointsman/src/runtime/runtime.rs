//! A runtime and its shutdown.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::blocking::has_ended_by;
use super::config::Config;
use super::driver::Reactor;
use super::handle::{EnterGuard, Handle};
use super::id::Id;
use super::metrics::RuntimeMetrics;
use super::scheduler::context::{self, Work};
use super::scheduler::{Alarm, Shared};
use crate::loom::thread;
use crate::task::join::JoinHandle;
use crate::time;

/// An async runtime: runs tasks, drives timers and I/O, and runs blocking functions on a thread pool.
///
/// # Shutdown
///
/// Dropping the runtime shuts it down: its threads end and its tasks are dropped, a running task at its next `.await`. The
/// drop waits for all blocking functions that were submitted before, running or queued, and for those that the
/// destructors of tasks submit. So data that [`fs`](crate::fs) and the standard streams have accepted is written.
/// [`shutdown_timeout`](Self::shutdown_timeout) waits for a limited time and
/// [`shutdown_background`](Self::shutdown_background) does not wait; both accept no further blocking functions.
///
/// # Panics
/// Dropping a runtime in a task or in a `block_on` panics: call `shutdown_background` there, or drop the runtime in
/// [`spawn_blocking`](crate::task::spawn_blocking), which may be its own. The runtime shuts down in any case.
///
/// ```
/// let runtime = pointsman::runtime::Runtime::new()?;
/// runtime.block_on(async {
///     pointsman::spawn(async { println!("in a task") }).await.unwrap();
/// });
/// # Ok::<_, std::io::Error>(())
/// ```
pub struct Runtime {
    handle: Handle,
    workers: Vec<thread::JoinHandle<()>>,
    has_ended: bool,
}

impl Runtime {
    /// Creates a multi-thread runtime with all drivers enabled; see
    /// [`Builder::new_multi_thread`](super::Builder::new_multi_thread).
    ///
    /// # Errors
    /// If a worker thread cannot be started.
    ///
    /// # Panics
    /// If the environment variable `TOKIO_WORKER_THREADS` is not a number above 0.
    ///
    /// ```
    /// use pointsman::runtime::{Runtime, RuntimeFlavor};
    ///
    /// let runtime = Runtime::new()?;
    /// assert_eq!(runtime.handle().runtime_flavor(), RuntimeFlavor::MultiThread);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Self> {
        super::Builder::new_multi_thread().enable_all().build()
    }

    pub(super) fn start(
        config: Config,
        enable_time: bool,
        start_paused: bool,
        io: Option<(Arc<Reactor>, Alarm)>,
    ) -> io::Result<Self> {
        let workers = config.worker_threads;
        let time = |waiter: Weak<Shared>| {
            enable_time.then(|| match workers {
                0 => time::Driver::new(start_paused, waiter),
                _ => time::Driver::unpausable(workers, waiter),
            })
        };
        let shared = Shared::new(Id::next(), config, time, io);
        #[cfg(all(unix, feature = "diagnostics", feature = "signal"))]
        if let Some(signal) = shared.config.dump_signal {
            super::dump::signal::watch(signal, &shared);
        }
        let handle = Handle { shared };
        let mut runtime = Self {
            handle,
            workers: Vec::new(),
            has_ended: false,
        };
        for index in 0..runtime.handle.shared.config.worker_threads {
            // If a thread cannot be started, the drop of `runtime` ends the earlier ones.
            let shared = &runtime.handle.shared;
            match shared.start_thread(move |shared| shared.run_worker(index)) {
                Ok(worker) => runtime.workers.push(worker),
                Err(error) => {
                    runtime.handle.shared.close_slots_from(index);
                    return Err(error);
                }
            }
        }
        Ok(runtime)
    }

    /// Returns a handle to the runtime.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Runtime::new()?;
    /// let handle = runtime.handle().clone();
    /// // Any thread may spawn tasks with it.
    /// let thread = std::thread::spawn(move || handle.spawn(async { 1 + 1 }));
    /// assert_eq!(runtime.block_on(thread.join().unwrap()).unwrap(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Enters the runtime; see [`Handle::enter`].
    ///
    /// ```
    /// # use pointsman::runtime::{Handle, Runtime};
    /// let runtime = Runtime::new()?;
    /// let guard = runtime.enter();
    /// assert_eq!(Handle::current().id(), runtime.handle().id());
    /// drop(guard);
    /// assert!(Handle::try_current().is_err());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Spawns a task onto the runtime; see [`spawn`](crate::spawn). In a current-thread runtime, tasks run only while a
    /// thread is in [`block_on`](Self::block_on).
    ///
    /// ```
    /// let runtime = pointsman::runtime::Runtime::new()?;
    /// let task = runtime.spawn(async { 1 + 1 });
    /// assert_eq!(runtime.block_on(task).unwrap(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs a blocking function on the blocking pool; see [`spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// If the pool has no thread and none can be started.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let runtime = pointsman::runtime::Runtime::new()?;
    /// let (tx, rx) = mpsc::channel();
    /// let job = runtime.spawn_blocking(move || rx.recv());
    /// tx.send("came").unwrap();
    /// assert_eq!(runtime.block_on(job).unwrap(), Ok("came"));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, function: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(function)
    }

    /// Runs a future to completion on this thread. The future is not a task: it need not be `Send`.
    ///
    /// In a multi-thread runtime this thread polls only the future, which no task can delay; tasks that the future spawns
    /// run on the workers. In a current-thread runtime this thread also runs the tasks; if several threads call `block_on`
    /// at once, one of them does.
    ///
    /// # Panics
    /// If called in a task or in another `block_on`, and if the future panics.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Runtime::new()?;
    /// let words = vec!["borrowed", "by", "the", "future"];
    /// let count = runtime.block_on(async { words.len() });
    /// assert_eq!(count, 4);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block(future, true)
    }

    /// Shuts down the runtime and waits at most for `duration`: for tasks until their next `.await`, and for blocking
    /// functions, running or queued. Functions that have not ended by then continue on their threads.
    ///
    /// # Panics
    /// If called in a task or in a `block_on`, unless `duration` is zero. The runtime shuts down in any case.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// let runtime = pointsman::runtime::Runtime::new()?;
    /// let ((begins, begun), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
    /// let job = runtime.spawn_blocking(move || {
    ///     begins.send(()).unwrap();
    ///     released.recv()
    /// });
    /// begun.recv().unwrap();
    /// runtime.shutdown_timeout(Duration::from_millis(1));
    /// assert!(!job.is_finished());
    /// # drop(release);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn shutdown_timeout(mut self, duration: Duration) {
        // As in Tokio, the destructors of tasks cannot submit blocking functions from here on.
        self.handle.shared.blocking.close();
        // Without a limit if the deadline is beyond the range of `Instant`.
        match duration.is_zero() {
            true => self.end(Some(Instant::now())),
            false => self.shut_down(Instant::now().checked_add(duration)),
        }
    }

    /// Shuts down the runtime without waiting. Running tasks continue until their next `.await`, and blocking functions,
    /// running or queued, until they are done or the process ends. May be called in a task.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() {
    /// let runtime = pointsman::runtime::Runtime::new().unwrap();
    /// let task = runtime.spawn(std::future::pending::<()>());
    /// runtime.shutdown_background();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    /// Returns the metrics of the runtime.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Runtime::new()?;
    /// runtime.spawn(std::future::pending::<()>());
    /// assert_eq!(runtime.metrics().num_alive_tasks(), 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }

    #[track_caller]
    fn shut_down(&mut self, until: Option<Instant>) {
        if context::work() == Work::None {
            return self.end(until);
        }
        // The tasks are dropped in any case.
        self.end(Some(Instant::now()));
        if !std::thread::panicking() {
            panic!(
                "Cannot drop a runtime in a context where blocking is not allowed. This happens when a runtime \
                 is dropped from within an asynchronous context."
            );
        }
    }

    /// Shuts down the runtime and waits for its threads, at most until `until`.
    fn end(&mut self, until: Option<Instant>) {
        self.has_ended = true;
        let shared = &self.handle.shared;
        // `None` if the runtime is dropped as a thread-local value of an ending thread.
        let _current = context::try_set_current(shared);
        shared.begin_shutdown();
        let watchdog = shared.finish_shutdown(!self.workers.is_empty());
        self.workers.extend(watchdog);
        let mut all_have_ended = true;
        for worker in self.workers.drain(..) {
            let is_self = worker.thread().id() == thread::current().id();
            let has_time = until.is_none_or(|until| has_ended_by(&worker, until));
            if !is_self && has_time {
                let _ = worker.join();
            } else {
                all_have_ended = false;
            }
        }
        // Running tasks keep their timers and I/O; otherwise the last worker to end shuts the driver down.
        if all_have_ended {
            shared.end_driver_after_last_worker();
        }
        // After the tasks were dropped, since their destructors may submit blocking functions.
        shared.blocking.close();
        shared.blocking.wait(shared, until);
        // Last, so that tools can inspect a shutdown that waits.
        #[cfg(all(unix, feature = "diagnostics", feature = "net"))]
        super::dump::serve::end(shared.id);
    }
}

impl Drop for Runtime {
    #[track_caller]
    fn drop(&mut self) {
        if !self.has_ended {
            self.shut_down(None);
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

impl UnwindSafe for Runtime {}
impl RefUnwindSafe for Runtime {}
