//! Prints the results: a line for each package, then what passes on Tokio and fails on pointsman.

use conformance::clear;
use conformance::run::Outcome;

use crate::trial::Tests;

/// The outcome of a package on one runtime.
pub(crate) struct Side {
    pub(crate) tests: Tests,
    /// None if a server that it needs is not installed.
    pub(crate) program: Option<Outcome>,
}

/// The number of tests failing on Tokio that are named per package.
const SHOWN: usize = 3;

#[derive(Default)]
pub(crate) struct Report {
    steps_back: Vec<String>,
    /// What fails on Tokio.
    notes: Vec<String>,
    passed: [usize; 2],
    programs: [usize; 2],
}

impl Report {
    pub(crate) fn new() -> Self {
        println!(
            "{:<20}{:>9}   {:>15}{:>11}   {:>15}{:>11}",
            "", "version", "tests on Tokio", "pointsman", "program: Tokio", "pointsman"
        );
        Self::default()
    }

    pub(crate) fn package(&mut self, name: &str, version: &str, sides: [Side; 2]) {
        let [theirs, ours] = &sides;
        let counts = [&theirs.tests, &ours.tests].map(Tests::passed);
        let tests = [theirs, ours].map(|side| match side.tests.outcomes.len() {
            0 if side.tests.not_compiled.is_empty() => "carries none".to_owned(),
            0 => "not compiled".to_owned(),
            all => format!("{} of {all}", side.tests.passed()),
        });
        let programs = [theirs, ours].map(|side| match &side.program {
            None => "no server",
            Some(Outcome::Passed) => "passes",
            Some(Outcome::Failed(_)) => "fails",
            Some(Outcome::Hung) => "hangs",
        });
        clear();
        println!(
            "{name:<20}{version:>9}   {:>15}{:>11}   {:>15}{:>11}",
            tests[0], tests[1], programs[0], programs[1]
        );
        for side in 0..2 {
            self.passed[side] += counts[side];
            self.programs[side] += usize::from(programs[side] == "passes");
        }
        let mut fail_on_tokio = Vec::new();
        for (test, outcome) in &theirs.tests.outcomes {
            let (binary, test_name) = test;
            let mine = ours.tests.outcomes.get(test);
            match (outcome, mine) {
                (Outcome::Passed, Some(Outcome::Passed)) => {}
                (Outcome::Passed, None) if ours.tests.is_not_compiled(binary) => {}
                (Outcome::Passed, mine) => self
                    .steps_back
                    .push(format!("{name} {binary} {test_name}: {}", why(mine))),
                (outcome, _) => fail_on_tokio.push(format!(
                    "{name} {binary} {test_name}: {}",
                    why(Some(outcome))
                )),
            }
        }
        // Some packages are published without the files that most of their tests read.
        let others = fail_on_tokio.len().saturating_sub(SHOWN);
        self.notes.extend(fail_on_tokio.into_iter().take(SHOWN));
        if others > 0 {
            self.notes.push(format!("{name}: {others} others"));
        }
        for (binary, error) in &ours.tests.not_compiled {
            let text = format!("{name} {binary} does not compile: {error}");
            if theirs.tests.is_not_compiled(binary) {
                self.notes.push(text);
            } else {
                self.steps_back.push(text);
            }
        }
        match (&theirs.program, &ours.program) {
            (Some(Outcome::Passed), Some(Outcome::Passed)) | (None, _) => {}
            (Some(Outcome::Passed), mine) => self
                .steps_back
                .push(format!("{name}, the program: {}", why(mine.as_ref()))),
            (theirs, _) => self
                .notes
                .push(format!("{name}, the program: {}", why(theirs.as_ref()))),
        }
    }

    /// Prints the rest. Returns whether all that passes on Tokio passes on pointsman.
    pub(crate) fn finish(self) -> bool {
        for (title, lines) in [
            ("Steps back: these pass on Tokio", &self.steps_back),
            ("Left out: these do not pass on Tokio", &self.notes),
        ] {
            if !lines.is_empty() {
                println!("\n{title}:");
                for line in lines {
                    println!("  {line}");
                }
            }
        }
        println!(
            "\n{} tests and {} programs pass on Tokio, {} and {} on pointsman: {}",
            self.passed[0],
            self.programs[0],
            self.passed[1],
            self.programs[1],
            match self.steps_back.len() {
                0 => "nothing that passes on Tokio fails".to_owned(),
                count => format!("{count} that pass on Tokio fail"),
            }
        );
        self.steps_back.is_empty()
    }
}

fn why(outcome: Option<&Outcome>) -> &str {
    match outcome {
        None => "is missing",
        Some(Outcome::Passed) => "passes",
        Some(Outcome::Failed(error)) => error,
        Some(Outcome::Hung) => "hangs",
    }
}
