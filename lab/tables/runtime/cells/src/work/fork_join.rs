//! Spawns and awaits a few tasks that compute: `<by whom>/<tasks>x<microseconds>`.

use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, Samples};

use super::computing::Computing;
use super::unknown;
use crate::form::{Form, cores};
use crate::runtime::{Purpose, Runtime, joined, spawn};
use crate::sampling::{Unit, processor_time, sample};

pub(super) fn measure(form: Form, test: &str, lab: &Lab) -> Samples {
    let Some((by, work)) = test.split_once('/') else {
        unknown(test);
    };
    let (tasks, computing) = described(work);
    let mut runtime = Runtime::new(form, Purpose::Inside, cores());
    let mut turn = || {
        let done = runtime.block_on(async {
            match by {
                "block_on" => fork_and_join(tasks, computing).await,
                "task" | "idle" => joined(spawn(fork_and_join(tasks, computing))).await,
                _ => unknown(by),
            }
        });
        assert_eq!(done, tasks, "tasks done");
    };
    if by == "idle" {
        return sample_after_pauses(lab, turn);
    }
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            turn();
        }
    })
}

/// Each turn begins after a pause in which the workers fall asleep. `processor` includes the pause, `time` does not.
fn sample_after_pauses(lab: &Lab, mut turn: impl FnMut()) -> Samples {
    const PAUSE: Duration = Duration::from_millis(1);
    lab.serve(|duration| {
        let since = Instant::now();
        let processor_before = processor_time();
        let (mut time, mut turns) = (Duration::ZERO, 0.0);
        while since.elapsed() < duration {
            thread::sleep(PAUSE);
            let started_at = Instant::now();
            turn();
            time += started_at.elapsed();
            turns += 1.0;
        }
        let processor = processor_time() - processor_before;
        Samples::from([
            ("time", time.as_secs_f64() * 1e6 / turns),
            ("processor", processor.as_secs_f64() * 1e6 / turns),
        ])
    })
}

/// The lower bound: the cores share the tasks, without overhead.
pub(super) fn possible(work: &str, lab: &Lab) -> Samples {
    let (tasks, computing) = described(work);
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns * tasks.div_ceil(cores()) as u64 {
            computing.run();
        }
    })
}

/// Parses `4x300`.
fn described(work: &str) -> (usize, Computing) {
    let numbers = work
        .split_once('x')
        .and_then(|(tasks, micros)| Some((tasks.parse().ok()?, micros.parse().ok()?)));
    let (tasks, micros) = numbers.unwrap_or_else(|| unknown(work));
    (tasks, Computing::of(Duration::from_micros(micros)))
}

async fn fork_and_join(tasks: usize, computing: Computing) -> usize {
    let handles: Vec<_> = (0..tasks)
        .map(|_| {
            spawn(async move {
                computing.run();
                1
            })
        })
        .collect();
    let mut done = 0;
    for handle in handles {
        done += joined(handle).await;
    }
    done
}
