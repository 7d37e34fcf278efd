//! Metrics of the queues, and of the workers that take tasks from them.

use std::thread::ThreadId;

use super::RuntimeMetrics;

impl RuntimeMetrics {
    /// Returns the thread of the worker with this index. Returns `None` before the thread has begun; in a
    /// current-thread runtime, before the first `block_on`.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert_eq!(metrics.worker_thread_id(0), Some(std::thread::current().id()));
    /// # }
    /// ```
    #[track_caller]
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        self.shared.thread_of(self.worker(worker))
    }

    /// Returns the number of tasks that were spawned or woken by threads other than workers. In a multi-thread runtime,
    /// a thread in [`Runtime::block_on`](super::super::Runtime::block_on) is not a worker.
    ///
    /// ```
    /// let runtime = pointsman::runtime::Builder::new_current_thread().build()?;
    /// runtime.spawn(async {});
    /// assert_eq!(runtime.metrics().remote_schedule_count(), 1);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn remote_schedule_count(&self) -> u64 {
        self.shared.remote_schedules()
    }

    /// Returns how often a task was spawned or woken, or has yielded, on the worker with this index.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// pointsman::spawn(async {}).await.unwrap();
    /// assert_eq!(metrics.worker_local_schedule_count(0), 1);
    /// # }
    /// ```
    #[track_caller]
    pub fn worker_local_schedule_count(&self, worker: usize) -> u64 {
        self.worker(worker).scheduled()
    }

    /// Returns how often the queue of a worker was full: always 0, since the queues grow.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert_eq!(metrics.worker_overflow_count(0), 0);
    /// # }
    /// ```
    #[track_caller]
    pub fn worker_overflow_count(&self, worker: usize) -> u64 {
        self.worker(worker);
        0
    }

    /// Returns the number of tasks that the worker with this index has taken from the queues of others.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// // There is no other worker.
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert_eq!(metrics.worker_steal_count(0), 0);
    /// # }
    /// ```
    #[track_caller]
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.worker(worker).counters.stolen.get()
    }

    /// Returns how often the worker with this index has taken tasks, one or several, from the queue of another.
    ///
    /// # Panics
    /// If `worker` is not below [`num_workers`](Self::num_workers).
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let metrics = pointsman::runtime::Handle::current().metrics();
    /// assert!(metrics.worker_steal_operations(0) <= metrics.worker_steal_count(0));
    /// # }
    /// ```
    #[track_caller]
    pub fn worker_steal_operations(&self, worker: usize) -> u64 {
        self.worker(worker).counters.steals.get()
    }

    /// Renamed to [`num_alive_tasks`](Self::num_alive_tasks).
    #[deprecated = "Renamed to num_alive_tasks"]
    pub fn active_tasks_count(&self) -> usize {
        self.num_alive_tasks()
    }

    #[doc(hidden)]
    #[deprecated = "Renamed to global_queue_depth"]
    pub fn injection_queue_depth(&self) -> usize {
        self.global_queue_depth()
    }
}
