//! Threads that each make one request after the other.

use std::thread;
use std::time::{Duration, Instant};

use protocol::{Done, Latencies};

pub(crate) fn ask(threads: usize, duration: Duration, request: &(impl Fn(usize) + Sync)) -> Done {
    let started_at = Instant::now();
    let until = started_at + duration;
    let mut all = Latencies::default();
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || ask_in_turn(thread, until, request)))
            .collect();
        for thread in running {
            all.add(&thread.join().expect("a thread that ends well"));
        }
    });
    Done {
        requests: all.count(),
        seconds: started_at.elapsed().as_secs_f64(),
        latency: all.percentiles(),
    }
}

fn ask_in_turn(thread: usize, until: Instant, request: &impl Fn(usize)) -> Latencies {
    let mut latencies = Latencies::default();
    let mut now = Instant::now();
    while now < until {
        let asked_at = now;
        request(thread);
        now = Instant::now();
        latencies.record(now - asked_at);
    }
    latencies
}
