//! Timers: the document's, which never reach the timer wheel, and timers that are registered, cancelled and fired.

use std::hint;
use std::time::Duration;

use lab::{Lab, Samples};

use super::unknown;
use crate::form::{Form, cores};
use crate::primitives::Primitives;
use crate::runtime::{JoinHandle, Purpose, Runtime, joined, sleep, spawn_pinned, timeout};
use crate::sampling::{Unit, processor_time, sample};

const SECOND: Duration = Duration::from_secs(1);
const MANY: usize = 8;

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    if test == "fired" {
        return fired(form, lab);
    }
    let (tasks, workers, start): (_, _, Start) = match test {
        "single_thread_timeout" => (1, 1, ready_at_once),
        "single_thread_sleep" => (1, 1, never_polled),
        "multi_thread_timeout-8" => (MANY, form.workers(MANY), ready_at_once),
        "multi_thread_sleep-8" => (MANY, form.workers(MANY), never_polled),
        "cancelled/1" => (1, 1, cancelled::<P>),
        "cancelled/8" => (MANY, form.workers(MANY), cancelled::<P>),
        _ => unknown(test),
    };
    let mut runtime = Runtime::new(form, Purpose::Timers, workers);
    sample(lab, Unit::Nanoseconds, |turns| {
        let each = turns.div_ceil(tasks as u64);
        let done = runtime.block_on(async {
            let handles: Vec<_> = (0..tasks).map(|_| start(each)).collect();
            let mut done = 0;
            for handle in handles {
                done += joined(handle).await;
            }
            done
        });
        assert_eq!(done, each * tasks as u64, "timers done");
    })
}

/// Spawns a task that runs this many timers.
type Start = fn(u64) -> JoinHandle<u64>;

fn ready_at_once(timers: u64) -> JoinHandle<u64> {
    spawn_pinned(move || async move {
        let mut done = 0;
        for _ in 0..timers {
            let found = timeout(SECOND, async { hint::black_box(1) }).await;
            // A `Result` in one runtime and an `Option` in the other; both iterate over the value.
            done += found.into_iter().sum::<u64>();
        }
        done
    })
}

fn never_polled(timers: u64) -> JoinHandle<u64> {
    spawn_pinned(move || async move {
        for _ in 0..timers {
            drop(hint::black_box(sleep(SECOND)));
        }
        timers
    })
}

/// Each timer waits for one turn of the scheduler, so it is registered, and is then dropped.
fn cancelled<P: Primitives>(timers: u64) -> JoinHandle<u64> {
    spawn_pinned(move || async move {
        let mut done = 0;
        for _ in 0..timers {
            let found = timeout(SECOND, P::yield_now()).await;
            done += found.into_iter().count() as u64;
        }
        done
    })
}

/// A thousand tasks sleep for 1 to 20 ms. Measures only the processor time, not the wait.
fn fired(form: Form, lab: &Lab) -> Samples {
    const TIMERS: usize = 1_000;
    let mut runtime = Runtime::new(form, Purpose::Timers, cores());
    let mut turn = || {
        let before = processor_time();
        runtime.block_on(async {
            let handles: Vec<_> = (0..TIMERS)
                .map(|number| {
                    let duration = Duration::from_micros(1_000 + 19 * number as u64);
                    spawn_pinned(move || async move { sleep(duration).await })
                })
                .collect();
            for handle in handles {
                joined(handle).await;
            }
        });
        let microseconds = (processor_time() - before).as_secs_f64() * 1e6;
        Samples::from([("processor", microseconds / TIMERS as f64)])
    };
    turn();
    lab.serve(|_| turn())
}
