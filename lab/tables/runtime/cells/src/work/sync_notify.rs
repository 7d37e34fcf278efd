//! Tasks that wait for notifications in a loop, from a main thread that does not wait for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lab::{Lab, Samples};

use super::{last_number, unknown};
use crate::form::Form;
use crate::primitives::{Notify, Primitives};
use crate::runtime::{Purpose, Runtime};
use crate::sampling::{Unit, sample};

const WORKERS: usize = 6;
const WAKE_UPS: usize = 500;

pub(super) fn measure<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    let runtime = Runtime::new(form, Purpose::Outside, form.workers(WORKERS));
    let shared = Arc::new((P::Notify::default(), AtomicUsize::new(0)));
    for _ in 0..last_number(test) {
        let shared = Arc::clone(&shared);
        runtime.spawn(async move {
            loop {
                shared.0.notified().await;
                shared.1.fetch_add(1, Relaxed);
            }
        });
    }
    let (notify, woken) = &*shared;
    let call = match test.split_once('/') {
        Some(("notify_one", _)) => P::Notify::notify_one,
        Some(("notify_waiters", _)) => P::Notify::notify_waiters,
        _ => unknown(test),
    };
    sample(lab, Unit::Microseconds, |turns| {
        for _ in 0..turns {
            woken.store(0, Relaxed);
            while woken.load(Relaxed) < WAKE_UPS {
                call(notify);
            }
        }
    })
}
