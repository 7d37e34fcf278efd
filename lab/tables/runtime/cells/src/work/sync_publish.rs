//! One value for many receivers, which all process it before the next one is sent: broadcast and watch.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use lab::{Lab, Samples};

use super::formatting::{Numbers, work};
use crate::form::Form;
use crate::primitives::{Notify, Primitives, Publisher, Subscriber};
use crate::runtime::{Purpose, Runtime, spawn};
use crate::sampling::{Unit, sample};

const WORKERS: usize = 6;
pub(super) const ROUNDS: usize = 100;

pub(super) fn measure<P: Primitives, C: Publisher>(
    form: Form,
    receivers: usize,
    lab: &Lab,
) -> Samples {
    let mut runtime = Runtime::new(form, Purpose::Inside, form.workers(WORKERS));
    let channel = C::new();
    let working = Arc::new((AtomicUsize::new(0), P::Notify::default()));
    // Created on this thread before the first round, so no receiver misses a value.
    let subscribers: Vec<_> = (0..receivers).map(|_| channel.subscribe()).collect();
    let for_receivers = Arc::clone(&working);
    runtime.block_on(async move {
        for (seed, mut subscriber) in subscribers.into_iter().enumerate() {
            let working = Arc::clone(&for_receivers);
            spawn(async move {
                let mut numbers = Numbers::seeded(seed);
                let mut round = 0;
                while let Some(value) = subscriber.next().await {
                    round += 1;
                    assert_eq!(value, round, "the value of this round");
                    hint::black_box(work(&mut numbers));
                    // ORDERING: pairs with the sender's load, which sees all rounds' work done.
                    if working.0.fetch_sub(1, AcqRel) == 1 {
                        working.1.notify_one();
                    }
                }
            });
        }
    });
    let mut round = 0;
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            runtime.block_on(async {
                for _ in 0..ROUNDS {
                    round += 1;
                    let before = working.0.fetch_add(receivers, Relaxed);
                    assert_eq!(before, 0, "receivers that still work on the round before");
                    channel.publish(round);
                    // ORDERING: pairs with the last receiver's decrement.
                    while working.0.load(Acquire) > 0 {
                        working.1.notified().await;
                    }
                }
            });
        }
    })
}
