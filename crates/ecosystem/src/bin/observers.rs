//! Runs programs that tools for Tokio observe, on Tokio and on pointsman, with and without `--cfg tokio_unstable`.
//!
//! ```text
//! cargo run --release --bin observers
//! ```
//!
//! The programs are in `observers`. The exit code is 1 if one does not compile or fails on pointsman, or if what it
//! records there, lines that begin with `| `, differs from what it records on Tokio with the flag.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use conformance::compile::{Build, Compiled};
use conformance::run::limited;
use conformance::{Result, Runtime, Workspace, clear, files, package, place, progress};

const LIMIT: Duration = Duration::from_secs(60);
const FLAG: &str = "--cfg tokio_unstable";
/// Lets console-subscriber run without the flag.
const NO_FLAG: &str = "--cfg console_without_tokio_unstable";

/// Builds the programs, sorted by name.
fn build(
    home: &Path,
    target: &Path,
    runtime: Runtime,
    flags: &str,
) -> Result<Vec<(String, Compiled)>> {
    let runtime_name = match runtime {
        Runtime::Tokio => "tokio",
        Runtime::Pointsman => "pointsman",
    };
    let flag_name = if flags == FLAG { "-unstable" } else { "" };
    // On pointsman tasks have names without the flag.
    let arguments: &[_] = match runtime {
        Runtime::Tokio => &["--bins"],
        Runtime::Pointsman => &["--bins", "--features", "names"],
    };
    let folder = target.join(format!("observers-{runtime_name}"));
    for (name, path) in files(&home.join("observers/src/bin"))? {
        let copy = folder.join("src/bin").join(name).with_extension("rs");
        place(&copy, &fs::read(path)?)?;
    }
    package(
        home,
        "observers",
        &folder,
        runtime,
        "\n[profile.dev]\ndebug = false\n",
    )?;
    let build = Build {
        package: &folder,
        // One for both: most packages do not depend on the runtime.
        target: &target.join(format!("observers{flag_name}-build")),
        runtime,
        flags: Some(flags),
    };
    let built = build.targets(arguments)?;
    let programs = built.into_iter().filter(|((kind, _), _)| kind == "bin");
    Ok(programs
        .map(|((_, name), compiled)| (name, compiled))
        .collect())
}

/// What a program has written.
struct Said {
    succeeded: bool,
    record: Vec<String>,
    last: String,
}

impl Said {
    fn failed(last: String) -> Self {
        Self {
            succeeded: false,
            record: Vec::new(),
            last,
        }
    }
}

fn run(program: &Path, log: &Path) -> Result<Said> {
    let mut command = Command::new(program);
    command.env("RUST_BACKTRACE", "0");
    let Some(status) = limited(command, log, LIMIT)? else {
        return Ok(Said::failed("hangs, and was killed".to_owned()));
    };
    let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    let record = output.lines().filter(|line| line.starts_with("| "));
    Ok(Said {
        succeeded: status.success(),
        record: record.map(str::to_owned).collect(),
        last: output.lines().next_back().unwrap_or_default().to_owned(),
    })
}

/// Compares a record with that of Tokio, and prints what differs.
fn is_same(record: &[String], expected: &[String]) -> bool {
    let only = |these: &[String], others: &[String], whose: &str| {
        for line in these.iter().filter(|line| !others.contains(line)) {
            println!("    only {whose}: {line}");
        }
    };
    only(expected, record, "Tokio");
    only(record, expected, "pointsman");
    record == expected
}

fn observe() -> Result<bool> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Workspace::read(home)?.target;
    let mut records: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut is_right = true;
    for (runtime, shown) in [(Runtime::Tokio, "Tokio"), (Runtime::Pointsman, "pointsman")] {
        for has_flag in [false, true] {
            let (flags, with) = match has_flag {
                true => (FLAG, format!(", with {FLAG}")),
                false => (NO_FLAG, String::new()),
            };
            println!("On {shown}{with}:");
            for (name, compiled) in build(home, &target, runtime, flags)? {
                let said = match compiled {
                    Compiled::Failed { error } => {
                        Said::failed(format!("does not compile: {error}"))
                    }
                    Compiled::Binary(binary) => {
                        progress(&name);
                        let log: PathBuf = target.join(format!("observers-output/{name}.txt"));
                        run(&binary, &log)?
                    }
                };
                clear();
                let fails = if said.succeeded { "" } else { "FAILS: " };
                println!("  {name:<16}{fails}{}", said.last);
                if runtime == Runtime::Pointsman {
                    is_right &= said.succeeded && is_same(&said.record, &records[&name]);
                } else if has_flag {
                    for line in &said.record {
                        println!("    {line}");
                    }
                    records.insert(name, said.record);
                }
            }
        }
    }
    Ok(is_right)
}

fn main() -> ExitCode {
    match observe() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("observers: {error}");
            ExitCode::from(2)
        }
    }
}
