//! What is known not to pass, and why: `expectations.toml`.
//!
//! Invariant: every test that does not pass stands there with a reason, or is a step back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::Result;

const HEAD: &str = "\
# The tests of Tokio that do not pass on pointsman, and why. All others have to.
# `make conformance-update` brings the list up to date; the reasons are written by hand.
# `\"*\"` stands for all tests of a file.
";

/// A reason for each test of each file.
type List = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Debug, Default)]
pub(crate) struct Expectations {
    not_applicable: List,
    fails: List,
}

fn find<'a>(list: &'a List, file: &str, test: &str) -> Option<&'a str> {
    let tests = list.get(file)?;
    tests
        .get(test)
        .or_else(|| tests.get("*"))
        .map(String::as_str)
}

impl Expectations {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let table: Table = fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?
            .parse()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let mut read = Self::default();
        for (kind, files) in table {
            let list = match kind.as_str() {
                "not-applicable" => &mut read.not_applicable,
                "fails" => &mut read.fails,
                other => {
                    return Err(format!(
                        "{}: there is no [{other}], only [not-applicable] and [fails]",
                        path.display()
                    )
                    .into());
                }
            };
            *list = files.try_into().map_err(|error| {
                format!(
                    "{}: [{kind}.FILE] has lines `test = \"reason\"`: {error}",
                    path.display()
                )
            })?;
        }
        Ok(read)
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut text = HEAD.to_owned();
        for (kind, list) in [
            ("not-applicable", &self.not_applicable),
            ("fails", &self.fails),
        ] {
            for (file, tests) in list {
                text += &format!("\n[{kind}.{file}]\n");
                for (test, reason) in tests {
                    let [test, reason] = [test, reason].map(|it| Value::String(it.clone()));
                    text += &format!("{test} = {reason}\n");
                }
            }
        }
        Ok(fs::write(path, text)?)
    }

    /// Why a test says nothing about pointsman.
    pub(crate) fn not_applicable(&self, file: &str, test: &str) -> Option<&str> {
        find(&self.not_applicable, file, test)
    }

    /// Why a test fails.
    pub(crate) fn fails(&self, file: &str, test: &str) -> Option<&str> {
        find(&self.fails, file, test)
    }

    /// Replaces what is said of the failures of a file. A reason that is there already is kept.
    pub(crate) fn set_fails(&mut self, file: &str, failed: &BTreeMap<String, String>) {
        let before = self.fails.remove(file).unwrap_or_default();
        let after: BTreeMap<_, _> = failed
            .iter()
            .map(|(test, reason)| (test.clone(), before.get(test).unwrap_or(reason).clone()))
            .collect();
        if !after.is_empty() {
            self.fails.insert(file.to_owned(), after);
        }
    }

    /// The tests of a file of which something is said.
    pub(crate) fn named(&self, file: &str) -> impl Iterator<Item = &str> {
        [&self.not_applicable, &self.fails]
            .into_iter()
            .filter_map(|list| list.get(file))
            .flatten()
            .map(|(test, _)| test.as_str())
            .filter(|test| *test != "*")
    }
}
