//! Prints the results: a line for each file, then the deviations from the expectations, then the totals.

use std::collections::BTreeMap;

use conformance::clear;
use conformance::run::Outcome;

use crate::expectations::Expectations;
use crate::outcomes::Verdict;
use crate::sources::File;

#[derive(Default)]
pub(crate) struct Report {
    version: String,
    passed: usize,
    failed: usize,
    not_applicable: usize,
    steps_back: Vec<String>,
    unsteady: Vec<String>,
    improved: Vec<String>,
    outdated: Vec<String>,
    /// The failures of each file that was run, to be written to the list.
    failures: BTreeMap<String, BTreeMap<String, String>>,
}

impl Report {
    pub(crate) fn new(version: &str) -> Self {
        println!(
            "{:<34}{:>7}{:>8}{:>16}",
            "", "passed", "failed", "not applicable"
        );
        Self {
            version: version.to_owned(),
            ..Self::default()
        }
    }

    fn line(&mut self, file: &str, [passed, failed, not_applicable]: [usize; 3], note: &str) {
        clear();
        println!("{file:<34}{passed:>7}{failed:>8}{not_applicable:>16}  {note}");
        self.passed += passed;
        self.failed += failed;
        self.not_applicable += not_applicable;
    }

    /// A file that does not compile: all tests that it declares have failed.
    pub(crate) fn not_compiled(&mut self, file: &File, error: &str, expectations: &Expectations) {
        let name = &file.name;
        if expectations.not_applicable(name, "*").is_some() {
            return self.line(name, [0, 0, file.declared], "");
        }
        self.line(
            name,
            [0, file.declared, 0],
            &format!("does not compile: {error}"),
        );
        if expectations.fails(name, "*").is_none() {
            self.steps_back
                .push(format!("{name} does not compile: {error}"));
        }
        let failures = BTreeMap::from([("*".to_owned(), format!("does not compile: {error}"))]);
        self.failures.insert(name.clone(), failures);
    }

    pub(crate) fn ran(
        &mut self,
        file: &File,
        verdicts: Vec<(String, Verdict)>,
        expectations: &Expectations,
    ) {
        let name = &file.name;
        if verdicts.is_empty() && expectations.not_applicable(name, "*").is_some() {
            return self.line(name, [0, 0, file.declared], "");
        }
        let mut counts = [0; 3];
        let mut failures = BTreeMap::new();
        let tests: Vec<&str> = verdicts.iter().map(|(test, _)| test.as_str()).collect();
        let note = if tests.is_empty() {
            "compiles; has no test that is run on this machine"
        } else {
            ""
        };
        for entry in expectations.outdated(name, &tests) {
            self.outdated.push(format!("{name} {entry}"));
        }
        for (test, verdict) in verdicts {
            let expected = expectations.fails(name, &test);
            let error = match verdict {
                Verdict::Ignored | Verdict::NotApplicable => {
                    counts[2] += 1;
                    continue;
                }
                Verdict::Ran(Outcome::Passed) | Verdict::PassedAgain(_) => {
                    counts[0] += 1;
                    if let Verdict::PassedAgain(error) = verdict {
                        self.unsteady.push(format!("{name} {test}: {error}"));
                    } else if expected.is_some() {
                        self.improved.push(format!("{name} {test}"));
                    }
                    continue;
                }
                Verdict::Ran(Outcome::Hung) => "hangs".to_owned(),
                Verdict::Ran(Outcome::Failed(error)) => error,
            };
            counts[1] += 1;
            if expected.is_none() {
                self.steps_back.push(format!("{name} {test}: {error}"));
            }
            failures.insert(test, error);
        }
        self.line(name, counts, note);
        self.failures.insert(name.clone(), failures);
    }

    /// Updates the list with the results.
    pub(crate) fn update(&self, expectations: &mut Expectations) {
        for (file, failures) in &self.failures {
            expectations.set_fails(file, failures);
        }
    }

    /// Prints the rest. Returns whether there is no regression.
    pub(crate) fn finish(self) -> bool {
        let lists = [
            ("Steps back: these are expected to pass", &self.steps_back),
            (
                "Unsteady: these have failed, and have passed when run again, alone",
                &self.unsteady,
            ),
            (
                "These have passed this time: take them off the list if they always do (--update)",
                &self.improved,
            ),
            (
                "These entries of the list are about no test: take them off",
                &self.outdated,
            ),
        ];
        for (title, tests) in lists {
            if !tests.is_empty() {
                println!("\n{title}:");
                for test in tests {
                    println!("  {test}");
                }
            }
        }
        let applicable = self.passed + self.failed;
        println!(
            "\n{} of {applicable} applicable tests of Tokio {} pass: {:.1} % ({} not applicable)",
            self.passed,
            self.version,
            100.0 * self.passed as f64 / applicable.max(1) as f64,
            self.not_applicable,
        );
        self.steps_back.is_empty()
    }
}
