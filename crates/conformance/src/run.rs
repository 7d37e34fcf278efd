//! Runs each test in a process of its own, a few at once, each with a limit of time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use conformance::{Result, progress};

use crate::expectations::Expectations;
use crate::sources::{self, Suite};

/// How many run at once: each has threads of its own, and some measure time.
const AT_ONCE: usize = 2;

/// What has become of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// It has failed, and has passed when it was run again, alone.
    PassedAgain(String),
    Failed(String),
    Hung,
    /// Tokio itself leaves it out.
    Ignored,
    NotApplicable,
}

/// Runs the tests of a file. In the order of the binary, with what they have come to.
pub(crate) fn all(
    suite: &Suite,
    file: &sources::File,
    binary: &Path,
    limit: Duration,
    expectations: &Expectations,
) -> Result<Vec<(String, Outcome)>> {
    let names = list(binary, suite, false)?;
    let ignored = list(binary, suite, true)?;
    let logs = suite.folder.join("output").join(&file.name);
    fs::create_dir_all(&logs)?;
    let test = |name: &str| one(suite, binary, name, &logs, limit);

    let waiting = Mutex::new(names.iter().enumerate());
    let outcomes = Mutex::new(vec![Outcome::NotApplicable; names.len()]);
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some((number, name)) = next else { return };
                    let outcome = if ignored.contains(name) {
                        Outcome::Ignored
                    } else if expectations.not_applicable(&file.name, name).is_some() {
                        Outcome::NotApplicable
                    } else {
                        match test(name) {
                            Ok(outcome) => outcome,
                            Err(error) => {
                                *failure.lock().unwrap() = Some(error.to_string());
                                return;
                            }
                        }
                    };
                    outcomes.lock().unwrap()[number] = outcome;
                    progress(&format!("{} {}/{}", file.name, number + 1, names.len()));
                }
            });
        }
    });
    if let Some(error) = failure.into_inner().unwrap() {
        return Err(error.into());
    }
    let mut outcomes = outcomes.into_inner().unwrap();
    for (name, outcome) in names.iter().zip(&mut outcomes) {
        let Outcome::Failed(text) = outcome else {
            continue;
        };
        if expectations.fails(&file.name, name).is_none() && test(name)? == Outcome::Passed {
            *outcome = Outcome::PassedAgain(std::mem::take(text));
        }
    }
    Ok(names.into_iter().zip(outcomes).collect())
}

/// The names of the tests of a binary, or only of those that are left out.
fn list(binary: &Path, suite: &Suite, ignored: bool) -> Result<Vec<String>> {
    let mut command = Command::new(binary);
    command
        .args(["--list", "--format", "terse"])
        .current_dir(&suite.folder);
    if ignored {
        command.arg("--ignored");
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{} does not list its tests", binary.display()).into());
    }
    Ok(String::from_utf8(output.stdout)?
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}

fn one(suite: &Suite, binary: &Path, name: &str, logs: &Path, limit: Duration) -> Result<Outcome> {
    let log: PathBuf = logs.join(format!("{}.txt", name.replace("::", ".")));
    let output = File::create(&log)?;
    let mut process = Command::new(binary)
        .args(["--exact", name, "--nocapture"])
        .current_dir(&suite.folder)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = process.try_wait()? {
            break status;
        }
        if started.elapsed() > limit {
            process.kill()?;
            process.wait()?;
            return Ok(Outcome::Hung);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    if status.success() {
        return Ok(Outcome::Passed);
    }
    if status.code().is_none() {
        return Ok(Outcome::Failed(format!("has crashed: {status}")));
    }
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    Ok(Outcome::Failed(reason(&text, name)))
}

/// What has gone wrong: the last panic of the thread of the test, or else of any thread.
fn reason(output: &str, name: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).collect();
    let last = |what: &str| {
        lines
            .iter()
            .rposition(|line| line.starts_with(what) && line.contains("panicked at"))
    };
    let panic = last(&format!("thread '{name}'")).or_else(|| last("thread '"));
    let text = match panic {
        // What is compared may be very long.
        Some(place) => lines[place + 1..]
            .iter()
            .take_while(|line| {
                !line.is_empty() && !line.starts_with("note: ") && !line.starts_with("test ")
            })
            .copied()
            .collect::<Vec<_>>()
            .join(", "),
        None => lines
            .iter()
            .find(|line| line.starts_with("Error: ") || line.starts_with("note: test did not"))
            .map_or("failed without a word", |line| line)
            .to_owned(),
    };
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_panic_of_the_test_itself_is_the_reason() {
        let output = "\nrunning 1 test\n\
            thread 'a::test' (7) panicked at tests/file.rs:1:1:\nexpected to be caught\n\
            thread 'a::test' (7) panicked at tests/file.rs:2:1:\n\
            assertion `left == right` failed\n  left: 1\n right: 2\n\
            note: run with `RUST_BACKTRACE=1`\n\
            thread 'worker' (8) panicked at tests/file.rs:3:1:\nof another thread\n\
            test a::test ... FAILED\n";
        let expected = "assertion `left == right` failed, left: 1, right: 2";
        assert_eq!(reason(output, "a::test"), expected);
        assert_eq!(reason(output, "another"), "of another thread");
        let wordless = "running 1 test\nnote: test did not panic as expected\n";
        assert_eq!(
            reason(wordless, "test"),
            "note: test did not panic as expected"
        );
        assert_eq!(reason("", "test"), "failed without a word");
    }
}
