//! Runs the tests of a file, and those that fail unexpectedly once more.

use std::path::Path;
use std::time::Duration;

use conformance::run::{self, Outcome, Program};
use conformance::{Result, progress};

use crate::expectations::Expectations;
use crate::sources::{self, Suite};

/// The outcome of a test.
pub(crate) enum Verdict {
    Ran(Outcome),
    /// Failed, and passed when it was run again alone.
    PassedAgain(String),
    /// Ignored by Tokio itself.
    Ignored,
    NotApplicable,
}

/// Runs the tests of a file. Returns their outcomes, in the program's order.
pub(crate) fn all(
    suite: &Suite,
    file: &sources::File,
    binary: &Path,
    limit: Duration,
    expectations: &Expectations,
) -> Result<Vec<(String, Verdict)>> {
    let program = Program {
        binary,
        folder: &suite.folder,
        environment: &[],
        logs: suite.folder.join("output").join(&file.name),
        limit,
    };
    let tests = program.tests()?;
    let mut verdicts = run::each(&tests, |number, test| {
        let name = &test.name;
        let verdict = if test.ignored {
            Verdict::Ignored
        } else if expectations.not_applicable(&file.name, name).is_some() {
            Verdict::NotApplicable
        } else {
            Verdict::Ran(program.run(name)?)
        };
        progress(&format!("{} {}/{}", file.name, number + 1, tests.len()));
        Ok((name.clone(), verdict))
    })?;
    for (name, verdict) in &mut verdicts {
        let Verdict::Ran(Outcome::Failed(text)) = verdict else {
            continue;
        };
        if expectations.fails(&file.name, name).is_none() && program.run(name)? == Outcome::Passed {
            *verdict = Verdict::PassedAgain(std::mem::take(text));
        }
    }
    Ok(verdicts)
}
