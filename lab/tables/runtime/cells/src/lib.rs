//! The cells of the table `runtime`: `runtime-<subject> <form> <test> <warm-up ms> <measure ms>`.
//!
//! Invariant: the last line of standard output is a measurement in JSON in every case. A task that panics, or a wrong
//! answer, is a failed measurement with its reason, never a fast one.

mod form;
mod measurement;
mod primitives;
mod runtime;
mod sampling;
mod work;

use std::panic;
use std::process;
use std::time::Duration;

use form::Form;
use measurement::Measurement;
use sampling::Budget;

/// Runs the one cell that the command line names.
pub fn main() {
    panic::set_hook(Box::new(|what| {
        let message = what.payload_as_str().unwrap_or("it panicked");
        Measurement::failed(message).print();
        process::exit(0);
    }));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [form, test, warm_up, measure] = arguments.as_slice() else {
        panic!("expected <form> <test> <warm-up ms> <measure ms>, got {arguments:?}");
    };
    let budget = Budget {
        warm_up: milliseconds(warm_up),
        measure: milliseconds(measure),
    };
    work::measure(Form::named(form), test, &budget).print();
    // Some runtimes do not end their threads when dropped, and some tasks never end.
    process::exit(0);
}

fn milliseconds(text: &str) -> Duration {
    let milliseconds: f64 = text
        .parse()
        .unwrap_or_else(|_| panic!("expected a number of milliseconds, got {text}"));
    Duration::from_secs_f64(milliseconds / 1e3)
}
