//! Runs programs that tools for Tokio observe, on Tokio and on pointsman, with and without `--cfg tokio_unstable`.
//!
//! ```text
//! cargo run --release --bin observers
//! ```
//!
//! The programs are in `observers`. The exit code is 1 if one does not compile or fails on pointsman.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use conformance::compile::{Build, Compiled};
use conformance::run::limited;
use conformance::{Result, Runtime, Workspace, clear, files, package, place, progress};

const LIMIT: Duration = Duration::from_secs(60);
const FLAG: &str = "--cfg tokio_unstable";

/// Builds the programs, sorted by name.
fn build(
    home: &Path,
    target: &Path,
    runtime: Runtime,
    flags: Option<&str>,
) -> Result<Vec<(String, Compiled)>> {
    let runtime_name = match runtime {
        Runtime::Tokio => "tokio",
        Runtime::Pointsman => "pointsman",
    };
    let flag_name = if flags.is_some() { "-unstable" } else { "" };
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
        target: &target.join(format!("observers-{runtime_name}{flag_name}-build")),
        runtime,
        flags,
    };
    let built = build.targets(&["--bins"])?;
    let programs = built.into_iter().filter(|((kind, _), _)| kind == "bin");
    Ok(programs
        .map(|((_, name), compiled)| (name, compiled))
        .collect())
}

/// Runs a program. Returns whether it has succeeded, and the last line that it has written.
fn run(program: &Path, log: &Path) -> Result<(bool, String)> {
    let mut command = Command::new(program);
    command.env("RUST_BACKTRACE", "0");
    let Some(status) = limited(command, log, LIMIT)? else {
        return Ok((false, "hangs, and was killed".to_owned()));
    };
    let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    let last = output.lines().next_back().unwrap_or_default();
    Ok((status.success(), last.to_owned()))
}

fn observe() -> Result<bool> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Workspace::read(home)?.target;
    let mut is_right = true;
    for (runtime, shown) in [(Runtime::Tokio, "Tokio"), (Runtime::Pointsman, "pointsman")] {
        for flags in [None, Some(FLAG)] {
            println!(
                "On {shown}{}:",
                flags.map_or(String::new(), |flag| format!(", with {flag}"))
            );
            for (name, compiled) in build(home, &target, runtime, flags)? {
                let (succeeded, says) = match compiled {
                    Compiled::Failed { error } => (false, format!("does not compile: {error}")),
                    Compiled::Binary(binary) => {
                        progress(&name);
                        let log: PathBuf = target.join(format!("observers-output/{name}.txt"));
                        run(&binary, &log)?
                    }
                };
                clear();
                println!(
                    "  {name:<16}{}{says}",
                    if succeeded { "" } else { "FAILS: " }
                );
                is_right &= succeeded || runtime == Runtime::Tokio;
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
