//! Runs the built tests and program of one package on one runtime.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use conformance::run::{self, Outcome, Program};
use conformance::{Result, progress};

use crate::workspace::{ALL, Built, Workspace};

/// The time limit of a test or program.
const LIMIT: Duration = Duration::from_secs(60);

/// A test: its program and its name.
pub(crate) type Test = (String, String);

/// The outcomes of a package's tests.
#[derive(Default)]
pub(crate) struct Tests {
    pub(crate) outcomes: BTreeMap<Test, Outcome>,
    pub(crate) not_compiled: BTreeMap<String, String>,
}

impl Tests {
    /// Whether it explains why a program's tests are missing.
    pub(crate) fn is_not_compiled(&self, program: &str) -> bool {
        self.not_compiled.contains_key(program) || self.not_compiled.contains_key(ALL)
    }

    pub(crate) fn passed(&self) -> usize {
        let passed = |it: &&Outcome| **it == Outcome::Passed;
        self.outcomes.values().filter(passed).count()
    }
}

/// Runs all tests that were built of a package.
pub(crate) fn tests(
    workspace: &Workspace,
    package: &str,
    environment: &[(String, String)],
    built: Built,
) -> Result<Tests> {
    let mut outcomes = BTreeMap::new();
    let folder = workspace.package(package);
    for (name, binary) in &built.programs {
        let program = Program {
            binary,
            folder: &folder,
            environment,
            logs: workspace.logs(package).join(name),
            limit: LIMIT,
        };
        let mut tests = program.tests()?;
        tests.retain(|test| !test.ignored);
        let ran = run::each(&tests, |number, test| {
            progress(&format!("{package} {name} {}/{}", number + 1, tests.len()));
            // Failed tests are run once more, as some depend on time.
            match program.run(&test.name)? {
                Outcome::Failed(_) => program.run(&test.name),
                outcome => Ok(outcome),
            }
        })?;
        for (test, outcome) in tests.into_iter().zip(ran) {
            outcomes.insert((name.clone(), test.name), outcome);
        }
    }
    Ok(Tests {
        outcomes,
        not_compiled: built.failed,
    })
}

/// Runs the program of a package.
pub(crate) fn program(
    workspace: &Workspace,
    package: &str,
    environment: &[(String, String)],
    built: &Built,
) -> Result<Outcome> {
    let Some(binary) = built.programs.get(package) else {
        let error = built.failed.get(package).or(built.failed.get(ALL));
        let error = error.map_or("it is missing", String::as_str);
        return Ok(Outcome::Failed(format!("does not compile: {error}")));
    };
    progress(&format!("the program {package}"));
    let log: PathBuf = workspace.logs(package).join("program.txt");
    let mut command = Command::new(binary);
    command
        .env("RUST_BACKTRACE", "0")
        .envs(environment.iter().map(|(name, value)| (name, value)));
    let Some(status) = run::limited(command, &log, LIMIT)? else {
        return Ok(Outcome::Hung);
    };
    if status.success() {
        return Ok(Outcome::Passed);
    }
    let output = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    Ok(Outcome::Failed(run::reason(&output, "main")))
}
