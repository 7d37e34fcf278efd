//! How late timers fire. None may fire early, not even a timer of a task that has just computed for a long time.

use std::hint;
use std::time::{Duration, Instant};

use lab::{Lab, Samples};

use crate::form::{Form, cores};
use crate::runtime::{Purpose, Runtime, joined, sleep, spawn_pinned};
use crate::sampling::spread;

const SLEEPERS: usize = 100;

pub(super) fn measure(form: Form, lab: &Lab) -> Samples {
    let mut runtime = Runtime::new(form, Purpose::Timers, cores());
    runtime.block_on(async {
        let (work, wait) = (Duration::from_millis(20), Duration::from_millis(30));
        joined(spawn_pinned(move || lateness_after(work, wait))).await
    });
    lab.serve(|_| {
        let mut late = runtime.block_on(async {
            let handles: Vec<_> = durations()
                .map(|duration| spawn_pinned(move || lateness_after(Duration::ZERO, duration)))
                .collect();
            let mut late = Vec::with_capacity(SLEEPERS);
            for handle in handles {
                late.push(joined(handle).await);
            }
            late
        });
        spread(&mut late)
    })
}

/// From 1 to 40 ms, so that some end together and some alone.
pub(super) fn durations() -> impl Iterator<Item = Duration> {
    (0..SLEEPERS).map(|number| Duration::from_micros(1_000 + 390 * number as u64))
}

/// In microseconds.
async fn lateness_after(work: Duration, wait: Duration) -> f64 {
    let started_at = Instant::now();
    while started_at.elapsed() < work {
        hint::spin_loop();
    }
    let slept_at = Instant::now();
    sleep(wait).await;
    let slept = slept_at.elapsed();
    assert!(
        slept >= wait,
        "sleep({wait:?}), called after {work:?} of work, ended after {slept:.1?}"
    );
    (slept - wait).as_secs_f64() * 1e6
}
