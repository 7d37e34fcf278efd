//! The differences that are known, with their reasons: `api.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use conformance::Result;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Reason(String),
    Version(BTreeMap<String, String>),
}

pub(crate) struct Expectations {
    /// A pattern, in which `*` stands for any text; its reason; and whether a difference has matched it.
    lines: Vec<(String, String, bool)>,
}

impl Expectations {
    /// Reads the lines for all releases and those for `version` alone.
    pub(crate) fn read(path: &Path, version: &str) -> Result<Self> {
        let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| at(&error))?;
        let entries: BTreeMap<String, Entry> = toml::from_str(&text).map_err(|error| at(&error))?;
        let mut lines = Vec::new();
        for (name, entry) in entries {
            match entry {
                Entry::Reason(reason) => lines.push((name, reason, false)),
                Entry::Version(only) if name == version => {
                    let only = only.into_iter();
                    lines.extend(only.map(|(pattern, reason)| (pattern, reason, false)));
                }
                Entry::Version(_) => {}
            }
        }
        Ok(Self { lines })
    }

    pub(crate) fn reason(&mut self, item: &str) -> Option<String> {
        let (_, reason, is_used) = self
            .lines
            .iter_mut()
            .find(|(pattern, _, _)| matches(pattern, item))?;
        *is_used = true;
        Some(reason.clone())
    }

    pub(crate) fn unused(&self) -> Vec<&str> {
        let unused = self.lines.iter().filter(|(_, _, is_used)| !is_used);
        unused.map(|(pattern, _, _)| pattern.as_str()).collect()
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len())
                .filter(|&at| text.is_char_boundary(at))
                .any(|at| matches(rest, &text[at..]))
        }),
    }
}
