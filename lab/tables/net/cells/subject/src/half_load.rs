//! Work that comes by the clock and leaves most of the machine free: what a server does at half load.
//!
//! Invariant: every subject computes the same work, counted in steps and not in time, so that processor times compare.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use protocol::{Done, Latencies};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until};

/// Steps that take a microsecond on a core of 3 GHz.
const STEPS: u64 = 700;
/// The number of tasks that receive jobs.
const RECEIVERS: usize = 1_000;
/// The mutexes that the jobs share.
const MUTEXES: usize = 16;

/// Computes for about this many microseconds.
fn compute(microseconds: u64, mut seed: u64) -> u64 {
    for _ in 0..microseconds * STEPS {
        seed = black_box(seed.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(9));
    }
    seed
}

/// A sequence that is the same for each subject.
struct Numbers(u64);

impl Numbers {
    /// A number from 0 up to 1.
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How the jobs come.
#[derive(Clone, Copy)]
pub(crate) enum Arrival {
    /// One by one, at random times, from a thread outside of the runtime.
    Alone,
    /// From a task, all jobs of a millisecond at once.
    Burst,
}

struct Job {
    due: Instant,
    /// In microseconds.
    work: u64,
    sleep: Duration,
}

/// Jobs at a rate, as requests come to a web server: a task receives the job, computes for 20 to 200 µs (47 on average),
/// takes a mutex, sleeps for 1 to 5 ms and sends the result. Latency counts from the due time and leaves out the sleep.
pub(crate) async fn web(arrival: Arrival, rate: u64, duration: Duration) -> Done {
    let mutexes: Arc<[Mutex<u64>]> = (0..MUTEXES).map(|_| Mutex::new(0)).collect();
    let (results, mut latencies) = mpsc::unbounded_channel();
    let receivers: Vec<_> = (0..RECEIVERS)
        .map(|index| {
            let (sender, jobs) = mpsc::unbounded_channel();
            tokio::spawn(serve(jobs, results.clone(), Arc::clone(&mutexes), index));
            sender
        })
        .collect();
    drop(results);
    let started_at = Instant::now();
    let jobs = Jobs {
        receivers,
        numbers: Numbers(0x9e37_79b9_7f4a_7c15),
        due: started_at,
        until: started_at + duration,
        rate: rate as f64,
        sent: 0,
    };
    match arrival {
        Arrival::Alone => {
            thread::spawn(move || jobs.send_alone());
        }
        Arrival::Burst => {
            tokio::spawn(jobs.send_bursts());
        }
    }
    let mut all = Latencies::default();
    while let Some(latency) = latencies.recv().await {
        all.record(latency);
    }
    Done {
        requests: all.count(),
        seconds: started_at.elapsed().as_secs_f64(),
        latency: all.percentiles(),
    }
}

async fn serve(
    mut jobs: mpsc::UnboundedReceiver<Job>,
    results: mpsc::UnboundedSender<Duration>,
    mutexes: Arc<[Mutex<u64>]>,
    index: usize,
) {
    while let Some(job) = jobs.recv().await {
        let computed = compute(job.work, index as u64);
        *mutexes[index % MUTEXES].lock().await ^= computed;
        sleep(job.sleep).await;
        let latency = job.due.elapsed().saturating_sub(job.sleep);
        results.send(latency).expect("the results are received");
    }
}

struct Jobs {
    receivers: Vec<mpsc::UnboundedSender<Job>>,
    numbers: Numbers,
    /// When the next job is due.
    due: Instant,
    until: Instant,
    rate: f64,
    sent: usize,
}

impl Jobs {
    fn send_alone(mut self) {
        while self.due < self.until {
            thread::sleep(self.due.saturating_duration_since(Instant::now()));
            self.send();
        }
    }

    async fn send_bursts(mut self) {
        let mut ticks = interval(Duration::from_millis(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while self.due < self.until {
            let now = ticks.tick().await.into_std();
            while self.due <= now.min(self.until) {
                self.send();
            }
        }
    }

    fn send(&mut self) {
        let job = Job {
            due: self.due,
            work: (20.0 * 10_f64.powf(self.numbers.next().powi(3))) as u64,
            sleep: Duration::from_micros((1_000.0 + 4_000.0 * self.numbers.next()) as u64),
        };
        let receiver = &self.receivers[self.sent % RECEIVERS];
        assert!(receiver.send(job).is_ok(), "the task receives");
        self.sent += 1;
        self.due += Duration::from_secs_f64(-(1.0 - self.numbers.next()).ln() / self.rate);
    }
}

/// Every 2 ms a task spawns `tasks` tasks that compute for this many microseconds, and awaits them all: one request.
pub(crate) async fn fork_and_join(tasks: u64, microseconds: u64, duration: Duration) -> Done {
    let started_at = Instant::now();
    let mut latencies = Latencies::default();
    while started_at.elapsed() < duration {
        sleep(Duration::from_millis(2)).await;
        let forked_at = Instant::now();
        let forked: Vec<_> = (0..tasks)
            .map(|seed| tokio::spawn(async move { compute(microseconds, seed) }))
            .collect();
        for task in forked {
            black_box(task.await.expect("a task that ends well"));
        }
        latencies.record(forked_at.elapsed());
    }
    Done {
        requests: latencies.count(),
        seconds: started_at.elapsed().as_secs_f64(),
        latency: latencies.percentiles(),
    }
}

/// Tasks that each sleep until the same time, every 5 ms; a wake-up is a request.
pub(crate) async fn timers(tasks: u64, duration: Duration) -> Done {
    const EVERY: Duration = Duration::from_millis(5);
    let started_at = tokio::time::Instant::now();
    let sleepers: Vec<_> = (0..tasks)
        .map(|_| {
            tokio::spawn(async move {
                let mut latencies = Latencies::default();
                let mut due = started_at + EVERY;
                while due < started_at + duration {
                    sleep_until(due).await;
                    latencies.record(due.elapsed());
                    due += EVERY;
                }
                latencies
            })
        })
        .collect();
    let mut all = Latencies::default();
    for sleeper in sleepers {
        all.add(&sleeper.await.expect("a task that ends well"));
    }
    Done {
        requests: all.count(),
        seconds: started_at.elapsed().as_secs_f64(),
        latency: all.percentiles(),
    }
}

/// A task queues another and then computes for 20 ms, every 30 ms. The latency is the time until the other begins.
pub(crate) async fn behind(duration: Duration) -> Done {
    let started_at = Instant::now();
    let mut latencies = Latencies::default();
    while started_at.elapsed() < duration {
        sleep(Duration::from_millis(10)).await;
        #[expect(clippy::async_yields_async, reason = "the handle is awaited once the worker is free")]
        let blocker = tokio::spawn(async {
            let queued_at = Instant::now();
            let behind = tokio::spawn(async move { queued_at.elapsed() });
            thread::sleep(Duration::from_millis(20));
            behind
        });
        let behind = blocker.await.expect("a task that ends well");
        latencies.record(behind.await.expect("a task that ends well"));
    }
    Done {
        requests: latencies.count(),
        seconds: started_at.elapsed().as_secs_f64(),
        latency: latencies.percentiles(),
    }
}
