//! The configuration of a runtime before it is built.

mod compatibility;
mod drivers;
#[cfg(all(unix, feature = "diagnostics", feature = "signal"))]
mod dump;
mod polls;
#[cfg(feature = "diagnostics")]
mod stall;
mod tasks;
mod threads;

use std::fmt;
use std::io;

use super::config::Config;
#[cfg(feature = "test-util")]
use super::config::Exploration;
#[cfg(feature = "reactor")]
use super::driver::Reactor;
use super::local::{LocalOptions, LocalRuntime};
use super::random::{RngSeed, Seeds};
use super::runtime::Runtime;
#[cfg(feature = "reactor")]
use super::scheduler::Alarm;
use crate::time;

/// Configures and builds a [`Runtime`].
///
/// ```
/// let runtime = pointsman::runtime::Builder::new_multi_thread()
///     .worker_threads(2)
///     .thread_name("signals")
///     .enable_time()
///     .build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # Ok::<_, std::io::Error>(())
/// ```
pub struct Builder {
    config: Config,
    is_multi_thread: bool,
    worker_threads: Option<usize>,
    enable_time: bool,
    start_paused: bool,
    seeds: Option<Seeds>,
    #[cfg(feature = "reactor")]
    enable_io: bool,
    #[cfg(feature = "reactor")]
    max_io_events: usize,
    #[cfg(feature = "reactor")]
    max_io_events_if_busy: Option<usize>,
}

impl Builder {
    fn new(is_multi_thread: bool) -> Self {
        Self {
            config: Config::default(),
            is_multi_thread,
            worker_threads: None,
            enable_time: false,
            start_paused: false,
            seeds: None,
            #[cfg(feature = "reactor")]
            enable_io: false,
            #[cfg(feature = "reactor")]
            max_io_events: 1024,
            #[cfg(feature = "reactor")]
            max_io_events_if_busy: None,
        }
    }

