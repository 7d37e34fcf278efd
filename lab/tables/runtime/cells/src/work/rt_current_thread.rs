//! One worker: a thousand tasks spawned by the future passed to `block_on`.

use lab::{Lab, Samples};

use super::unknown;
use crate::beside;
use crate::form::Form;
use crate::runtime::{Purpose, Runtime, joined, spawn};
use crate::sampling::{Unit, sample_beside};

const TASKS: usize = 1_000;

pub(super) fn measure(form: Form, test: &str, lab: &Lab) -> Samples {
    let mut runtime = Runtime::new(form, Purpose::Inside, 1);
    match test {
        "rt_spawn_many_local" => {}
        "spawn_many_remote_busy" => runtime.block_on(async { keep_busy() }),
        _ => unknown(test),
    }
    sample_beside(lab, Unit::Microseconds, beside::switch, |turns| {
        for _ in 0..turns {
            runtime.block_on(spawn_and_join());
        }
    })
}

async fn spawn_and_join() {
    let mut handles = Vec::with_capacity(TASKS);
    for _ in 0..TASKS {
        handles.push(spawn(async {}));
    }
    for handle in handles {
        joined(handle).await;
    }
}

/// From now on a task is ready throughout a slice.
fn keep_busy() {
    spawn(async {
        beside::while_on().await;
        keep_busy();
    });
}
