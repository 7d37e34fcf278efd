//! Five thousand numbers through an unbounded channel: from five tasks at once, and within one.

use lab::{Lab, Samples};

use super::unknown;
use crate::form::Form;
use crate::primitives::Primitives;
use crate::runtime::{Purpose, Runtime, spawn};
use crate::sampling::{Unit, sample};

const WORKERS: usize = 6;
const SENDERS: usize = 5;
const EACH: usize = 1_000;
pub(super) const MESSAGES: usize = SENDERS * EACH;

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    let mut runtime = Runtime::new(form, Purpose::Inside, form.workers(WORKERS));
    let turn = match test {
        "contention/unbounded" => contention::<P>,
        "uncontented/unbounded" => uncontended::<P>,
        _ => unknown(test),
    };
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            assert_eq!(turn(&mut runtime), sum(MESSAGES), "the sum of all numbers");
        }
    })
}

fn contention<P: Primitives>(runtime: &mut Runtime) -> usize {
    runtime.block_on(async {
        let (sender, mut receiver) = P::unbounded();
        for first in (0..MESSAGES).step_by(EACH) {
            let sender = sender.clone();
            spawn(async move {
                for number in first..first + EACH {
                    P::post(&sender, number);
                }
            });
        }
        receive::<P>(&mut receiver).await
    })
}

fn uncontended<P: Primitives>(runtime: &mut Runtime) -> usize {
    runtime.block_on(async {
        let (sender, mut receiver) = P::unbounded();
        for number in 0..MESSAGES {
            P::post(&sender, number);
        }
        receive::<P>(&mut receiver).await
    })
}

async fn receive<P: Primitives>(receiver: &mut P::UnboundedReceiver<usize>) -> usize {
    let mut received = 0;
    for _ in 0..MESSAGES {
        received += P::collect(receiver).await.expect("as many as were sent");
    }
    received
}

fn sum(numbers: usize) -> usize {
    numbers * (numbers - 1) / 2
}
