//! Options of Tokio that have no effect here.

use super::Builder;

impl Builder {
    /// Has no effect; provided for compatibility with Tokio. There is no LIFO slot.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().disable_lifo_slot().build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn disable_lifo_slot(&mut self) -> &mut Self {
        self
    }

    /// Has no effect; provided for compatibility with Tokio. A multi-thread runtime always has one shard of timers per
    /// worker, up to 16.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().enable_alt_timer().build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enable_alt_timer(&mut self) -> &mut Self {
        self.enable_time()
    }

    /// Has no effect; provided for compatibility with Tokio. I/O always continues while a worker is blocked.
    ///
    /// ```
    /// let runtime =
    ///     pointsman::runtime::Builder::new_multi_thread().enable_eager_driver_handoff().build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enable_eager_driver_handoff(&mut self) -> &mut Self {
        self
    }

    /// Has no effect; provided for compatibility with Tokio. Threads of the blocking pool take several functions at
    /// once from the queue.
    ///
    /// ```
    /// let runtime =
    ///     pointsman::runtime::Builder::new_multi_thread().enable_sharded_blocking_queue().build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enable_sharded_blocking_queue(&mut self) -> &mut Self {
        self
    }

    /// Has no effect; provided for compatibility with Tokio. Files are read and written on the blocking pool.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().enable_io_uring().build()?;
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn enable_io_uring(&mut self) -> &mut Self {
        self
    }
}
