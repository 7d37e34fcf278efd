//! A server at part load. A thousand tasks each receive jobs from a channel of their own; a job computes for 20 to
//! 200 µs, takes a lock, sleeps for 1 to 5 ms, and is sent to a task that counts it.
//!
//! Invariant: jobs are due at random times that do not depend on the runtime and are the same for every subject. The
//! latency of a job counts from its due time, without its sleep.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, Samples};

use super::computing::Computing;
use super::formatting::Numbers;
use super::idle::context_switches;
use crate::form::Form;
use crate::primitives::{Primitives, Semaphore};
use crate::runtime::{Purpose, Runtime, sleep, spawn, spawn_pinned};
use crate::sampling::{Unit, processor_time, sample, spread};

const TASKS: usize = 1_000;
const WORKERS: usize = 2;
const WARM_UP: Duration = Duration::from_millis(100);

struct Job {
    due: Instant,
    computing: Computing,
    sleep: Duration,
}

pub(super) fn measure<P: Primitives>(form: Form, jobs_a_second: usize, lab: &Lab) -> Samples {
    let mut runtime = Runtime::new(form, Purpose::Outside, WORKERS);
    let (ended, all_ended) = mpsc::channel();
    let tasks = runtime.block_on(start::<P>(ended));
    let mut jobs = Jobs::new();
    let mut during = |duration: Duration| {
        let (processor, switches) = (processor_time(), context_switches());
        let started_at = Instant::now();
        let (mut due, mut sent) = (Duration::ZERO, 0);
        while sent == 0 || due < duration {
            due += jobs.gap(jobs_a_second);
            thread::sleep(due.saturating_sub(started_at.elapsed()));
            P::post(&tasks[sent % TASKS], jobs.next(started_at + due));
            sent += 1;
        }
        let mut latencies: Vec<f64> = all_ended.iter().take(sent).collect();
        let processor = processor_time() - processor;
        let mut samples = spread(&mut latencies);
        samples.extend([
            ("processor", processor.as_secs_f64() * 1e6 / sent as f64),
            ("switches", (context_switches() - switches) / sent as f64),
        ]);
        samples
    };
    during(WARM_UP);
    lab.serve(during)
}

/// Returns the senders of the tasks' channels. The latencies go to `ended`, in microseconds.
async fn start<P: Primitives>(ended: mpsc::Sender<f64>) -> Vec<P::UnboundedSender<Job>> {
    let lock = Arc::new(P::Semaphore::new(1));
    let (done, mut all_done) = P::unbounded::<f64>();
    spawn(async move {
        while let Some(latency) = P::collect(&mut all_done).await {
            ended.send(latency).expect("the main thread waits");
        }
    });
    let task = |_| {
        let (jobs, mut queue) = P::unbounded::<Job>();
        let (lock, done) = (Arc::clone(&lock), done.clone());
        drop(spawn_pinned(move || async move {
            while let Some(job) = P::collect(&mut queue).await {
                job.computing.run();
                lock.turn().await;
                sleep(job.sleep).await;
                let latency = job.due.elapsed().saturating_sub(job.sleep);
                P::post(&done, latency.as_secs_f64() * 1e6);
            }
        }));
        jobs
    };
    (0..TASKS).map(task).collect()
}

/// The processor time that the jobs need without a runtime.
pub(super) fn computing_alone(lab: &Lab) -> Samples {
    let mut jobs = Jobs::new();
    let now = Instant::now();
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            jobs.next(now).computing.run();
        }
    })
}

/// The same jobs in every run.
struct Jobs {
    numbers: Numbers,
    microsecond: Computing,
}

impl Jobs {
    fn new() -> Self {
        Self {
            numbers: Numbers::seeded(0),
            microsecond: Computing::of(Duration::from_micros(1)),
        }
    }

    /// The time until the next job is due.
    fn gap(&mut self, jobs_a_second: usize) -> Duration {
        Duration::from_secs_f64(-(1.0 - self.numbers.next()).ln() / jobs_a_second as f64)
    }

    /// Most jobs are short.
    fn next(&mut self, due: Instant) -> Job {
        let microseconds = 20.0 * 10_f64.powf(self.numbers.next().powi(3));
        Job {
            due,
            computing: self.microsecond.times(microseconds),
            sleep: Duration::from_secs_f64((1.0 + 4.0 * self.numbers.next()) / 1e3),
        }
    }
}
