//! Runs Tokio's own tests, unchanged, on pointsman, and compares the outcomes with the expected ones.
//!
//! ```text
//! cargo run --release -- [--update] [--unstable] [--limit SECONDS] [FILE]...
//! ```
//!
//! Without a `FILE` (such as `sync_mpsc`) all files are run. `--update` rewrites `expectations.toml` and keeps its
//! reasons. `--unstable` compiles with `--cfg tokio_unstable`, and only the files that need it, whose expectations are
//! in `unstable.toml`. The exit code is 1 if a test fails that is expected to pass.

mod expectations;
mod outcomes;
mod report;
mod sources;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use conformance::compile::{self, Compiled, Kind};
use conformance::{Result, Runtime};
use expectations::Expectations;
use report::Report;

struct Arguments {
    update: bool,
    unstable: bool,
    limit: Duration,
    files: Vec<String>,
}

impl Arguments {
    fn read() -> Result<Self> {
        let mut read = Self {
            update: false,
            unstable: false,
            limit: Duration::from_secs(30),
            files: Vec::new(),
        };
        let mut given = std::env::args().skip(1);
        while let Some(argument) = given.next() {
            match argument.as_str() {
                "--update" => read.update = true,
                "--unstable" => read.unstable = true,
                "--limit" => {
                    let seconds = given.next().unwrap_or_default();
                    let limit = seconds.parse().ok().filter(|&seconds| seconds > 0);
                    read.limit = Duration::from_secs(limit.ok_or_else(|| {
                        format!("--limit cannot be {seconds:?}: expected seconds, from 1 on")
                    })?);
                }
                option if option.starts_with('-') => {
                    return Err(format!(
                        "there is no option {option}: expected --update, --unstable, --limit SECONDS or a file"
                    )
                    .into());
                }
                file => read.files.push(file.to_owned()),
            }
        }
        Ok(read)
    }
}

fn conform() -> Result<bool> {
    let arguments = Arguments::read()?;
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (path, flags) = match arguments.unstable {
        false => ("expectations.toml", None),
        true => ("unstable.toml", Some("--cfg tokio_unstable")),
    };
    let path = home.join(path);
    let mut expectations = Expectations::read(&path)?;
    let suite = sources::collect(home, &arguments.files, arguments.unstable)?;
    println!("Tokio {}: {} test files", suite.version, suite.files.len());
    let compiled = compile::all(
        &suite.folder,
        Runtime::Pointsman,
        Kind::Test,
        flags,
        &[],
        suite.files.iter().map(|file| &file.name),
    )?;
    let mut report = Report::new(&suite.version);
    for (file, compiled) in suite.files.iter().zip(compiled) {
        match compiled {
            Compiled::Failed { error } => report.not_compiled(file, &error, &expectations),
            Compiled::Binary(binary) => {
                let outcomes =
                    outcomes::all(&suite, file, &binary, arguments.limit, &expectations)?;
                report.ran(file, outcomes, &expectations);
            }
        }
    }
    if arguments.update {
        report.update(&mut expectations);
        expectations.write(&path)?;
    }
    Ok(arguments.update | report.finish())
}

fn main() -> ExitCode {
    match conform() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::from(2)
        }
    }
}
