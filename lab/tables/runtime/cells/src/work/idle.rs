//! What a runtime costs that has nothing to do: how long it takes to wake, what its tasks and channels
//! hold, and whether one task that blocks holds up the others.

use std::fs;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use super::unknown;
use crate::form::{Form, cores};
use crate::measurement::{Measurement, quantile};
use crate::primitives::{Notify, Primitives, Publisher};
use crate::runtime::{Purpose, Runtime, joined, spawn};
use crate::sampling::Budget;

pub(super) fn measure<P: Primitives>(form: Form, test: &str, budget: &Budget) -> Measurement {
    match test {
        "wake-up" => wake_up::<P>(form, budget),
        "blocked worker" => blocked_worker::<P>(form),
        "memory/task" => task_memory(form),
        "memory/channels" => channel_memory::<P>(),
        _ => unknown(test),
    }
}

/// From a notification by the main thread to the task that runs because of it.
fn wake_up<P: Primitives>(form: Form, budget: &Budget) -> Measurement {
    let runtime = Runtime::new(form, Purpose::Outside, cores());
    let shared = Arc::new((P::Notify::default(), WokenAt::new()));
    let for_task = Arc::clone(&shared);
    runtime.spawn(async move {
        loop {
            for_task.0.notified().await;
            for_task.1.note();
        }
    });
    let (notify, woken_at) = &*shared;
    woken_at.latencies(budget, || notify.notify_one())
}

/// When a sleeper woke, for the one who woke it.
pub(super) struct WokenAt {
    origin: Instant,
    /// In nanoseconds since the origin; 0 while it sleeps.
    at: AtomicU64,
}

impl WokenAt {
    pub(super) fn new() -> Self {
        let origin = Instant::now();
        Self {
            origin,
            at: AtomicU64::new(0),
        }
    }

    pub(super) fn note(&self) {
        // ORDERING: pairs with the load in `latencies`.
        self.at.store(self.now(), Release);
    }

    /// Wakes again and again, each time after a pause in which everything falls asleep.
    pub(super) fn latencies(&self, budget: &Budget, wake: impl Fn()) -> Measurement {
        const PAUSE: Duration = Duration::from_micros(500);
        let started_at = Instant::now();
        let mut latencies = Vec::new();
        while started_at.elapsed() < budget.warm_up + budget.measure {
            thread::sleep(PAUSE);
            self.at.store(0, Relaxed);
            let called_at = self.now();
            wake();
            let woken_at = loop {
                thread::sleep(PAUSE);
                // ORDERING: pairs with the store in `note`.
                let at = self.at.load(Acquire);
                if at != 0 {
                    break at;
                }
            };
            latencies.push((woken_at - called_at) as f64 / 1e3);
        }
        Measurement::new()
            .with("median", vec![quantile(&mut latencies, 0.5)])
            .with("p99", vec![quantile(&mut latencies, 0.99)])
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).expect("a cell is short")
    }
}

/// Of 64 tasks on 4 workers one blocks its thread. The longest that another waits to run.
fn blocked_worker<P: Primitives>(form: Form) -> Measurement {
    const WORKERS: usize = 4;
    const TASKS: usize = 64;
    const BLOCKER: usize = 16;
    const YIELDS: usize = 10;
    const BLOCKED: Duration = Duration::from_millis(500);
    let mut runtime = Runtime::new(form, Purpose::Inside, WORKERS);
    let longest = runtime.block_on(async {
        let mut handles = Vec::with_capacity(TASKS);
        for number in 0..TASKS {
            let mut before = Instant::now();
            handles.push(spawn(async move {
                if number == BLOCKER {
                    thread::sleep(BLOCKED);
                    return Duration::ZERO;
                }
                let mut longest = before.elapsed();
                for _ in 0..YIELDS {
                    before = Instant::now();
                    P::yield_now().await;
                    longest = longest.max(before.elapsed());
                }
                longest
            }));
        }
        let mut longest = Duration::ZERO;
        for handle in handles {
            longest = longest.max(joined(handle).await);
        }
        longest
    });
    Measurement::new().with("longest", vec![longest.as_secs_f64() * 1e3])
}

fn task_memory(form: Form) -> Measurement {
    const TASKS: usize = 100_000;
    let mut runtime = Runtime::new(form, Purpose::Inside, cores());
    let bytes = runtime.block_on(async {
        // Threads, queues and the allocator's first pages.
        wait_for_ever(1_000).await;
        let before = resident_bytes();
        wait_for_ever(TASKS).await;
        resident_bytes() - before
    });
    Measurement::new().with("task", vec![bytes / TASKS as f64])
}

/// Spawns tasks that never end, and comes back when all have been polled.
async fn wait_for_ever(tasks: usize) {
    let polled = Arc::new(AtomicU64::new(0));
    for _ in 0..tasks {
        let polled = Arc::clone(&polled);
        drop(spawn(async move {
            // ORDERING: pairs with the load below.
            polled.fetch_add(1, Release);
            drop(polled);
            // A task that nobody can wake may be dropped, so each keeps its own waker.
            let mut waker = None;
            poll_fn(|cx| {
                waker = Some(cx.waker().clone());
                Poll::<()>::Pending
            })
            .await;
        }));
    }
    // ORDERING: pairs with the additions above.
    while polled.load(Acquire) < tasks as u64 {
        joined(spawn(async {})).await;
    }
}

fn channel_memory<P: Primitives>() -> Measurement {
    const CAPACITY: usize = 16;
    Measurement::new()
        .with("oneshot", vec![bytes_each(P::oneshot::<u64>)])
        .with("bounded", vec![bytes_each(|| P::bounded::<u64>(CAPACITY))])
        .with("unbounded", vec![bytes_each(P::unbounded::<u64>)])
        .with("watch", vec![bytes_each(subscribed::<P::Watch>)])
}

fn subscribed<C: Publisher>() -> (C, C::Subscriber) {
    let publisher = C::new();
    let subscriber = publisher.subscribe();
    (publisher, subscriber)
}

/// Of a channel with both its ends, and the place where they are kept.
fn bytes_each<Channel>(make: impl Fn() -> Channel) -> f64 {
    const CHANNELS: usize = 20_000;
    drop(make());
    let before = resident_bytes();
    let channels: Vec<Channel> = (0..CHANNELS).map(|_| make()).collect();
    let bytes = resident_bytes() - before;
    // Memory that was given back would be used again, and not be seen.
    std::mem::forget(channels);
    bytes / CHANNELS as f64
}

fn resident_bytes() -> f64 {
    let statistics = fs::read_to_string("/proc/self/statm").expect("the system tells");
    let pages = statistics
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<f64>().ok());
    pages.expect("the second number") * rustix::param::page_size() as f64
}
