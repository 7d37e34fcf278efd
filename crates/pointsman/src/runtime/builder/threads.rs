//! Options for the threads of a runtime: how many workers, how many for blocking functions, their names, stacks and hooks.

use std::env::VarError;
use std::sync::Arc;
use std::time::Duration;

use super::Builder;

impl Builder {
    /// Sets the number of worker threads of a multi-thread runtime. Default: the environment variable
    /// `TOKIO_WORKER_THREADS`, otherwise the number of cores. A current-thread runtime ignores it.
    ///
    /// More workers than cores help if tasks block their threads. The runtime wakes more workers than there are cores
    /// only while a worker is stuck.
    ///
    /// # Panics
    /// If `threads` is 0.
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

    /// Sets the maximum number of threads for blocking functions, in addition to the workers. Default: 512. Further
    /// functions wait for a free thread. A thread that replaces a worker during
    /// [`block_in_place`](crate::task::block_in_place) does not count.
    ///
    /// # Panics
    /// If `threads` is 0.
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

    /// Sets how long an idle thread of the blocking pool is kept. Default: 10 s.
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
    /// // Sooner than by default, while the runtime still runs.
    /// assert!(stopped.recv_timeout(Duration::from_secs(9)).is_ok());
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.config.thread_keep_alive = duration;
        self
    }

    /// Sets the name of the workers and of the threads of the blocking pool. Default: `pointsman-rt`. A multi-thread
    /// runtime also has a thread that is always named `pointsman-watch`. Linux shows the first 15 bytes of a name.
    ///
    /// # Panics
    /// If the name contains a zero byte.
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

    /// Sets a function that returns the name of each thread; see [`thread_name`](Self::thread_name). The thread that starts
    /// another calls it.
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

    /// Sets the stack size in bytes of the workers and of the threads of the blocking pool. Default: that of the standard
    /// library, 2 MiB.
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

    /// Sets a function that each worker and each thread of the blocking pool calls when it starts. The thread continues if
    /// the function panics.
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

    /// Sets a function that each worker and each thread of the blocking pool calls before it stops.
    ///
    /// A worker may stop before the runtime shuts down, if another thread has replaced it during
    /// [`block_in_place`](crate::task::block_in_place).
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

    /// Sets a function that each worker calls before it goes to sleep. If the function spawns a task, the worker runs it
    /// instead of sleeping.
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
    /// // The worker has no tasks.
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

    /// Sets a function that each worker calls after it has woken up.
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
}

#[track_caller]
pub(super) fn default_workers() -> usize {
    // The variable and the messages are Tokio's, so that a deployment can set it for either runtime.
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
