//! Simulates the policy on 2 to 128 cores.
//!
//! `make policy` prints times and processor times, next to an ideal scheduler ([`ideal`]) and a model of Tokio's policy
//! ([`rules`]). The simulation calls the runtime's own policy functions; the costs of a wake-up or a look are assumed
//! ([`Costs`]). So the figures compare policies as the number of cores grows; they do not predict the speed of a
//! program. Not modelled: caches that tasks share, and that only one thread at a time can change a queue.
//!
//! The results are deterministic.

mod engine;
mod ideal;
mod locks;
mod report;
mod rules;
mod tests;
mod workload;

/// The costs of everything but the tasks, in nanoseconds.
#[derive(Clone, Copy)]
struct Costs {
    /// Waking a thread, for the waking thread.
    call: u64,
    /// The time until the woken thread runs.
    latency: u64,
    /// The part of it that is processor time.
    come: u64,
    /// Falling asleep.
    park: u64,
    pop: u64,
    push: u64,
    steal: u64,
    /// A look at all queues: a fixed cost, and the cost for each queue.
    look: u64,
    look_at_one: u64,
    /// Access to a cache line that another thread has changed.
    miss: u64,
    /// Replaces [`QUANTUM`](super::QUANTUM).
    quantum: u64,
}

impl Costs {
    /// A virtual machine of two cores, in which a futex call that wakes a thread was measured to take 5 µs, and the woken
    /// thread to use 3 µs until it sleeps again. The latency is an upper estimate for a core that is asleep.
    const MEASURED: Self = Self {
        call: 5_000,
        ..Self::with_latency(50_000)
    };

    const fn with_latency(latency: u64) -> Self {
        Self {
            call: 2_000,
            latency,
            come: 2_000,
            park: 1_000,
            pop: 20,
            push: 20,
            steal: 200,
            look: 200,
            look_at_one: 10,
            miss: 60,
            quantum: super::QUANTUM.as_nanos() as u64,
        }
    }
}

/// The results of a run, in nanoseconds.
struct Measured {
    /// When the last task ended.
    makespan: u64,
    /// The processor time of the tasks.
    work: u64,
    searched: u64,
    /// The processor time of queues, wake-ups and the watchdog.
    overhead: u64,
    /// How long each task was ready before it started, sorted.
    waits: Vec<u64>,
    /// When this number of workers first ran tasks at once, by index.
    reached: Vec<u64>,
}

impl Measured {
    fn new(makespan: u64, work: u64, mut waits: Vec<u64>, searched: u64, overhead: u64) -> Self {
        waits.sort_unstable();
        Self {
            makespan,
            work,
            searched,
            overhead,
            waits,
            reached: Vec::new(),
        }
    }

    fn wait(&self, percent: usize) -> u64 {
        self.waits[(self.waits.len() - 1) * percent / 100]
    }

    fn longest_wait(&self) -> u64 {
        self.wait(100)
    }

    fn processor_time(&self) -> u64 {
        self.work + self.searched + self.overhead
    }
}
