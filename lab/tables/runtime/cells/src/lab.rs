//! The lab's protocol: the cell announces its slice when it is warm, runs it at each request, and ends with a
//! measurement.
//!
//! Invariant: the last line of standard output is a measurement in JSON, also of a cell that fails.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

/// One sample of each measure.
pub(crate) type Samples = BTreeMap<&'static str, f64>;

pub(crate) struct Lab {
    /// The condition in which the lab requests the slice.
    pub(crate) condition: String,
}

impl Lab {
    /// Runs the slice for the requested time, again and again, until the lab has enough. The thread then waits for
    /// the next request. Returns the samples of the end, of which there are none.
    pub(crate) fn serve(&self, mut slice: impl FnMut(Duration) -> Samples) -> Samples {
        print(&json!({ "slices": [{ "name": "all", "condition": self.condition }] }));
        for line in io::stdin().lock().lines() {
            let request: Value = serde_json::from_str(&line.expect("the lab writes lines"))
                .expect("the lab writes requests");
            let milliseconds = request["milliseconds"].as_f64().expect("a length");
            print(&json!({ "samples": slice(Duration::from_secs_f64(milliseconds / 1e3)) }));
        }
        Samples::new()
    }
}

/// Prints the measurement of a cell that did its work.
pub(crate) fn succeed(samples: &Samples) {
    let samples: BTreeMap<_, _> = samples
        .iter()
        .map(|(name, &value)| (name, [value]))
        .collect();
    end_with(&json!({ "ok": true, "samples": samples }));
}

pub(crate) fn fail(note: &str) {
    end_with(&json!({ "ok": false, "note": note, "samples": {} }));
}

fn end_with(measurement: &Value) {
    // Held to the end, so no other thread prints after the last line.
    std::mem::forget(io::stdout().lock());
    print(measurement);
}

fn print(line: &Value) {
    let mut output = io::stdout().lock();
    writeln!(output, "\n{line}").expect("the lab reads standard output");
    output.flush().expect("the lab reads standard output");
}
