//! The cost of a runtime with little to do: how long it takes to wake, and how often it does.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, Samples};

use super::unknown;
use crate::form::{Form, cores};
use crate::primitives::{Notify, Primitives};
use crate::runtime::{Purpose, Runtime, joined, sleep, spawn_pinned};
use crate::sampling::{processor_time, sample_latencies};

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    match test {
        "wake-up" => wake_up::<P>(form, lab),
        "interval" => interval(form, lab),
        _ => unknown(test),
    }
}

/// The time from a notification by the main thread until the notified task runs.
fn wake_up<P: Primitives>(form: Form, lab: &Lab) -> Samples {
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
    woken_at.latencies(lab, || notify.notify_one())
}

/// The time at which a sleeper woke, for the thread that wakes it.
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
        // ORDERING: Release pairs with the Acquire load in `latencies`, so the waker sees what ran before.
        self.at.store(self.now(), Release);
    }

    /// Wakes repeatedly, each time after a pause in which all threads fall asleep.
    pub(super) fn latencies(&self, lab: &Lab, wake: impl Fn()) -> Samples {
        const PAUSE: Duration = Duration::from_micros(500);
        sample_latencies(lab, || {
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
            (woken_at - called_at) as f64 / 1e3
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).expect("a cell is short")
    }
}

/// A task that sleeps for 100 ms in a loop: its cost per second, while nothing else runs.
fn interval(form: Form, lab: &Lab) -> Samples {
    const PERIOD: Duration = Duration::from_millis(100);
    const TICKS: u32 = 4;
    let mut runtime = Runtime::new(form, Purpose::Inside, cores());
    let mut ticks = |count| {
        runtime.block_on(async {
            joined(spawn_pinned(move || async move {
                for _ in 0..count {
                    sleep(PERIOD).await;
                }
            }))
            .await;
        });
    };
    // By then all threads have started and are idle.
    ticks(1);
    lab.serve(|_| {
        let (processor, switches) = (processor_time(), context_switches());
        ticks(TICKS);
        let seconds = (TICKS * PERIOD).as_secs_f64();
        let processor = (processor_time() - processor).as_secs_f64() * 1e6;
        Samples::from([
            ("switches", (context_switches() - switches) / seconds),
            ("processor", processor / seconds),
        ])
    })
}

/// Context switches of all threads of this process, voluntary and involuntary.
pub(super) fn context_switches() -> f64 {
    let threads = fs::read_dir("/proc/self/task").expect("/proc/self/task can be read");
    threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("status")).ok())
        .flat_map(|status| {
            let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
            let numbers = counts.filter_map(|line| line.split_whitespace().last()?.parse().ok());
            numbers.collect::<Vec<f64>>()
        })
        .sum()
}
