//! A runtime, and its end.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Weak;
use std::time::{Duration, Instant};

use super::builder::{Builder, Config};
use super::context::{self, Work};
use super::driver::Reactor;
use super::handle::{EnterGuard, Handle};
use super::metrics::RuntimeMetrics;
use super::scheduler::{Alarm, Shared, run_worker};
use crate::loom::thread;
use crate::task::JoinHandle;
use crate::time;

/// Runs tasks, fires timers, and takes blocking work elsewhere.
///
/// Dropping the runtime ends its threads and drops its tasks; a running task is dropped at its next await. The drop
/// waits for all blocking work that was submitted before, running or queued, and for the blocking work that dropped
/// tasks submit in their destructors. So the data that [`fs`](crate::fs) and the standard streams have accepted is
/// written. [`shutdown_timeout`](Self::shutdown_timeout) waits for a limited time and
/// [`shutdown_background`](Self::shutdown_background) not at all; both accept no further blocking work.
///
/// # Panics
/// When it is dropped in a task or in a `block_on`: use `shutdown_background` there, or drop it in
/// [`spawn_blocking`](crate::task::spawn_blocking), which may be its own. The runtime ends all the same.
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
}

impl Runtime {
    /// A runtime of several threads with timers, as with [`Builder::new_multi_thread`].
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
        Builder::new_multi_thread().enable_all().build()
    }

    pub(super) fn start(
        config: Config,
        enable_time: bool,
        start_paused: bool,
        io: Option<(Reactor, Alarm)>,
    ) -> io::Result<Self> {
        let workers = config.worker_threads;
        let time = |waiter: Weak<Shared>| {
            enable_time.then(|| match workers {
                0 => time::Driver::new(start_paused, waiter),
                _ => time::Driver::unpausable(workers, waiter),
            })
        };
        let shared = Shared::new(super::Id::next(), config, time, io);
        let handle = Handle { shared };
        let mut runtime = Self {
            handle,
            workers: Vec::new(),
        };
        for index in 0..runtime.handle.shared.config.worker_threads {
            // If it fails, those before end when the runtime is dropped here.
            let worker =
                super::start_thread(&runtime.handle, move |handle| run_worker(handle, index));
            match worker {
                Ok(worker) => runtime.workers.push(worker),
                Err(error) => {
                    runtime.handle.shared.close_slots_from(index);
                    return Err(error);
                }
            }
        }
        Ok(runtime)
    }

    /// A reference to the runtime.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Runtime::new()?;
    /// let handle = runtime.handle().clone();
    /// // Any thread may spawn with it.
    /// let thread = std::thread::spawn(move || handle.spawn(async { 1 + 1 }));
    /// assert_eq!(runtime.block_on(thread.join().unwrap()).unwrap(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Makes the runtime the current one of this thread; see [`Handle::enter`].
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

    /// Spawns a task; see [`spawn`](crate::spawn). In a runtime of the current thread it begins when
    /// somebody blocks on a future.
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

    /// Runs what blocks in a thread for that; see [`spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// If no thread at all can be started.
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

    /// Blocks this thread until the future is ready. The future is no task: it need not be `Send`, and is polled in
    /// this thread only.
    ///
    /// In a runtime of several threads this thread polls that future and nothing else, so no task keeps it waiting,
    /// and tasks that it spawns run in the workers. In a runtime of the current thread it runs the tasks meanwhile; if
    /// several threads are in here at once, one of them does.
    ///
    /// # Panics
    /// In a task or in another `block_on`, and if the future panics.
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

    /// Ends the runtime, and waits at most so long for what runs: tasks until their next await, and blocking
    /// work, including queued work. Work that has not ended by then continues in its threads.
    ///
    /// # Panics
    /// In a task or in a `block_on`, unless the time is zero. The runtime ends all the same.
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
        // As in Tokio, tasks that are dropped from here on cannot start blocking work.
        self.handle.shared.blocking.close();
        // As good as for ever, if the clock does not reach as far.
        match duration.is_zero() {
            true => self.end(Some(Instant::now())),
            false => self.shut_down(Instant::now().checked_add(duration)),
        }
    }

    /// Shuts the runtime down without waiting: a running task continues until its next await. Blocking work, including
    /// queued work, continues until it is done or the process ends. May be called in a task.
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

    /// Figures of the runtime.
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
        // Its tasks end still.
        self.end(Some(Instant::now()));
        if !std::thread::panicking() {
            panic!(
                "Cannot drop a runtime in a context where blocking is not allowed. This happens when a runtime \
                 is dropped from within an asynchronous context."
            );
        }
    }

    /// `until`: when to wait no longer.
    fn end(&mut self, until: Option<Instant>) {
        let shared = &self.handle.shared;
        // Not where a thread ends, and the runtime with it.
        let _current = context::try_set_current(&self.handle);
        shared.begin_shutdown();
        let watchdog = shared.finish_shutdown(!self.workers.is_empty());
        self.workers.extend(watchdog);
        let mut all_have_ended = true;
        for worker in self.workers.drain(..) {
            let is_self = worker.thread().id() == thread::current().id();
            let has_time = until.is_none_or(|until| super::wait_for(&worker, until));
            if !is_self && has_time {
                let _ = worker.join();
            } else {
                all_have_ended = false;
            }
        }
        // While workers run tasks these have their timers and their I/O: the last one ends them.
        if all_have_ended {
            shared.end_driver_after_last_worker();
        }
        // After the tasks were dropped: the destructor of a task may submit blocking work.
        shared.blocking.close();
        shared.blocking.wait(&self.handle, until);
    }
}

impl Drop for Runtime {
    #[track_caller]
    fn drop(&mut self) {
        if !self.handle.shared.is_shut_down() {
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
