//! Work that a subject does for itself: tasks that each make one request after the other.
//!
//! Invariant: every request that has begun is counted and checked.

use std::time::{Duration, Instant};

use protocol::{Done, Latencies};

/// A target of requests that several tasks can use at once.
pub(crate) trait Asked: Clone + Send + 'static {
    /// Makes a request and checks its answer. Each task has its own number.
    fn ask(&self, task: usize, turn: u64) -> impl Future<Output = ()> + Send;
}

pub(crate) async fn ask(asked: impl Asked, tasks: usize, duration: Duration) -> Done {
    let started_at = Instant::now();
    let until = started_at + duration;
    let running: Vec<_> = (0..tasks)
        .map(|task| tokio::spawn(ask_in_turn(asked.clone(), task, until)))
        .collect();
    let mut all = Latencies::default();
    for task in running {
        all.add(&task.await.expect("a task that ends well"));
    }
    Done {
        requests: all.count(),
        seconds: started_at.elapsed().as_secs_f64(),
        latency: all.percentiles(),
    }
}

async fn ask_in_turn(asked: impl Asked, task: usize, until: Instant) -> Latencies {
    let mut latencies = Latencies::default();
    let mut now = Instant::now();
    while now < until {
        let asked_at = now;
        asked.ask(task, latencies.count()).await;
        now = Instant::now();
        latencies.record(now - asked_at);
    }
    latencies
}
