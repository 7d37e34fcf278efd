//! The cells of the table `runtime`: `runtime-<subject> <form> <test> <condition>`.
//!
//! Invariant: a task that panics, or a wrong answer, is a failed measurement with its reason, never a fast one.

mod beside;
mod form;
mod primitives;
mod runtime;
mod sampling;
mod work;

use std::process;

use lab::Lab;

use form::Form;

/// Runs the one cell that the command line names.
pub fn main() {
    lab::fail_by_panic();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [form, test, condition] = arguments.as_slice() else {
        panic!("expected <form> <test> <condition>, got {arguments:?}");
    };
    let lab = Lab {
        condition: condition.to_owned(),
    };
    lab::succeed(None, &work::measure(Form::named(form), test, &lab));
    // Some runtimes do not end their threads when dropped, and some tasks never end.
    process::exit(0);
}
