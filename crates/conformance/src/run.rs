//! Runs the tests of a program, each in its own process with a time limit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// How many run at once: each has threads of its own, and some measure time.
const AT_ONCE: usize = 2;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Passed.
    Passed,
    /// The reason of the failure.
    Failed(String),
    /// Exceeded the time limit.
    Hung,
}

/// A test of a program.
pub struct Test {
    /// Its name, with its modules.
    pub name: String,
    /// Whether it is marked as ignored.
    pub ignored: bool,
}

/// A test program.
pub struct Program<'a> {
    /// The executable.
    pub binary: &'a Path,
    /// Its working directory.
    pub folder: &'a Path,
    /// Additional environment variables.
    pub environment: &'a [(String, String)],
    /// The folder for its tests' outputs.
    pub logs: PathBuf,
    /// The time limit of a test.
    pub limit: Duration,
}

impl Program<'_> {
    /// Its tests, in its own order.
    pub fn tests(&self) -> Result<Vec<Test>> {
        let ignored = self.list(&["--ignored"])?;
        Ok(self
            .list(&[])?
            .into_iter()
            .map(|name| Test {
                ignored: ignored.contains(&name),
                name,
            })
            .collect())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.binary);
        command
            .current_dir(self.folder)
            .env("RUST_BACKTRACE", "0")
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn list(&self, options: &[&str]) -> Result<Vec<String>> {
        let output = self
            .command()
            .args(["--list", "--format", "terse"])
            .args(options)
            .output()?;
        if !output.status.success() {
            return Err(format!("{} does not list its tests", self.binary.display()).into());
        }
        Ok(String::from_utf8(output.stdout)?
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(str::to_owned)
            .collect())
    }

    /// Runs one of its tests.
    pub fn run(&self, test: &str) -> Result<Outcome> {
        let mut command = self.command();
        command.args(["--exact", test, "--nocapture"]);
        let log = self.logs.join(format!("{}.txt", test.replace("::", ".")));
        let Some(status) = limited(command, &log, self.limit)? else {
            return Ok(Outcome::Hung);
        };
        if status.success() {
            return Ok(Outcome::Passed);
        }
        if status.code().is_none() {
            return Ok(Outcome::Failed(format!("has crashed: {status}")));
        }
        let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        Ok(Outcome::Failed(reason(&text, test)))
    }
}

/// Runs a command with its output in a file. Kills it after the time limit.
pub fn limited(mut command: Command, log: &Path, limit: Duration) -> Result<Option<ExitStatus>> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    let output = File::create(log)?;
    let mut process = command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            process.kill()?;
            process.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Calls the function for each item, a few at once. Returns the results in the items' order.
pub fn each<T: Sync, R: Send>(
    items: &[T],
    function: impl Fn(usize, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let waiting = Mutex::new(items.iter().enumerate());
    let results = Mutex::new(Vec::new());
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some((number, item)) = next else { return };
                    match function(number, item) {
                        Ok(result) => results.lock().unwrap().push((number, result)),
                        Err(error) => {
                            *failure.lock().unwrap() = Some(error.to_string());
                            return;
                        }
                    }
                }
            });
        }
    });
    if let Some(error) = failure.into_inner().unwrap() {
        return Err(error.into());
    }
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// The cause of a failure: the last panic of the thread of this name, or else of any thread.
pub fn reason(output: &str, name: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).collect();
    let last = |what: &str| {
        lines
            .iter()
            .rposition(|line| line.starts_with(what) && line.contains("panicked at"))
    };
    let panic = last(&format!("thread '{name}'")).or_else(|| last("thread '"));
    let text = match panic {
        // Compared values may be very long.
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

    #[test]
    fn results_are_in_the_order_of_the_items_and_an_error_ends_it() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = each(&items, |number, item| Ok((number, item * 2))).unwrap();
        assert!(
            doubled
                .iter()
                .enumerate()
                .all(|(at, it)| *it == (at, at * 2))
        );
        let failed = each(&items, |_, item| match item {
            50 => Err("fifty".into()),
            _ => Ok(()),
        });
        assert_eq!(failed.unwrap_err().to_string(), "fifty");
    }
}
