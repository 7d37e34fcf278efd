//! When a task runs, or a timer fires, while other tasks occupy their workers by blocking or computing.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use lab::{Lab, Samples};

use super::computing::Computing;
use super::unknown;
use crate::beside;
use crate::form::{Form, cores};
use crate::primitives::Primitives;
use crate::runtime::{Purpose, Runtime, joined, sleep, spawn, spawn_pinned};
use crate::sampling::{sample_latencies, spread};

const TASKS: usize = 64;
const WORKERS: usize = 4;
const BLOCKED: Duration = Duration::from_millis(100);

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    match test {
        "blocked neighbours" => blocked_neighbours(form, lab),
        "computing spawner" => computing_spawner(form, lab),
        "computing neighbours" => computing_neighbours::<P>(form, lab),
        _ => unknown(test),
    }
}

/// Three of 64 tasks on 4 workers block their threads until all others have run, or for 100 ms.
fn blocked_neighbours(form: Form, lab: &Lab) -> Samples {
    const BLOCKERS: [usize; 3] = [5, 25, 45];
    let runtime = Runtime::new(form, Purpose::Outside, WORKERS);
    sample_latencies(lab, || {
        let (ran, have_run) = mpsc::channel();
        let mut gates = Vec::with_capacity(BLOCKERS.len());
        for number in 0..TASKS {
            let ran = ran.clone();
            if BLOCKERS.contains(&number) {
                let (gate, opened) = mpsc::channel::<()>();
                gates.push(gate);
                runtime.spawn(async move {
                    let _ = opened.recv_timeout(BLOCKED);
                    ran.send(Duration::ZERO).expect("the main thread waits");
                });
            } else {
                let spawned_at = Instant::now();
                runtime.spawn(async move {
                    ran.send(spawned_at.elapsed())
                        .expect("the main thread waits");
                });
            }
        }
        let waited = |tasks| have_run.iter().take(tasks).max().expect("tasks run");
        let others = waited(TASKS - BLOCKERS.len());
        drop(gates);
        milliseconds(others.max(waited(BLOCKERS.len())))
    })
}

/// A task spawns another one, and computes for a millisecond before it awaits that one.
fn computing_spawner(form: Form, lab: &Lab) -> Samples {
    let computing = Computing::of(Duration::from_millis(1));
    let mut runtime = Runtime::new(form, Purpose::Inside, cores());
    sample_latencies(lab, || {
        runtime.block_on(async {
            let spawner = spawn(async move {
                let spawned_at = Instant::now();
                let begins = spawn(async move { spawned_at.elapsed() });
                computing.run();
                joined(begins).await
            });
            joined(spawner).await.as_secs_f64() * 1e6
        })
    })
}

/// `sleep(5 ms)` in a loop, beside two tasks on two workers that compute for 5 ms between two yields.
fn computing_neighbours<P: Primitives>(form: Form, lab: &Lab) -> Samples {
    const SLEEP: Duration = Duration::from_millis(5);
    let computing = Computing::of(SLEEP);
    let mut runtime = Runtime::new(form, Purpose::Inside, 2);
    runtime.block_on(async {
        for _ in 0..2 {
            spawn(async move {
                loop {
                    beside::while_on().await;
                    computing.run();
                    P::yield_now().await;
                }
            });
        }
    });
    lab.serve(|duration| {
        beside::switch(true);
        let mut late = runtime.block_on(async {
            let sleeper = spawn_pinned(move || async move {
                let started_at = Instant::now();
                let mut late = Vec::new();
                while started_at.elapsed() < duration {
                    let slept_at = Instant::now();
                    sleep(SLEEP).await;
                    let slept = slept_at.elapsed();
                    assert!(slept >= SLEEP, "sleep({SLEEP:?}) ended after {slept:.1?}");
                    late.push(milliseconds(slept - SLEEP));
                }
                late
            });
            joined(sleeper).await
        });
        beside::switch(false);
        spread(&mut late)
    })
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
