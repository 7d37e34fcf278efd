//! How a runtime is made.

use std::env::VarError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "reactor")]
use super::driver::Reactor;
#[cfg(feature = "reactor")]
use super::scheduler::Alarm;
use super::{LocalOptions, LocalRuntime, Runtime};
use crate::time;

/// What a thread calls at certain moments.
pub(super) type Callback = Arc<dyn Fn() + Send + Sync>;
type ThreadName = Arc<dyn Fn() -> String + Send + Sync>;

/// What a runtime was made with.
#[derive(Clone)]
pub(super) struct Config {
    /// 0: tasks run in the thread that blocks on a future.
    pub(super) worker_threads: usize,
    pub(super) max_blocking_threads: usize,
    pub(super) thread_keep_alive: Duration,
    pub(super) thread_name: ThreadName,
    pub(super) thread_stack_size: Option<usize>,
    pub(super) name: Option<Arc<str>>,
    /// Whether it is that of a [`LocalRuntime`].
    pub(super) is_local: bool,
    pub(super) event_interval: u32,
    pub(super) on_thread_start: Option<Callback>,
    pub(super) on_thread_stop: Option<Callback>,
    pub(super) on_thread_park: Option<Callback>,
    pub(super) on_thread_unpark: Option<Callback>,
}

/// Makes a [`Runtime`].
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
            config: Config {
                worker_threads: 0,
                max_blocking_threads: 512,
                thread_keep_alive: Duration::from_secs(10),
                thread_name: Arc::new(|| "pointsman-rt".into()),
                thread_stack_size: None,
                name: None,
                is_local: false,
                event_interval: 61,
                on_thread_start: None,
                on_thread_stop: None,
                on_thread_park: None,
                on_thread_unpark: None,
            },
            is_multi_thread,
            worker_threads: None,
            enable_time: false,
            start_paused: false,
            #[cfg(feature = "reactor")]
            enable_io: false,
            #[cfg(feature = "reactor")]
            max_io_events: 1024,
            #[cfg(feature = "reactor")]
            max_io_events_if_busy: None,
        }
    }

    /// A runtime whose tasks run in the thread that is in [`Runtime::block_on`], and only then.
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

    /// A runtime whose tasks run in threads of its own, the workers. A thread that is in [`Runtime::block_on`]
    /// polls its own future and runs no tasks.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().build()?;
    /// let (tx, rx) = mpsc::channel();
    /// runtime.spawn(async move { tx.send("done") });
    /// // Nobody is in `block_on`.
    /// assert_eq!(rx.recv(), Ok("done"));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn new_multi_thread() -> Self {
        Self::new(true)
    }

    /// Enables all that there is to be enabled: timers and, where a feature brings it, I/O.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// # use pointsman::time::{Duration, sleep};
    /// let runtime = Builder::new_current_thread().enable_all().build()?;
    /// let task = runtime.spawn(async { sleep(Duration::from_millis(1)).await });
    /// assert!(runtime.block_on(task).is_ok());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enable_all(&mut self) -> &mut Self {
        #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
        self.enable_io();
        self.enable_time()
    }

    /// Lets the runtime have I/O: what is in [`net`](crate::net), [`process`](crate::process) and
    /// [`signal`](crate::signal). Default: none, and that panics.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use pointsman::net::UdpSocket;
    ///
    /// let runtime = Builder::new_current_thread().enable_io().build()?;
    /// let socket = runtime.block_on(UdpSocket::bind("127.0.0.1:0"))?;
    /// assert_ne!(socket.local_addr()?.port(), 0);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    pub fn enable_io(&mut self) -> &mut Self {
        self.enable_io = true;
        self
    }

    /// How many events of I/O the runtime takes from the system at once. Default: 1024.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().enable_io().max_io_events_per_tick(16).build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    #[track_caller]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_tick must be non-zero");
        self.max_io_events = capacity;
        self
    }

    /// How many events of I/O a worker that has tasks to run takes from the system at once. Default: as many as
    /// [`max_io_events_per_tick`](Self::max_io_events_per_tick) says. Fewer let the tasks that are queued go on sooner.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread()
    ///     .enable_io()
    ///     .max_io_events_per_tick(128)
    ///     .max_io_events_per_busy_tick(8)
    ///     .build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    #[track_caller]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_busy_tick must be non-zero");
        self.max_io_events_if_busy = Some(capacity);
        self
    }

    /// Lets the runtime have timers. Default: none, and those in [`time`](crate::time) panic.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// # use pointsman::time::{Duration, sleep};
    /// let nap = || async { sleep(Duration::from_millis(1)).await };
    ///
    /// let without = Builder::new_current_thread().build()?;
    /// assert!(without.block_on(without.spawn(nap())).unwrap_err().is_panic());
    ///
    /// let with = Builder::new_current_thread().enable_time().build()?;
    /// assert!(with.block_on(with.spawn(nap())).is_ok());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enable_time(&mut self) -> &mut Self {
        self.enable_time = true;
        self
    }

    /// Worker threads of a runtime of several threads. Default: the environment variable
    /// `TOKIO_WORKER_THREADS`, otherwise the number of cores. A current-thread runtime has none.
    ///
    /// More workers than cores are of use where tasks block their threads: beyond one for each core a worker is
    /// woken only when another gets no further.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_multi_thread().worker_threads(3).build()?;
    /// assert_eq!(runtime.metrics().num_workers(), 3);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_threads(&mut self, threads: usize) -> &mut Self {
        assert!(threads > 0, "Worker threads cannot be set to 0");
        self.worker_threads = Some(threads);
        self
    }

    /// Threads that run blocking work at most, besides the workers. Default: 512. What comes when all of
    /// them are busy waits. Those that take the place of a worker in
    /// [`block_in_place`](crate::task::block_in_place) count too.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::{thread, time::Duration};
    ///
    /// let runtime = Builder::new_current_thread().max_blocking_threads(1).build()?;
    /// let slow = || {
    ///     thread::sleep(Duration::from_millis(5));
    ///     thread::current().id()
    /// };
    /// let threads = [(); 3].map(|()| runtime.spawn_blocking(slow));
    /// let [one, two, three] = threads.map(|thread| runtime.block_on(thread).unwrap());
    /// assert!(one == two && two == three);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn max_blocking_threads(&mut self, threads: usize) -> &mut Self {
        assert!(threads > 0, "Max blocking threads cannot be set to 0");
        self.config.max_blocking_threads = threads;
        self
    }

    /// How long a thread for blocking work is kept that has none. Default: 10 s.
    ///
    /// ```
    /// # use pointsman::{runtime::Builder, time::Duration};
    /// use std::sync::mpsc;
    ///
    /// let (stops, stopped) = mpsc::channel();
    /// let runtime = Builder::new_current_thread()
    ///     .thread_keep_alive(Duration::from_millis(1))
    ///     .on_thread_stop(move || stops.send(()).unwrap())
    ///     .build()?;
    /// runtime.block_on(runtime.spawn_blocking(|| {})).unwrap();
    /// // Sooner than by default, while the runtime goes on.
    /// assert!(stopped.recv_timeout(Duration::from_secs(9)).is_ok());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.config.thread_keep_alive = duration;
        self
    }

    /// Name of the runtime, as [`Handle::name`](super::Handle::name) gives it. Default: none.
    ///
    /// # Panics
    /// If it is empty or blank.
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

    /// Sets the name of the workers and of the threads for blocking work. Default: `pointsman-rt`. A multi-thread
    /// runtime also has a thread that is always named `pointsman-watch`. Linux shows the first 15 bytes of a name.
    ///
    /// # Panics
    /// If there is a zero byte in it.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().thread_name("signals").build()?;
    /// let name = runtime.spawn_blocking(|| std::thread::current().name().map(String::from));
    /// assert_eq!(runtime.block_on(name).unwrap().as_deref(), Some("signals"));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn thread_name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        assert!(
            !name.contains('\0'),
            "thread name may not contain interior null bytes: {name:?}"
        );
        self.thread_name_fn(move || name.clone())
    }

    /// Gives each thread its name, as [`thread_name`](Self::thread_name) does. It is called before the thread is
    /// started, by whoever starts it.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let count = AtomicU32::new(0);
    /// let runtime = Builder::new_current_thread()
    ///     .thread_name_fn(move || format!("signals-{}", count.fetch_add(1, Ordering::Relaxed)))
    ///     .build()?;
    /// let name = runtime.spawn_blocking(|| std::thread::current().name().map(String::from));
    /// assert_eq!(runtime.block_on(name).unwrap().as_deref(), Some("signals-0"));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn thread_name_fn<F>(&mut self, name: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        self.config.thread_name = Arc::new(name);
        self
    }

    /// Bytes of the stack of each thread that runs tasks or blocking work. Default: that of the standard library,
    /// 2 MiB. Threads that are in [`Runtime::block_on`] have the stack that they were started with.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().thread_stack_size(8 << 20).build()?;
    /// // More than the default.
    /// let job = runtime.spawn_blocking(|| std::hint::black_box([1_u8; 3 << 20]).len());
    /// assert_eq!(runtime.block_on(job).unwrap(), 3 << 20);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn thread_stack_size(&mut self, bytes: usize) -> &mut Self {
        self.config.thread_stack_size = Some(bytes);
        self
    }

    /// Sets the maximum number of task polls after which a worker checks timers and tasks from other threads. Default:
    /// 61. If tasks are long, the worker checks earlier, about every 25 µs.
    ///
    /// In a current-thread runtime the future of `block_on`, if it was woken, is polled after exactly this many polls, or
    /// once no task is ready. With a smaller number, timers and that future wait less, and short tasks have more
    /// overhead.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_current_thread().event_interval(1).build()?;
    /// runtime.block_on(async {
    ///     let tasks = [(); 5].map(|()| pointsman::spawn(async {}));
    ///     pointsman::task::yield_now().await;
    ///     // It has its turn before they all had theirs.
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

    /// Tasks after which a worker looks at what comes from other threads. Accepted for the sake of programs
    /// that set it, and without effect: [`event_interval`](Self::event_interval) says when a worker looks there.
    ///
    /// # Panics
    /// If it is 0.
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

    /// Lets the clock of [`time`](crate::time) stand still from the beginning, as
    /// [`time::pause`](crate::time::pause) does. Default: it runs. Only for a runtime of the current thread
    /// that has timers; one of several threads cannot be [built](Self::build) with it.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// # use pointsman::time::{Duration, Instant, sleep};
    /// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    /// runtime.block_on(async {
    ///     let start = Instant::now();
    ///     sleep(Duration::from_secs(3_600)).await;
    ///     assert_eq!(start.elapsed(), Duration::from_secs(3_600));
    /// });
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.start_paused = start_paused;
        self
    }

    /// Called by each worker and each thread for blocking work when it starts. The thread goes on if this panics.
    /// A thread that is in [`Runtime::block_on`] does not call it.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let (starts, started) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(2)
    ///     .on_thread_start(move || starts.send(std::thread::current().id()).unwrap())
    ///     .build()?;
    /// assert_ne!(started.recv().unwrap(), started.recv().unwrap());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_thread_start<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.config.on_thread_start = Some(Arc::new(call));
        self
    }

    /// Called by each worker and each thread for blocking work before it stops.
    ///
    /// A worker may stop before the runtime ends: when another thread has taken its place while one of its tasks
    /// was in [`block_in_place`](crate::task::block_in_place).
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let (stops, stopped) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(2)
    ///     .on_thread_stop(move || stops.send(()).unwrap())
    ///     .build()?;
    /// drop(runtime);
    /// assert_eq!(stopped.try_iter().count(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_thread_stop<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.config.on_thread_stop = Some(Arc::new(call));
        self
    }

    /// Called by each worker before it goes to sleep. It may spawn tasks: then the worker does not sleep.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let (parks, parked) = mpsc::channel();
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .on_thread_park(move || parks.send(()).unwrap())
    ///     .build()?;
    /// // It has nothing to do.
    /// assert!(parked.recv().is_ok());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_thread_park<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.config.on_thread_park = Some(Arc::new(call));
        self
    }

    /// Called by each worker when it has woken up.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let ((parks, parked), (unparks, unparked)) = (mpsc::channel(), mpsc::channel());
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(1)
    ///     .on_thread_park(move || parks.send(()).unwrap())
    ///     .on_thread_unpark(move || unparks.send(()).unwrap())
    ///     .build()?;
    /// parked.recv().unwrap();
    /// runtime.spawn(async {});
    /// assert!(unparked.recv().is_ok());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn on_thread_unpark<F>(&mut self, call: F) -> &mut Self
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.config.on_thread_unpark = Some(Arc::new(call));
        self
    }

    /// Makes the runtime. The builder can make more of them.
    ///
    /// # Errors
    /// If a worker thread cannot be started.
    ///
    /// # Panics
    /// If the clock shall stand still in a runtime of several threads, or the environment variable
    /// `TOKIO_WORKER_THREADS` is not a number above 0. It is read only for a runtime of several threads
    /// whose number was not set.
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
        if self.is_multi_thread {
            config.worker_threads = match self.worker_threads {
                Some(threads) => threads,
                None => default_workers(),
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

    /// Makes a runtime of this thread, whose tasks need not be `Send`.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// # Panics
    /// If the runtime is to have several threads.
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

#[cfg(all(test, loom))]
impl Config {
    /// That of a runtime in a model.
    pub(super) fn of_model(
        worker_threads: usize,
        max_blocking_threads: usize,
        thread_keep_alive: Duration,
    ) -> Self {
        Self {
            worker_threads,
            is_local: false,
            name: None,
            max_blocking_threads,
            thread_keep_alive,
            thread_name: Arc::new(String::new),
            thread_stack_size: None,
            event_interval: 2,
            on_thread_start: None,
            on_thread_stop: None,
            on_thread_park: None,
            on_thread_unpark: None,
        }
    }
}

#[track_caller]
fn default_workers() -> usize {
    // The variable and the messages are Tokio's: a deployment sets it for either runtime.
    const VARIABLE: &str = "TOKIO_WORKER_THREADS";
    match std::env::var(VARIABLE) {
        Ok(value) => {
            let threads = value.parse().unwrap_or_else(|error| {
                panic!("\"{VARIABLE}\" must be usize, error: {error}, value: {value}")
            });
            assert!(threads > 0, "\"{VARIABLE}\" cannot be set to 0");
            threads
        }
        Err(VarError::NotPresent) => std::thread::available_parallelism().map_or(1, usize::from),
        Err(VarError::NotUnicode(value)) => {
            panic!("\"{VARIABLE}\" must be valid unicode, error: {value:?}")
        }
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
