//! The work that no runtime can avoid, without a runtime.

use std::collections::VecDeque;
use std::hint;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use futures::FutureExt;

use super::fork_join;
use super::formatting::{Numbers, work};
use super::idle::WokenAt;
use super::sync_mpsc::MESSAGES;
use super::sync_publish::ROUNDS;
use super::timer_accuracy::durations;
use super::{last_number, unknown};
use crate::form::cores;
use crate::measurement::{Measurement, quantile};
use crate::sampling::{Budget, Unit, sample};

pub(super) fn measure(test: &str, budget: &Budget) -> Measurement {
    match test {
        "wake-up" => parked_thread(budget),
        "sleep" => sleeping_thread(),
        "queue" => queue(budget),
        _ => match test.split_once('/') {
            Some(("polled", _)) => polled(last_number(test), budget),
            Some(("worked", _)) => worked(last_number(test), budget),
            Some(("fork_join", work)) => fork_join::possible(work, budget),
            _ => unknown(test),
        },
    }
}

/// A thread that parks, woken by another.
fn parked_thread(budget: &Budget) -> Measurement {
    let woken_at = Arc::new(WokenAt::new());
    let for_thread = Arc::clone(&woken_at);
    let sleeper = thread::spawn(move || {
        loop {
            thread::park();
            for_thread.note();
        }
    });
    woken_at.latencies(budget, || sleeper.thread().unpark())
}

/// A thread that sleeps for each of the times.
fn sleeping_thread() -> Measurement {
    let mut late: Vec<f64> = durations()
        .step_by(10)
        .map(|duration| {
            let slept_at = Instant::now();
            thread::sleep(duration);
            (slept_at.elapsed() - duration).as_secs_f64() * 1e6
        })
        .collect();
    Measurement::new()
        .with("median", vec![quantile(&mut late, 0.5)])
        .with("p99", vec![quantile(&mut late, 0.99)])
}

/// Boxed futures, polled by the thread that made them.
fn polled(futures: usize, budget: &Budget) -> Measurement {
    sample(budget, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            let mut sum = 0;
            for number in 0..futures {
                let future = hint::black_box(async move { number }.boxed());
                sum += future.now_or_never().expect("it waits for nothing");
            }
            assert_eq!(
                sum,
                futures * (futures - 1) / 2,
                "what the futures returned"
            );
        }
    })
}

/// The receivers' work on the values, on all cores, by independent threads.
fn worked(receivers: usize, budget: &Budget) -> Measurement {
    let threads = cores();
    sample(budget, Unit::Microseconds, |turns| {
        let all = turns as usize * ROUNDS * receivers;
        thread::scope(|scope| {
            for seed in 0..threads {
                scope.spawn(move || {
                    let mut numbers = Numbers::seeded(seed);
                    for _ in 0..all / threads {
                        hint::black_box(work(&mut numbers));
                    }
                });
            }
        });
    })
}

/// Passes the messages through a queue of one thread.
fn queue(budget: &Budget) -> Measurement {
    sample(budget, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            let mut queue = VecDeque::new();
            for number in 0..MESSAGES {
                queue.push_back(hint::black_box(number));
            }
            let sum: usize = std::iter::from_fn(|| queue.pop_front()).sum();
            assert_eq!(sum, MESSAGES * (MESSAGES - 1) / 2, "the sum of all numbers");
        }
    })
}
