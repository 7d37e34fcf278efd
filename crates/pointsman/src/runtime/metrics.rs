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
/// be of the same moment.
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
    pub fn num_workers(&self) -> usize {
        self.handle.shared.config.worker_threads.max(1)
    }

    /// Tasks that are not complete, without blocking ones.
    pub fn num_alive_tasks(&self) -> usize {
        let shared = &self.handle.shared;
        let counters = shared.seats.iter().map(|seat| &seat.counters);
        let (mut spawned, mut completed) = (0, 0);
        for counters in counters.chain([&shared.outside_counters]) {
            // In this order, so that no task is counted as complete only.
            completed += counters.completed.get();
            spawned += counters.spawned.get();
        }
        usize::try_from(spawned.saturating_sub(completed)).unwrap_or(usize::MAX)
    }

    /// Tasks that were ever spawned, without blocking ones.
    pub fn spawned_tasks_count(&self) -> u64 {
        let shared = &self.handle.shared;
        let seats: u64 = shared
            .seats
            .iter()
            .map(|seat| seat.counters.spawned.get())
            .sum();
        seats + shared.outside_counters.spawned.get()
    }

    /// Tasks from other threads that no worker has taken yet.
    pub fn global_queue_depth(&self) -> usize {
        self.handle.shared.global_queue_depth()
    }

    /// Tasks that wait in the queue of a worker.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        self.worker(worker).queued()
    }

    /// How long a worker was awake.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.worker(worker).counters.busy.get())
    }

    /// How often a worker has gone to sleep.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.worker(worker).counters.parked.get()
    }

    /// How often a worker has gone to sleep and was woken: odd while it sleeps.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        let counters = &self.worker(worker).counters;
        counters.parked.get() + counters.unparked.get()
    }

    /// Threads of the blocking pool.
    pub fn num_blocking_threads(&self) -> usize {
        self.handle.shared.blocking.threads()
    }

    /// Threads of the blocking pool that have nothing to do.
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.handle.shared.blocking.idle_threads()
    }

    /// Blocking tasks that wait for a thread.
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.shared.blocking.queued()
    }

    fn worker(&self, worker: usize) -> &super::scheduler::Seat {
        let workers = self.num_workers();
        assert!(
            worker < workers,
            "worker is {worker}, but there are {workers} workers"
        );
        &self.handle.shared.seats[worker]
    }
}
