//! The lab's protocol, for programs: a program announces its slice when the subject is warm, runs it at each request,
//! and ends with a measurement.
//!
//! Invariant: the last line of standard output is a measurement in JSON, also of a program that fails. A panic or a
//! wrong answer is a failed measurement with its reason, never a fast one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::panic;
use std::process;
use std::time::Duration;

use serde_json::{Value, json};

/// One sample of each measure.
pub type Samples = BTreeMap<&'static str, f64>;

pub struct Lab {
    /// The condition in which the lab requests the slice.
    pub condition: String,
}

impl Lab {
    /// Runs the slice for the requested time, again and again, until the lab has enough. The thread waits between
    /// requests. Returns the samples of the cell's end, of which there are none.
    pub fn serve(&self, mut slice: impl FnMut(Duration) -> Samples) -> Samples {
        print(&json!({ "slices": [{ "name": "all", "condition": self.condition }] }));
        for line in io::stdin().lock().lines() {
            let line = line.expect("the lab writes lines");
            let request: Value = serde_json::from_str(&line).expect("the lab writes requests");
            let milliseconds = request["milliseconds"].as_f64().expect("a length");
            print(&json!({ "samples": slice(Duration::from_secs_f64(milliseconds / 1e3)) }));
        }
        Samples::new()
    }
}

/// Reports that the subject did its work. The samples are those of a cell without slices.
pub fn succeed(note: Option<&str>, samples: &Samples) {
    let samples: BTreeMap<_, _> = samples
        .iter()
        .map(|(measure, sample)| (measure, [sample]))
        .collect();
    end(json!({ "ok": true, "samples": samples }), note);
}

/// Reports that a prerequisite is missing.
pub fn unavailable(why: &str) {
    end(
        json!({ "ok": false, "unavailable": true, "samples": {} }),
        Some(why),
    );
}

/// From now on a panic of any thread is a failed measurement and ends the process.
pub fn fail_by_panic() {
    panic::set_hook(Box::new(|what| {
        let message = what.payload_as_str().unwrap_or("it panicked");
        end(json!({ "ok": false, "samples": {} }), Some(message));
        process::exit(0);
    }));
}

fn end(mut measurement: Value, note: Option<&str>) {
    if let Some(note) = note {
        measurement["note"] = json!(note);
    }
    // Held to the end of the process, so no other thread prints after the last line.
    std::mem::forget(io::stdout().lock());
    print(&measurement);
}

fn print(line: &Value) {
    let mut output = io::stdout().lock();
    writeln!(output, "\n{line}").expect("the lab reads standard output");
    output.flush().expect("the lab reads standard output");
}
