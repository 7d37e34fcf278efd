//! The work that no runtime can avoid, without a runtime.

use std::collections::VecDeque;
use std::hint;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use futures::FutureExt;
use lab::{Lab, Samples};

use super::fork_join;
use super::formatting::{Numbers, work};
use super::idle::WokenAt;
use super::server;
use super::sync_mpsc::MESSAGES;
use super::sync_publish::ROUNDS;
use super::timer_accuracy::durations;
use super::{last_number, unknown};
use crate::form::cores;
use crate::sampling::{Unit, sample, spread};

pub(super) fn measure(test: &str, lab: &Lab) -> Samples {
    match test {
        "wake-up" => parked_thread(lab),
        "sleep" => sleeping_thread(lab),
        "queue" => queue(lab),
        _ => match test.split_once('/') {
            Some(("polled", _)) => polled(last_number(test), lab),
            Some(("worked", _)) => worked(last_number(test), lab),
            Some(("fork_join", work)) => fork_join::possible(work, lab),
            Some(("server", _)) => server::computing_alone(lab),
            _ => unknown(test),
        },
    }
}

/// A thread that parks, woken by another.
fn parked_thread(lab: &Lab) -> Samples {
    let woken_at = Arc::new(WokenAt::new());
    let for_thread = Arc::clone(&woken_at);
    let sleeper = thread::spawn(move || {
        loop {
            thread::park();
            for_thread.note();
        }
    });
    woken_at.latencies(lab, || sleeper.thread().unpark())
}

/// A thread that sleeps for each of the times.
fn sleeping_thread(lab: &Lab) -> Samples {
    lab.serve(|_| {
        let late = durations().step_by(10).map(|duration| {
            let slept_at = Instant::now();
            thread::sleep(duration);
            (slept_at.elapsed() - duration).as_secs_f64() * 1e6
        });
        spread(&mut late.collect::<Vec<_>>())
    })
}

/// Boxed futures, polled by the thread that made them.
fn polled(futures: usize, lab: &Lab) -> Samples {
    sample(lab, Unit::Microseconds, |turns| {
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
fn worked(receivers: usize, lab: &Lab) -> Samples {
    let threads = cores();
    sample(lab, Unit::Microseconds, |turns| {
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
fn queue(lab: &Lab) -> Samples {
    sample(lab, Unit::Microseconds, |turns| {
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
