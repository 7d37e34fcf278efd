//! What the load and a subject's program say to each other, over the program's standard input and output.
//!
//! The program says in its first line how it is (`Greeting`). Then it obeys orders, a line each, and answers
//! each with one line of JSON, until its standard input ends. Every line is an `Answer`: what went wrong, where
//! it did.
//!
//! Invariant: a program that is not asked anything uses no processor time for this.

mod echoed;
mod latencies;
mod usage;

use std::io::{self, BufRead, Write};
use std::panic;
use std::process;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use echoed::{MESSAGE, message};
pub use latencies::{Latencies, Percentiles};
pub use usage::{Blocks, Usage};

/// How often a task blocks its worker where one does, and for how long.
pub const BLOCK_EVERY: Duration = Duration::from_millis(50);
pub const BLOCK_FOR: Duration = Duration::from_millis(10);

#[derive(Debug, Serialize, Deserialize)]
pub enum Greeting {
    /// Listens at this address; none where the program itself is the one that asks.
    Ready {
        address: Option<String>,
        note: Option<String>,
    },
    /// What it needs is not here.
    Unavailable(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// What has been used so far: answered with a `Usage`.
    Use,
    /// Do the work for so many milliseconds: answered with a `Done`.
    Work(u64),
}

pub type Answer<T> = Result<T, String>;

/// Work that was done one request after the other.
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

/// A thread or a task that panics has failed the work, which a runtime alone would not say.
pub fn end_by_panic() {
    panic::set_hook(Box::new(|what| {
        let message = what.payload_as_str().unwrap_or("it panicked");
        // The load may be gone.
        let _ = answer(&Answer::<()>::Err(message.to_owned()));
        process::exit(1);
    }));
}

/// Blocks this thread, and returns when the load is gone.
pub fn obey(blocks: &Blocks, mut work: impl FnMut(Duration) -> Done) {
    for line in io::stdin().lock().lines() {
        let line = line.expect("the load writes lines");
        match serde_json::from_str(&line).expect("the load writes orders") {
            Order::Use => say(Usage::so_far(blocks)),
            Order::Work(milliseconds) => say(work(Duration::from_millis(milliseconds))),
        }
    }
}
