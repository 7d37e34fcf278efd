//! The measurement of a cell, in the lab's format.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::json;

/// The lab's maximum number of samples of a measure.
pub(crate) const MOST_SAMPLES: usize = 201;

pub(crate) struct Measurement {
    ok: bool,
    note: Option<String>,
    samples: BTreeMap<&'static str, Vec<f64>>,
}

impl Measurement {
    pub(crate) fn new() -> Self {
        Self {
            ok: true,
            note: None,
            samples: BTreeMap::new(),
        }
    }

    pub(crate) fn failed(note: &str) -> Self {
        Self {
            ok: false,
            note: Some(note.to_owned()),
            samples: BTreeMap::new(),
        }
    }

    pub(crate) fn with(mut self, measure: &'static str, samples: Vec<f64>) -> Self {
        self.samples
            .insert(measure, samples.into_iter().map(rounded).collect());
        self
    }

    #[cfg(test)]
    pub(crate) fn samples(&self, measure: &str) -> &[f64] {
        &self.samples[measure]
    }

    pub(crate) fn print(&self) {
        let mut described = json!({ "ok": self.ok, "samples": self.samples });
        if let Some(note) = &self.note {
            described["note"] = json!(note);
        }
        // The lock is held to the end, so no other thread prints after the last line.
        let mut output = std::io::stdout().lock();
        writeln!(output, "\n{described}").expect("the lab reads standard output");
        output.flush().expect("the lab reads standard output");
        std::mem::forget(output);
    }
}

/// Rounds to six significant digits, as the lab does.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a number")
}

/// The value below which this share of the values lies.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let mut values = vec![5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(quantile(&mut values, 0.0), 1.0);
        assert_eq!(quantile(&mut values, 0.5), 3.0);
        assert_eq!(quantile(&mut values, 0.99), 5.0);
        assert_eq!(quantile(&mut [7.0], 0.5), 7.0);
    }

    #[test]
    fn samples_have_six_digits() {
        let found = Measurement::new().with("time", vec![1.0 / 3.0, 1_234_567.8, 5.0]);
        assert_eq!(found.samples["time"], [0.333333, 1_234_570.0, 5.0]);
    }
}
