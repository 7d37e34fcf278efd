//! Empty blocking calls, sixteen at a time from each of some tasks.

use lab::{Lab, Samples};

use crate::form::{Form, cores};
use crate::runtime::{Purpose, Runtime, joined, spawn, spawn_blocking};
use crate::sampling::{Unit, sample};

const BATCHES: usize = 100;
const CALLS: usize = 16;

pub(super) fn measure(form: Form, tasks: usize, lab: &Lab) -> Samples {
    // At least two, because the test is about workers and blocking threads on one core too.
    let mut runtime = Runtime::new(form, Purpose::Inside, cores().max(2));
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            let done: usize = runtime.block_on(async {
                let callers: Vec<_> = (0..tasks).map(|_| spawn(call())).collect();
                let mut done = 0;
                for caller in callers {
                    done += joined(caller).await;
                }
                done
            });
            assert_eq!(done, tasks * BATCHES * CALLS, "calls done");
        }
    })
}

async fn call() -> usize {
    let mut done = 0;
    for _ in 0..BATCHES {
        let calls: Vec<_> = (0..CALLS).map(|_| spawn_blocking(|| {})).collect();
        for call in calls {
            joined(call).await;
            done += 1;
        }
    }
    done
}
