//! Acquires and releases a permit six times, with permits for all and with too few.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures::future::join_all;
use lab::{Lab, Samples};

use super::unknown;
use crate::form::Form;
use crate::primitives::{Primitives, Semaphore};
use crate::runtime::{Purpose, Runtime, joined, spawn};
use crate::sampling::{Unit, sample};

const WORKERS: usize = 6;
const TURNS: usize = 6;

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    let (permits, how) = match test.split_once('/') {
        Some(("uncontented", how)) => (10, how),
        Some(("contention", how)) => (5, how),
        _ => unknown(test),
    };
    let (workers, turn) = match how {
        "multi" => (form.workers(WORKERS), one_after_the_other::<P> as Turn<P>),
        "concurrent_multi" => (form.workers(WORKERS), in_tasks::<P> as Turn<P>),
        "concurrent_single" => (1, at_once::<P> as Turn<P>),
        _ => unknown(test),
    };
    let mut runtime = Runtime::new(form, Purpose::Inside, workers);
    let semaphore = Arc::new(P::Semaphore::new(permits));
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            assert_eq!(turn(&mut runtime, &semaphore), TURNS, "permits taken");
        }
    })
}

type Turn<P> = fn(&mut Runtime, &Arc<<P as Primitives>::Semaphore>) -> usize;

fn one_after_the_other<P: Primitives>(
    runtime: &mut Runtime,
    semaphore: &Arc<P::Semaphore>,
) -> usize {
    runtime.block_on(async {
        let mut taken = 0;
        for _ in 0..TURNS {
            semaphore.turn().await;
            taken += 1;
        }
        taken
    })
}

fn in_tasks<P: Primitives>(runtime: &mut Runtime, semaphore: &Arc<P::Semaphore>) -> usize {
    runtime.block_on(async {
        let tasks: [_; TURNS] = std::array::from_fn(|_| {
            let semaphore = Arc::clone(semaphore);
            spawn(async move { semaphore.turn().await })
        });
        let mut taken = 0;
        for task in tasks {
            joined(task).await;
            taken += 1;
        }
        taken
    })
}

fn at_once<P: Primitives>(runtime: &mut Runtime, semaphore: &Arc<P::Semaphore>) -> usize {
    runtime.block_on(async {
        let taken = AtomicUsize::new(0);
        join_all((0..TURNS).map(|_| async {
            semaphore.turn().await;
            taken.fetch_add(1, Relaxed);
        }))
        .await;
        taken.into_inner()
    })
}