    /// Configures a current-thread runtime: its tasks run on the thread that is in [`Runtime::block_on`], and only
    /// meanwhile.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// let task = runtime.spawn(async { std::thread::current().id() });
    /// assert_eq!(runtime.block_on(task).unwrap(), std::thread::current().id());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn new_current_thread() -> Self {
        Self::new(false)
    }

    /// Configures a multi-thread runtime: its tasks run on worker threads. A thread in [`Runtime::block_on`] polls its own
    /// future and runs no tasks.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().build()?;
    /// let (tx, rx) = mpsc::channel();
    /// runtime.spawn(async move { tx.send("done") });
    /// // No thread is in `block_on`.
    /// assert_eq!(rx.recv(), Ok("done"));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn new_multi_thread() -> Self {
        Self::new(true)
    }

    /// Sets the name of the runtime, which [`Handle::name`](super::Handle::name) returns. Default: none.
    ///
    /// # Panics
    /// If the name is empty or blank.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().name("signals").build()?;
    /// assert_eq!(runtime.handle().name(), Some("signals"));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        assert!(!name.trim().is_empty(), "runtime name shouldn't be empty");
        self.config.name = Some(name.into());
        self
    }

    /// Sets the maximum number of task polls after which a worker checks timers and the inject queue. Default: 61. If
    /// polls are long, the worker checks earlier, about every 100 µs.
    ///
    /// In a current-thread runtime the future of `block_on`, if it was woken, is polled after exactly this many polls, or
    /// once no task is ready. With a smaller number, timers and that future wait less, and short tasks have more
    /// overhead.
    ///
    /// # Panics
    /// If `tasks` is 0.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().event_interval(1).build()?;
    /// runtime.block_on(async {
    ///     let tasks = [(); 5].map(|()| pointsman::spawn(async {}));
    ///     pointsman::task::yield_now().await;
    ///     // This future is polled again before all tasks have run.
    ///     assert!(!tasks[4].is_finished());
    /// });
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn event_interval(&mut self, tasks: u32) -> &mut Self {
        assert!(tasks > 0, "event_interval must be greater than 0");
        self.config.event_interval = tasks;
        self
    }

    /// Has no effect; provided for compatibility with Tokio. [`event_interval`](Self::event_interval) also sets when a worker
    /// checks the inject queue.
    ///
    /// # Panics
    /// If `tasks` is 0.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().global_queue_interval(7).build()?;
    /// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn global_queue_interval(&mut self, tasks: u32) -> &mut Self {
        assert!(tasks > 0, "global_queue_interval must be greater than 0");
        self
    }

    /// Sets the seed of the random numbers that the runtime uses, in the branches of [`select!`](crate::select) and in the
    /// search for work. Default: random.
    ///
    /// A current-thread runtime is then deterministic if nothing outside of it is involved: with a
    /// [paused clock](Self::start_paused), without I/O, [`spawn_blocking`](crate::task::spawn_blocking) and other threads,
    /// the same program polls the same tasks in the same order each time, and `select!` and
    /// [`JoinSet`](crate::task::JoinSet) give the same results. The seed does not change the order of ready tasks, which is
    /// first in, first out; with the feature `test-util`, `pointsman::test_util::explore` runs a test in many orders.
    ///
    /// Each `block_on` has its own sequence of random numbers, and so does each worker. No seed determines the order in
    /// which the workers of a multi-thread runtime run tasks. The runtimes that one builder builds have different
    /// sequences. The sequences may change between versions of this crate.
    ///
    /// ```
    /// # use pointsman::runtime::{Builder, RngSeed};
    /// let first_branch = || {
    ///     let seed = RngSeed::from_bytes(b"seed");
    ///     let runtime = Builder::new_current_thread().rng_seed(seed).build().unwrap();
    ///     runtime.block_on(async {
    ///         pointsman::select! {
    ///             () = async {} => 1,
    ///             () = async {} => 2,
    ///         }
    ///     })
    /// };
    /// assert_eq!(first_branch(), first_branch());
    /// ```
    pub fn rng_seed(&mut self, seed: RngSeed) -> &mut Self {
        self.seeds = Some(Seeds::new(&seed));
        self
    }

    /// For [`explore`](crate::test_util::explore).
    #[cfg(feature = "test-util")]
    pub(crate) fn explore(&mut self, changes_order: bool) -> &mut Self {
        self.config.exploration = Some(Exploration { changes_order });
        self
    }

    /// Builds the runtime. The builder can be used again.
    ///
    /// # Errors
    /// If a worker thread cannot be started, or the system provides no descriptors for I/O. Also if the signal of
    /// `dump_on_signal` cannot be handled.
    ///
    /// # Panics
    /// If [`start_paused`](Self::start_paused) is set for a multi-thread runtime, or the environment variable
    /// `TOKIO_WORKER_THREADS` is not a number above 0. The variable is read only for a multi-thread runtime without
    /// [`worker_threads`](Self::worker_threads). With the feature `diagnostics`, also if the environment variable
    /// `POINTSMAN_STALL` is not empty, and neither a time nor `off`.
    ///
    /// ```
    /// let mut builder = pointsman::runtime::Builder::new_current_thread();
    /// let (first, second) = (builder.build()?, builder.build()?);
    /// assert_ne!(first.handle().id(), second.handle().id());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        assert!(
            !(self.start_paused && self.is_multi_thread),
            "{}",
            time::CANNOT_PAUSE
        );
        let mut config = self.config.clone();
        config.rng_seed = self.seeds.as_ref().map(Seeds::next);
        #[cfg(feature = "diagnostics")]
        {
            config.stall = config.stall.with_environment();
        }
        #[cfg(all(unix, feature = "diagnostics", feature = "signal"))]
        if let Some(signal) = config.dump_signal {
            super::dump::signal::handle(signal)?;
        }
        if self.is_multi_thread {
            config.worker_threads = match self.worker_threads {
                Some(threads) => threads,
                None => threads::default_workers(),
            };
        }
        #[cfg(feature = "reactor")]
        let io = match self.enable_io {
            true => Some((
                Reactor::new(
                    config.worker_threads,
                    self.max_io_events,
                    self.max_io_events_if_busy.unwrap_or(self.max_io_events),
                )?,
                Alarm::for_io()?,
            )),
            false => None,
        };
        #[cfg(not(feature = "reactor"))]
        let io = None;
        Runtime::start(config, self.enable_time, self.start_paused, io)
    }

    /// Builds a [`LocalRuntime`], whose tasks need not be `Send`.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// # Panics
    /// If the builder configures a multi-thread runtime, and as [`build`](Self::build).
    ///
    /// ```
    /// use pointsman::runtime::{Builder, LocalOptions};
    /// use std::rc::Rc;
    ///
    /// let runtime = Builder::new_current_thread().build_local(LocalOptions::default())?;
    /// let number = Rc::new(7);
    /// let task = runtime.spawn_local(async move { *number });
    /// assert_eq!(runtime.block_on(task).unwrap(), 7);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        assert!(
            !self.is_multi_thread,
            "multi_thread is not supported for LocalRuntime"
        );
        self.config.is_local = true;
        let built = self.build();
        self.config.is_local = false;
        Ok(LocalRuntime::new_on(built?))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("is_multi_thread", &self.is_multi_thread)
            .field("worker_threads", &self.worker_threads)
            .field("max_blocking_threads", &self.config.max_blocking_threads)
            .field("thread_keep_alive", &self.config.thread_keep_alive)
            .field("event_interval", &self.config.event_interval)
            .field("enable_time", &self.enable_time)
            .field("start_paused", &self.start_paused)
            .finish_non_exhaustive()
    }
}
