//! Tasks that yield once and return a number.

use lab::{Lab, Samples};

use super::{last_number, unknown};
use crate::form::Form;
use crate::primitives::Primitives;
use crate::runtime::{Purpose, Runtime, joined, spawn};
use crate::sampling::{Unit, sample};

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    let workers = if test.starts_with("basic_scheduler_spawn_") {
        1
    } else if test.starts_with("threaded_scheduler_spawn_") {
        2
    } else {
        unknown(test)
    };
    let tasks = last_number(test);
    let mut runtime = Runtime::new(form, Purpose::Inside, workers);
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            let sum: usize = runtime.block_on(async {
                let mut handles = Vec::with_capacity(tasks);
                for _ in 0..tasks {
                    handles.push(spawn(async {
                        P::yield_now().await;
                        2
                    }));
                }
                let mut sum = 0;
                for handle in handles {
                    sum += joined(handle).await;
                }
                sum
            });
            assert_eq!(sum, 2 * tasks, "the sum of what the tasks returned");
        }
    })
}
