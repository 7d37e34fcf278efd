//! What a runtime has done so far.

use std::time::Duration;

use super::handle::Handle;
use crate::loom::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A count that one thread writes and others read.
#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// By the only thread that writes.
    #[inline]
    pub(super) fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed) + count, Relaxed);
    }

    /// By any thread.
    pub(super) fn add_shared(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Figures of a runtime, as of when they are read. They are counted without locks: several of them need not
/// be of the same moment. They can be read after the runtime has ended.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// let metrics = pointsman::runtime::Handle::current().metrics();
/// let task = pointsman::spawn(std::future::pending::<()>());
/// assert_eq!(metrics.num_alive_tasks(), 1);
/// task.abort();
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    handle: Handle,
}

impl RuntimeMetrics {
    pub(super) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Worker threads; 1 for a runtime of the current thread.
    ///
    /// ```
    /// # use pointsman::runtime::Builder;
    /// let runtime = Builder::new_multi_thread().worker_threads(2).build()?;
    /// assert_eq!(runtime.metrics().num_workers(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn num_workers(&self) -> usize {
        self.handle.shared.config.worker_threads.max(1)
    }

    /// Tasks that are not complete, without blocking ones.
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
        let shared = &self.handle.shared;
        let counters = shared.slots.iter().map(|slot| &slot.counters);
        let (mut spawned, mut completed) = (0, 0);
        for counters in counters.chain([&shared.outside_counters]) {
            // In this order, so that no task is counted as complete only.
            completed += counters.completed.get();
            spawned += counters.spawned.get();
        }
        usize::try_from(spawned.saturating_sub(completed)).unwrap_or(usize::MAX)
    }

    /// Tasks that were ever spawned, without blocking ones.
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
        let shared = &self.handle.shared;
        let slots: u64 = shared
            .slots
            .iter()
            .map(|slot| slot.counters.spawned.get())
            .sum();
        slots + shared.outside_counters.spawned.get()
    }

    /// Tasks that were spawned or woken by threads that are no workers, and that no worker has taken yet. A thread
    /// in [`Runtime::block_on`](super::Runtime::block_on) of a runtime of several threads is no worker.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// // Nobody is in `block_on`, which would run it.
    /// runtime.spawn(async {});
    /// assert_eq!(runtime.metrics().global_queue_depth(), 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn global_queue_depth(&self) -> usize {
        self.handle.shared.global_queue_depth()
    }

    /// Tasks that wait in the queue of a worker, which is given by its number, from 0 on.
    ///
    /// # Panics
    /// If there is no such worker.
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

    /// How long a worker has run tasks, up to when it last looked around; see
    /// [`event_interval`](super::Builder::event_interval). The worker is given by its number, from 0 on.
    ///
    /// # Panics
    /// If there is no such worker.
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

    /// How often a worker has gone to sleep. The worker is given by its number, from 0 on.
    ///
    /// # Panics
    /// If there is no such worker.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().build()?;
    /// let metrics = runtime.metrics();
    /// // It has nothing to do.
    /// while metrics.worker_park_count(0) == 0 {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.worker(worker).counters.parked.get()
    }

    /// How often a worker has gone to sleep and was woken: odd while it sleeps. The worker is given by its
    /// number, from 0 on.
    ///
    /// # Panics
    /// If there is no such worker.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// let metrics = runtime.metrics();
    /// // It has nothing to do.
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

    /// Threads of the blocking pool, also those that have taken the place of a worker in
    /// [`block_in_place`](crate::task::block_in_place).
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// assert_eq!(runtime.metrics().num_blocking_threads(), 0);
    /// runtime.block_on(runtime.spawn_blocking(|| {})).unwrap();
    /// // It is kept for a while.
    /// assert_eq!(runtime.metrics().num_blocking_threads(), 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn num_blocking_threads(&self) -> usize {
        self.handle.shared.blocking.threads()
    }

    /// Threads of the blocking pool that have nothing to do.
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
        self.handle.shared.blocking.idle_threads()
    }

    /// Blocking work that waits for a thread.
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
    /// runtime.spawn_blocking(|| "has to wait");
    /// assert_eq!(runtime.metrics().blocking_queue_depth(), 1);
    /// # drop(release);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.shared.blocking.queued()
    }

    /// How many sources of I/O, such as sockets, were registered so far; 0 without I/O.
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

    /// How many of them have gone again.
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

    /// How many events the system has told of.
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
    fn io(&self, count: impl FnOnce(&super::driver::Reactor) -> &Counter) -> u64 {
        let reactor = self.handle.shared.reactor();
        reactor.map_or(0, |reactor| count(reactor).get())
    }

    fn worker(&self, worker: usize) -> &super::scheduler::Slot {
        let workers = self.num_workers();
        assert!(
            worker < workers,
            "worker is {worker}, but there are {workers} workers"
        );
        &self.handle.shared.slots[worker]
    }
}
