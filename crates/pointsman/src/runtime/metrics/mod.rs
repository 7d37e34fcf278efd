//! The metrics of a runtime.

mod polls;
mod schedules;

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::counter::Counter;
#[cfg(feature = "reactor")]
use super::driver::Reactor;
use super::scheduler::{Shared, Slot};

/// The metrics of a runtime. Each value is read when its method is called and is counted without locks, so two values may
/// be from different moments. The metrics remain readable after the runtime has shut down.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let metrics = pointsman::runtime::Handle::current().metrics();
/// let task = pointsman::spawn(std::future::pending::<()>());
/// assert_eq!(metrics.num_alive_tasks(), 1);
/// task.abort();
/// # }
/// ```
#[derive(Clone)]
pub struct RuntimeMetrics {
    shared: Arc<Shared>,
}

impl UnwindSafe for RuntimeMetrics {}
impl RefUnwindSafe for RuntimeMetrics {}

impl fmt::Debug for RuntimeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeMetrics")
            .field("id", &self.shared.id.0)
            .finish_non_exhaustive()
    }
}

impl RuntimeMetrics {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Returns the number of worker threads, which is 1 for a current-thread runtime.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_multi_thread().worker_threads(2).build()?;
    /// assert_eq!(runtime.metrics().num_workers(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn num_workers(&self) -> usize {
        self.shared.config.worker_threads.max(1)
    }

    /// Returns the number of tasks that are not complete. Does not include blocking functions.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// let task = pointsman::spawn(async {});
    /// assert_eq!(metrics.num_alive_tasks(), 1);
    /// task.await.unwrap();
    /// assert_eq!(metrics.num_alive_tasks(), 0);
    /// # }
    /// ```
    pub fn num_alive_tasks(&self) -> usize {
        let shared = &self.shared;
        let counters = shared.slots.iter().map(|slot| &slot.counters);
        let (mut spawned, mut completed) = (0, 0);
        for counters in counters.chain([&shared.outside_counters]) {
            // In this order, so that a task that completes meanwhile is not subtracted without being added.
            completed += counters.completed.get();
            spawned += counters.spawned.get();
        }
        usize::try_from(spawned.saturating_sub(completed)).unwrap_or(usize::MAX)
    }

    /// Returns the number of tasks spawned so far. Does not include blocking functions.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// for _ in 0..3 {
    ///     pointsman::spawn(async {}).await.unwrap();
    /// }
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert_eq!(metrics.spawned_tasks_count(), 3);
    /// # }
    /// ```
    pub fn spawned_tasks_count(&self) -> u64 {
        let shared = &self.shared;
        let slots: u64 = shared
            .slots
            .iter()
            .map(|slot| slot.counters.spawned.get())
            .sum();
        slots + shared.outside_counters.spawned.get()
    }

    /// Returns the number of tasks in the inject queue: tasks that were spawned or woken by threads that are not workers,
    /// and that no worker has taken yet. In a multi-thread runtime, a thread in
    /// [`Runtime::block_on`](super::Runtime::block_on) is not a worker.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// // No thread is in `block_on`, which would run it.
    /// runtime.spawn(async {});
    /// assert_eq!(runtime.metrics().global_queue_depth(), 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn global_queue_depth(&self) -> usize {
        self.shared.global_queue_depth()
    }

    /// Returns the number of tasks in the queue of the worker with this index.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let tasks = [(); 2].map(|()| pointsman::spawn(async {}));
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert_eq!(metrics.worker_local_queue_depth(0), 2);
    /// # drop(tasks);
    /// # }
    /// ```
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        self.worker(worker).queued()
    }

    /// Returns how long the worker with this index has been busy. The value is updated every
    /// [`event_interval`](super::Builder::event_interval) and before the worker sleeps.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// let work = Duration::from_millis(2);
    /// let task = runtime.spawn(async move {
    ///     let start = Instant::now();
    ///     while start.elapsed() < work {}
    /// });
    /// runtime.block_on(task).unwrap();
    /// assert!(runtime.metrics().worker_total_busy_duration(0) >= work);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.worker(worker).counters.busy.get())
    }

    /// Returns how often the worker with this index has gone to sleep.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().build()?;
    /// let metrics = runtime.metrics();
    /// // The worker has no tasks.
    /// while metrics.worker_park_count(0) == 0 {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.worker(worker).counters.parked.get()
    }

    /// Returns how often the worker with this index has gone to sleep or woken up: an odd number while it sleeps.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// let metrics = runtime.metrics();
    /// // The worker has no tasks.
    /// while metrics.worker_park_unpark_count(0).is_multiple_of(2) {
    ///     std::thread::yield_now();
    /// }
    /// assert!(metrics.worker_park_count(0) > 0);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        let counters = &self.worker(worker).counters;
        counters.parked.get() + counters.unparked.get()
    }

    /// Returns the number of threads of the blocking pool, including those that replace a worker during
    /// [`block_in_place`](crate::task::block_in_place).
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// assert_eq!(runtime.metrics().num_blocking_threads(), 0);
    /// runtime.block_on(runtime.spawn_blocking(|| {})).unwrap();
    /// // The thread is kept for a while.
    /// assert_eq!(runtime.metrics().num_blocking_threads(), 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn num_blocking_threads(&self) -> usize {
        self.shared.blocking.threads()
    }

    /// Returns the number of idle threads of the blocking pool.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// let metrics = runtime.metrics();
    /// let job = runtime.spawn_blocking({
    ///     let metrics = metrics.clone();
    ///     move || metrics.num_idle_blocking_threads()
    /// });
    /// assert_eq!(runtime.block_on(job).unwrap(), 0);
    /// while metrics.num_idle_blocking_threads() != 1 {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.shared.blocking.idle_threads()
    }

    /// Returns the number of blocking functions that wait for a thread.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let runtime = Builder::new_current_thread().max_blocking_threads(1).build()?;
    /// let ((begins, begun), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
    /// runtime.spawn_blocking(move || {
    ///     begins.send(()).unwrap();
    ///     released.recv()
    /// });
    /// begun.recv().unwrap();
    /// runtime.spawn_blocking(|| "queued");
    /// assert_eq!(runtime.metrics().blocking_queue_depth(), 1);
    /// # drop(release);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn blocking_queue_depth(&self) -> usize {
        self.shared.blocking.queued()
    }

    /// Returns the number of I/O sources, such as sockets, registered so far; 0 if I/O is not enabled.
    ///
    /// ```
    /// # #[cfg(feature = "net")] {
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// let socket = pointsman::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    /// assert_eq!(metrics.io_driver_fd_registered_count(), 1);
    /// drop(socket);
    /// assert_eq!(metrics.io_driver_fd_deregistered_count(), 1);
    /// # }
    /// # main()
    /// # }
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    pub fn io_driver_fd_registered_count(&self) -> u64 {
        self.io(|reactor| &reactor.registered)
    }

    /// Returns the number of I/O sources deregistered so far.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert_eq!(metrics.io_driver_fd_deregistered_count(), 0);
    /// # }
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    pub fn io_driver_fd_deregistered_count(&self) -> u64 {
        self.io(|reactor| &reactor.deregistered)
    }

    /// Returns the number of I/O events received so far.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert_eq!(metrics.io_driver_ready_count(), 0);
    /// # }
    /// ```
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    pub fn io_driver_ready_count(&self) -> u64 {
        self.io(|reactor| &reactor.events)
    }

    #[cfg(feature = "reactor")]
    fn io(&self, count: impl FnOnce(&Reactor) -> &Counter) -> u64 {
        let reactor = self.shared.reactor();
        reactor.map_or(0, |reactor| count(reactor).get())
    }

    #[track_caller]
    fn worker(&self, worker: usize) -> &Slot {
        let workers = self.num_workers();
        assert!(
            worker < workers,
            "worker is {worker}, but there are {workers} workers"
        );
        &self.shared.slots[worker]
    }
}
