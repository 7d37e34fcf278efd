//! Requests that oha sends over keep-alive connections, and its report.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use protocol::{Done, Percentiles};
use serde::Deserialize;

use crate::program::Program;
use crate::{Driver, Pace};

pub(crate) const PLAINTEXT: &str = "Hello, World!";
pub(crate) const JSON: &str = r#"{"message":"Hello, World!"}"#;

pub(crate) struct Oha {
    program: String,
    url: String,
    connections: String,
    body: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    summary: Summary,
    latency_percentiles: BTreeMap<String, f64>,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    total: f64,
    total_data: u64,
}

impl Oha {
    pub(crate) fn new(
        program: &str,
        address: &str,
        connections: usize,
        body: &'static str,
    ) -> Self {
        Self {
            program: program.to_owned(),
            url: format!("http://{address}/"),
            connections: connections.to_string(),
            body,
        }
    }
}

impl Driver for Oha {
    fn run(&mut self, _: &mut Program, duration: Duration, pace: Pace) -> Done {
        let time = format!("{}ms", duration.as_millis());
        let mut command = Command::new(&self.program);
        if let Pace::PerSecond(rate) = pace {
            command.args(["--latency-correction", "-q", &rate.to_string()]);
        }
        let output = command
            .args(["--no-tui", "--output-format", "json", "-w"])
            .args(["-z", &time, "-c", &self.connections, &self.url])
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.program));
        assert!(output.status.success(), "oha ended: {}", output.status);
        let found: Output = serde_json::from_slice(&output.stdout).expect("what oha promises");
        let errors = &found.error_distribution;
        assert!(errors.is_empty(), "requests failed: {errors:?}");
        let requests = found.status_code_distribution.get("200").copied();
        let requests = requests.unwrap_or_default();
        // It keeps no bodies, only their total length.
        let expected = requests * self.body.len() as u64;
        assert_eq!(found.summary.total_data, expected, "bytes of all bodies");
        let microseconds = |name: &str| found.latency_percentiles[name] * 1e6;
        Done {
            requests,
            seconds: found.summary.total,
            latency: Percentiles {
                p50: microseconds("p50"),
                p99: microseconds("p99"),
                p99_9: microseconds("p99.9"),
            },
        }
    }
}
