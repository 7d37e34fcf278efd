//! The tests: the document's suites, one file each, then what it leaves out.
//!
//! Invariant: a test checks its own result, and panics if it is wrong.

mod computing;
mod floors;
mod fork_join;
mod formatting;
mod help;
mod idle;
mod memory;
mod rt_current_thread;
mod rt_multi_threaded;
mod server;
mod spawn;
mod spawn_blocking;
mod sync_mpsc;
mod sync_mpsc_oneshot;
mod sync_notify;
mod sync_publish;
mod sync_semaphore;
mod timer;
mod timer_accuracy;

use lab::{Lab, Samples};

use crate::form::Form;
use crate::primitives::{Native, Primitives, Shared};

pub(crate) fn measure(form: Form, test: &str, lab: &Lab) -> Samples {
    match form {
        Form::Published => measure_with::<Shared>(form, test, lab),
        Form::Native => measure_with::<Native>(form, test, lab),
        Form::Floor => floors::measure(test, lab),
    }
}

fn measure_with<P: Primitives>(form: Form, test: &str, lab: &Lab) -> Samples {
    let (suite, test) = test.split_once('/').unwrap_or((test, ""));
    match suite {
        "rt_current_thread" => rt_current_thread::measure(form, test, lab),
        "rt_multi_threaded" => rt_multi_threaded::measure::<P>(form, test, lab),
        "spawn_blocking" => spawn_blocking::measure(form, last_number(test), lab),
        "spawn" => spawn::measure::<P>(form, test, lab),
        "sync_broadcast" => sync_publish::measure::<P, P::Broadcast>(form, last_number(test), lab),
        "sync_watch" => sync_publish::measure::<P, P::Watch>(form, last_number(test), lab),
        "sync_mpsc_oneshot" => sync_mpsc_oneshot::measure::<P>(form, test, lab),
        "sync_mpsc" => sync_mpsc::measure::<P>(form, test, lab),
        "sync_notify" => sync_notify::measure::<P>(form, test, lab),
        "sync_semaphore" => sync_semaphore::measure::<P>(form, test, lab),
        "timer" => timer::measure::<P>(form, test, lab),
        "timer_accuracy" => timer_accuracy::measure(form, lab),
        "fork_join" => fork_join::measure(form, test, lab),
        "help" => help::measure::<P>(form, test, lab),
        "idle" => idle::measure::<P>(form, test, lab),
        "memory" => memory::measure::<P>(form, test),
        "server" => server::measure::<P>(form, last_number(test), lab),
        _ => unknown(suite),
    }
}

fn unknown(test: &str) -> ! {
    panic!("there is no test {test}")
}

/// Parses the number in `contention/500`.
fn last_number(test: &str) -> usize {
    let number = test
        .rsplit(['/', '_'])
        .next()
        .and_then(|last| last.parse().ok());
    number.unwrap_or_else(|| unknown(test))
}
