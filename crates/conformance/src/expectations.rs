//! Known failures and their reasons: `expectations.toml`.
//!
//! Invariant: every test that does not pass is listed with a reason, or counts as a regression.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

use conformance::Result;

const HEAD: &str = "\
# The tests of Tokio that do not pass on pointsman, and why. All others must pass.
# `make conformance-update` updates the list; the reasons are written by hand.
# `\"*\"` matches all tests of a file, `\"*::name\"` those of this name in all modules.
";

/// A reason for each test of each file.
type List = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Debug, Default)]
pub(crate) struct Expectations {
    not_applicable: List,
    fails: List,
}

/// The entry that applies to a test: its own, that of its name in all modules, or that of all tests.
fn find<'a>(tests: &'a BTreeMap<String, String>, test: &str) -> Option<(&'a String, &'a String)> {
    let name = test.rsplit("::").next().unwrap_or(test);
    tests
        .get_key_value(test)
        .or_else(|| tests.get_key_value(&format!("*::{name}")))
        .or_else(|| tests.get_key_value("*"))
}

fn reason<'a>(list: &'a List, file: &str, test: &str) -> Option<&'a str> {
    let (_, reason) = find(list.get(file)?, test)?;
    Some(reason)
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

    /// Why a test is not meaningful for pointsman.
    pub(crate) fn not_applicable(&self, file: &str, test: &str) -> Option<&str> {
        reason(&self.not_applicable, file, test)
    }

    /// Why a test fails.
    pub(crate) fn fails(&self, file: &str, test: &str) -> Option<&str> {
        reason(&self.fails, file, test)
    }

    /// Replaces the failures listed for a file. Keeps existing reasons.
    pub(crate) fn set_fails(&mut self, file: &str, failed: &BTreeMap<String, String>) {
        let before = self.fails.remove(file).unwrap_or_default();
        let after: BTreeMap<_, _> = failed
            .iter()
            .map(|found| find(&before, found.0).unwrap_or(found))
            .map(|(test, reason)| (test.clone(), reason.clone()))
            .collect();
        if !after.is_empty() {
            self.fails.insert(file.to_owned(), after);
        }
    }

    /// The entries of a file that apply to none of its tests.
    pub(crate) fn outdated(&self, file: &str, tests: &[&str]) -> Vec<&str> {
        let mut outdated = Vec::new();
        for list in [&self.not_applicable, &self.fails] {
            let Some(entries) = list.get(file) else {
                continue;
            };
            let used = |entry: &str| {
                tests
                    .iter()
                    .any(|test| find(entries, test).is_some_and(|(used, _)| used == entry))
            };
            outdated.extend(entries.keys().map(String::as_str).filter(|it| !used(it)));
        }
        outdated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|&(test, reason)| (test.to_owned(), reason.to_owned()))
            .collect()
    }

    #[test]
    fn the_closest_entry_speaks_for_a_test() {
        let entries = texts(&[
            ("*", "all"),
            ("*::one", "every one"),
            ("a::one", "this one"),
        ]);
        for (test, expected) in [
            ("a::one", "this one"),
            ("b::one", "every one"),
            ("one", "every one"),
            ("b::two", "all"),
        ] {
            let (_, reason) = find(&entries, test).unwrap();
            assert_eq!(reason, expected);
        }
        assert!(find(&texts(&[("*::one", ""), ("a::two", "")]), "b::two").is_none());
    }

    #[test]
    fn an_update_keeps_the_reasons_and_drops_what_passes() {
        let mut expectations = Expectations::default();
        expectations.fails.insert(
            "file".to_owned(),
            texts(&[("*::one", "why"), ("passes", "why it did not")]),
        );
        let found = texts(&[("a::one", "text"), ("b::one", "text"), ("new", "its text")]);
        expectations.set_fails("file", &found);
        assert_eq!(
            expectations.fails["file"],
            texts(&[("*::one", "why"), ("new", "its text")])
        );
        expectations.set_fails("file", &BTreeMap::new());
        assert!(expectations.fails.is_empty());
    }

    #[test]
    fn entries_about_no_test_are_reported() {
        let mut expectations = Expectations::default();
        let entries = texts(&[("*::one", ""), ("*::gone", ""), ("a::gone", "")]);
        expectations
            .not_applicable
            .insert("file".to_owned(), entries);
        assert_eq!(
            expectations.outdated("file", &["a::one", "b"]),
            ["*::gone", "a::gone"]
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut written = Expectations::default();
        let entries = texts(&[("a::\"quoted\"", "a \\ and \"quotes\""), ("*", "all")]);
        written.fails.insert("file".to_owned(), entries.clone());
        written.not_applicable.insert("file".to_owned(), entries);
        let path = std::env::temp_dir().join(format!("expectations-{}.toml", std::process::id()));
        written.write(&path).unwrap();
        let read = Expectations::read(&path);
        fs::remove_file(&path).unwrap();
        let read = read.unwrap();
        assert_eq!(read.fails, written.fails);
        assert_eq!(read.not_applicable, written.not_applicable);
    }
}
