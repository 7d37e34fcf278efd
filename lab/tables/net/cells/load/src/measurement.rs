//! The measurement of a cell, in the lab's format.

use std::collections::BTreeMap;

use protocol::{Done, Usage};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Measurement {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable: Option<bool>,
    samples: BTreeMap<&'static str, [f64; 1]>,
}

impl Measurement {
    pub(crate) fn of(done: &Done, used: Usage, note: Option<String>) -> Self {
        let requests = done.requests as f64;
        let samples = [
            ("rate", requests / done.seconds),
            ("p50", done.latency.p50),
            ("p99", done.latency.p99),
            ("p99.9", done.latency.p99_9),
            ("processor", used.processor as f64 / requests),
            ("switches", used.switches as f64 / requests),
        ];
        Self {
            ok: true,
            note,
            unavailable: None,
            samples: samples
                .into_iter()
                .map(|(measure, value)| (measure, [rounded(value)]))
                .collect(),
        }
    }

    pub(crate) fn failed(note: &str) -> Self {
        Self {
            ok: false,
            note: Some(note.to_owned()),
            unavailable: None,
            samples: BTreeMap::new(),
        }
    }

    pub(crate) fn unavailable(why: &str) -> Self {
        Self {
            unavailable: Some(true),
            ..Self::failed(why)
        }
    }

    pub(crate) fn print(&self) {
        let described = serde_json::to_string(self).expect("finite numbers");
        println!("\n{described}");
    }
}

/// Rounds to six significant digits, as the lab does.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a number")
}
