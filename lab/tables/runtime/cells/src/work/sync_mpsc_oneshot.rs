//! Requests to one task that answers each through a channel of its own.

use lab::{Lab, Samples};

use super::unknown;
use crate::form::Form;
use crate::primitives::Primitives;
use crate::runtime::{Purpose, Runtime, spawn};
use crate::sampling::{Unit, sample};

const REQUESTS: usize = 1_000;
const CAPACITY: usize = 10;

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    let workers = match test {
        "request_reply" => 1,
        "request_reply #2" => 2,
        _ => unknown(test),
    };
    let mut runtime = Runtime::new(form, Purpose::Inside, workers);
    let mut requests = runtime.block_on(async {
        let (sender, mut requests) = P::bounded::<(usize, P::OneshotSender<usize>)>(CAPACITY);
        spawn(async move {
            while let Some((number, reply)) = P::receive(&mut requests).await {
                P::answer(reply, number + 1);
            }
        });
        sender
    });
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            let last = runtime.block_on(async {
                let mut number = 0;
                for _ in 0..REQUESTS {
                    let (reply, replied) = P::oneshot();
                    P::send(&mut requests, (number, reply)).await;
                    number = P::answered(replied).await;
                }
                number
            });
            assert_eq!(last, REQUESTS, "the last answer");
        }
    })
}
