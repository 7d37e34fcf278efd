//! The protocol between the load and a subject's program, over the program's standard input and output.
//!
//! The first line of the program is a `Greeting`. Then it executes orders, one per line, and answers each with one
//! line of JSON, until its standard input ends. Every line is an `Answer`, which may be an error.
//!
//! Invariant: without an order, a program uses no processor time for the protocol.

mod latencies;
mod sent_back;
mod usage;

use std::io::{self, BufRead, Write};
use std::panic;
use std::process;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use latencies::{Latencies, Percentiles};
pub use sent_back::{MESSAGE, file_content, message};
pub use usage::{Blocks, Usage};

/// How often the blocking task blocks its worker, and for how long.
pub const BLOCK_EVERY: Duration = Duration::from_millis(50);
pub const BLOCK_FOR: Duration = Duration::from_millis(10);

#[derive(Debug, Serialize, Deserialize)]
pub enum Greeting {
    /// Listens at this address; none if the program makes the requests itself.
    Ready {
        address: Option<String>,
        note: Option<String>,
    },
    /// A prerequisite is missing.
    Unavailable(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Report the usage so far; the answer is a `Usage`.
    Use,
    /// Work for this many milliseconds; the answer is a `Done`.
    Work(u64),
}

pub type Answer<T> = Result<T, String>;

/// Requests made one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    pub requests: u64,
    pub seconds: f64,
    pub latency: Percentiles,
}

pub fn say<T: Serialize>(what: T) {
    answer(&Answer::Ok(what)).expect("the load reads standard output");
}

fn answer<T: Serialize>(what: &Answer<T>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, what)?;
    writeln!(output)?;
    output.flush()
}

/// Reports a panic of a thread or a task as a failure of the work, which a runtime alone would not do.
pub fn end_by_panic() {
    panic::set_hook(Box::new(|what| {
        let message = what.payload_as_str().unwrap_or("it panicked");
        // The load may have ended.
        let _ = answer(&Answer::<()>::Err(message.to_owned()));
        process::exit(1);
    }));
}

/// Blocks this thread, and returns when the load has ended.
pub fn obey(blocks: &Blocks, mut work: impl FnMut(Duration) -> Done) {
    for line in io::stdin().lock().lines() {
        let line = line.expect("the load writes lines");
        match serde_json::from_str(&line).expect("the load writes orders") {
            Order::Use => say(Usage::so_far(blocks)),
            Order::Work(milliseconds) => say(work(Duration::from_millis(milliseconds))),
        }
    }
}
