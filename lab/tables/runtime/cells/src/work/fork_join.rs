//! Spawns and awaits a few tasks that compute: `<by whom>/<tasks>x<microseconds>`.

use std::time::Duration;

use super::computing::Computing;
use super::unknown;
use crate::form::{Form, cores};
use crate::measurement::Measurement;
use crate::runtime::{Purpose, Runtime, joined, spawn};
use crate::sampling::{Budget, Unit, sample};

pub(super) fn measure(form: Form, test: &str, budget: &Budget) -> Measurement {
    let Some((by, work)) = test.split_once('/') else {
        unknown(test);
    };
    let (tasks, computing) = described(work);
    let mut runtime = Runtime::new(form, Purpose::Inside, cores());
    sample(budget, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            let done = runtime.block_on(async {
                match by {
                    "block_on" => fork_and_join(tasks, computing).await,
                    "task" => joined(spawn(fork_and_join(tasks, computing))).await,
                    _ => unknown(by),
                }
            });
            assert_eq!(done, tasks, "tasks done");
        }
    })
}

/// The lower bound: the cores share the tasks, without overhead.
pub(super) fn possible(work: &str, budget: &Budget) -> Measurement {
    let (tasks, computing) = described(work);
    sample(budget, Unit::Microseconds, |turns| {
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
