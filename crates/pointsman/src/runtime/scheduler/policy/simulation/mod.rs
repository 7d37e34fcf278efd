//! The policy on machines that are not here: 2 to 128 simulated cores.
//!
//! `make policy` prints what it costs there, in time and in processor time, beside a scheduler to which nothing but the
//! tasks costs anything ([`ideal`]), and beside Tokio's policy as it is modelled in [`rules`]. The decisions are the
//! functions that the runtime calls; how long a wake-up or a look takes is assumed ([`Costs`]). So the figures show how
//! policies compare and grow with the number of cores, and not how fast a program is. What is left out: caches that
//! tasks share, and that no more than one thread at a time can change a queue.
//!
//! Each run gives the same figures.

mod engine;
mod ideal;
mod locks;
mod report;
mod rules;
mod tests;
mod workload;

/// What everything takes that is not the tasks' own, in nanoseconds.
#[derive(Clone, Copy)]
struct Costs {
    /// To wake a thread, for who wakes it.
    call: u64,
    /// From then on until the one that was woken runs.
    latency: u64,
    /// How much of that is processor time.
    come: u64,
    /// To fall asleep.
    park: u64,
    pop: u64,
    push: u64,
    steal: u64,
    /// A look at all queues, and how much more for each of them.
    look: u64,
    look_at_one: u64,
    /// A cache line that another thread has touched.
    miss: u64,
    /// Instead of [`QUANTUM`](super::QUANTUM).
    quantum: u64,
}

impl Costs {
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

/// What a run has shown; nanoseconds.
struct Measured {
    /// When the last task ended.
    makespan: u64,
    /// Processor time of the tasks themselves.
    work: u64,
    searched: u64,
    /// Of queues, wake-ups, and the watchdog.
    overhead: u64,
    /// How long each task was ready before it began, sorted.
    waits: Vec<u64>,
    /// When so many workers ran a task at once for the first time.
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
