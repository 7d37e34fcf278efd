//! Options for timers and I/O.

use super::Builder;

impl Builder {
    /// Enables timers and, if a cargo feature provides it, I/O.
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

    /// Enables I/O, which [`net`](crate::net), [`process`](crate::process) and [`signal`](crate::signal) need: without it
    /// they panic. Default: disabled.
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

    /// Sets the maximum number of I/O events per poll of the system. Default: 1024.
    ///
    /// # Panics
    /// If `capacity` is 0.
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

    /// Sets the maximum number of I/O events per poll of the system by a worker that has queued tasks. With a smaller
    /// number, these tasks run sooner. Default: the value of [`max_io_events_per_tick`](Self::max_io_events_per_tick).
    ///
    /// # Panics
    /// If `capacity` is 0.
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

    /// Enables timers, which the functions of [`time`](crate::time) need: without them they panic. Default: disabled.
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

    /// Sets whether the clock of [`time`](crate::time) starts paused, as by [`time::pause`](crate::time::pause). Default:
    /// `false`. A multi-thread runtime cannot be [built](Self::build) with it.
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
}
