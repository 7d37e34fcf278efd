//! When a task runs, or a timer fires, while other tasks occupy their workers by blocking or computing.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::computing::Computing;
use super::unknown;
use crate::form::{Form, cores};
use crate::measurement::{Measurement, quantile};
use crate::primitives::Primitives;
use crate::runtime::{Purpose, Runtime, joined, sleep, spawn, spawn_pinned};
use crate::sampling::Budget;

const TASKS: usize = 64;
const WORKERS: usize = 4;
const BLOCKED: Duration = Duration::from_millis(500);

pub(super) fn measure<P: Primitives>(form: Form, test: &str, budget: &Budget) -> Measurement {
    match test {
        "blocked worker" => blocked_worker::<P>(form),
        "blocked neighbours" => blocked_neighbours(form, budget),
        "computing spawner" => computing_spawner(form, budget),
        "computing neighbours" => computing_neighbours::<P>(form, budget),
        _ => unknown(test),
    }
}

/// Of 64 tasks on 4 workers one blocks its thread. Measures the longest wait of another.
fn blocked_worker<P: Primitives>(form: Form) -> Measurement {
    const BLOCKER: usize = 16;
    const YIELDS: usize = 10;
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
    Measurement::new().with("longest", vec![milliseconds(longest)])
}

/// Of 64 tasks on 4 workers three block their threads until all others have run, or for half a second.
fn blocked_neighbours(form: Form, budget: &Budget) -> Measurement {
    const BLOCKERS: [usize; 3] = [5, 25, 45];
    let runtime = Runtime::new(form, Purpose::Outside, WORKERS);
    let started_at = Instant::now();
    let mut longest = Vec::new();
    while longest.is_empty() || started_at.elapsed() < budget.measure {
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
        longest.push(milliseconds(others.max(waited(BLOCKERS.len()))));
    }
    Measurement::new().with("longest", vec![quantile(&mut longest, 0.5)])
}

/// A task spawns another and computes for a millisecond before it awaits it.
fn computing_spawner(form: Form, budget: &Budget) -> Measurement {
    let computing = Computing::of(Duration::from_millis(1));
    let mut runtime = Runtime::new(form, Purpose::Inside, cores());
    let mut turn = || {
        runtime.block_on(async {
            let spawner = spawn(async move {
                let spawned_at = Instant::now();
                let begins = spawn(async move { spawned_at.elapsed() });
                computing.run();
                joined(begins).await
            });
            joined(spawner).await.as_secs_f64() * 1e6
        })
    };
    let started_at = Instant::now();
    while started_at.elapsed() < budget.warm_up {
        turn();
    }
    let mut waited = Vec::new();
    while waited.is_empty() || started_at.elapsed() < budget.warm_up + budget.measure {
        waited.push(turn());
    }
    Measurement::new()
        .with("median", vec![quantile(&mut waited, 0.5)])
        .with("p99", vec![quantile(&mut waited, 0.99)])
}

/// `sleep(5 ms)` in a loop, beside two tasks on two workers that compute for 5 ms between two yields.
fn computing_neighbours<P: Primitives>(form: Form, budget: &Budget) -> Measurement {
    const SLEEP: Duration = Duration::from_millis(5);
    let fewest = 20;
    let computing = Computing::of(SLEEP);
    let mut runtime = Runtime::new(form, Purpose::Inside, 2);
    let is_over = Arc::new(AtomicBool::new(false));
    let measured_for = budget.measure;
    let mut late: Vec<f64> = runtime.block_on(async {
        let neighbours = [(); 2].map(|()| {
            let is_over = Arc::clone(&is_over);
            spawn(async move {
                while !is_over.load(Relaxed) {
                    computing.run();
                    P::yield_now().await;
                }
            })
        });
        let sleeper = spawn_pinned(move || async move {
            let started_at = Instant::now();
            let mut late = Vec::new();
            while late.len() < fewest || started_at.elapsed() < measured_for {
                let slept_at = Instant::now();
                sleep(SLEEP).await;
                let slept = slept_at.elapsed();
                assert!(slept >= SLEEP, "sleep({SLEEP:?}) ended after {slept:.1?}");
                late.push(milliseconds(slept - SLEEP));
            }
            late
        });
        let late = joined(sleeper).await;
        is_over.store(true, Relaxed);
        for neighbour in neighbours {
            joined(neighbour).await;
        }
        late
    });
    Measurement::new()
        .with("median", vec![quantile(&mut late, 0.5)])
        .with("longest", vec![quantile(&mut late, 1.0)])
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
