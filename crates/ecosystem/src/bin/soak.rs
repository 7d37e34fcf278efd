//! Exposes I/O to faults, on Tokio and on pointsman, and compares the outcomes.
//!
//! ```text
//! cargo run --release --bin soak -- [FAULT]...
//! ```
//!
//! The program is in `faults`; each fault runs in its own process, which is killed if it hangs. The exit code is 1 if
//! on pointsman a fault hangs, loses data, leaks a descriptor, or returns other errors than on Tokio. Figures are only
//! printed, as they depend on the load of the machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use conformance::compile::{Build, Compiled};
use conformance::run::{limited, reason};
use conformance::{Result, Runtime, Workspace, clear, files, package, place, progress};

/// A fault that takes longer counts as hanging.
const LIMIT: Duration = Duration::from_secs(180);

/// Smaller differences count as equal.
const LEVEL: f64 = 1.25;

/// The outcome of a fault on one runtime.
#[derive(Default)]
struct Findings {
    /// Name, number and unit.
    figures: Vec<(String, f64, String)>,
    outcomes: BTreeSet<String>,
    notes: Vec<String>,
    /// The failure.
    failure: Option<String>,
}

fn build(home: &Path, target: &Path, runtime: Runtime) -> Result<PathBuf> {
    let name = match runtime {
        Runtime::Tokio => "soak-tokio",
        Runtime::Pointsman => "soak-pointsman",
    };
    let folder = target.join(name);
    for (name, path) in files(&home.join("faults/src"))? {
        let copy = folder.join("src").join(name).with_extension("rs");
        place(&copy, &fs::read(path)?)?;
    }
    package(home, "faults", &folder, runtime, "")?;
    let build = Build {
        package: &folder,
        target: &target.join(format!("{name}-build")),
        runtime,
        flags: None,
    };
    let program = ("bin".to_owned(), "faults".to_owned());
    match build.targets(&["--release"])?.remove(&program) {
        Some(Compiled::Binary(binary)) => Ok(binary),
        Some(Compiled::Failed { error }) => Err(format!("it does not compile: {error}").into()),
        None => Err("cargo has built nothing: what it says is above".into()),
    }
}

fn meet(program: &Path, fault: &str, log: &Path) -> Result<Findings> {
    let mut command = Command::new(program);
    command.arg(fault).env("RUST_BACKTRACE", "0");
    let status = limited(command, log, LIMIT)?;
    let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    let mut found = Findings::default();
    for line in output.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["figure", name, number, unit] => {
                let figure = (name.to_owned(), number.parse()?, unit.to_owned());
                found.figures.push(figure);
            }
            ["outcome", outcome] => drop(found.outcomes.insert(outcome.to_owned())),
            ["note", note] => found.notes.push(note.to_owned()),
            _ => {}
        }
    }
    found.failure = match status {
        None => Some("hangs, and was killed".to_owned()),
        Some(status) if status.success() => None,
        Some(status) if status.code().is_none() => Some(format!("crashed: {status}")),
        Some(_) => Some(reason(&output, "main")),
    };
    Ok(found)
}

/// Prints the outcome of a fault. Returns false if pointsman has failed.
fn report(fault: &str, theirs: &Findings, ours: &Findings) -> bool {
    clear();
    let mut shown = fault;
    for (name, number, unit) in &theirs.figures {
        let same = ours.figures.iter().find(|it| it.0 == *name);
        let Some((_, mine, _)) = same else { continue };
        let verdict = match mine / number {
            _ if (mine - number).abs() < 0.5 => "level",
            ratio if ratio > LEVEL => "worse",
            ratio if ratio < 1.0 / LEVEL => "better",
            _ => "level",
        };
        println!("{shown:<20}{name:<36}{number:>11.1}{mine:>11.1} {unit:<16}{verdict}");
        shown = "";
    }
    let mut is_right = true;
    let mut say = |name: &str, failure: &Option<String>| {
        if let Some(failure) = failure {
            println!("{shown:<20}{name}: {failure}");
            shown = "";
        }
    };
    say("Tokio", &theirs.failure);
    say("pointsman", &ours.failure);
    is_right &= ours.failure.is_none();
    if theirs.failure.is_none() && ours.failure.is_none() {
        let (missing, new) = (
            &theirs.outcomes - &ours.outcomes,
            &ours.outcomes - &theirs.outcomes,
        );
        is_right &= missing.is_empty() && new.is_empty();
        for (side, outcomes) in [("Tokio", missing), ("pointsman", new)] {
            for outcome in outcomes {
                println!("{:<20}only on {side}: {outcome}", "");
            }
        }
        for note in theirs.notes.iter().filter(|it| ours.notes.contains(it)) {
            println!("{:<20}({note})", "");
        }
    }
    is_right
}

fn meet_all() -> Result<bool> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let registry = Workspace::read(home)?;
    println!("Building what meets the faults, on Tokio and on pointsman.");
    let programs = [Runtime::Tokio, Runtime::Pointsman];
    let [theirs, ours] = programs.map(|runtime| build(home, &registry.target, runtime));
    let (theirs, ours) = (theirs?, ours?);
    let list = Command::new(&theirs).arg("--list").output()?.stdout;
    let list = String::from_utf8(list)?;
    let wanted: Vec<_> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted
        .iter()
        .find(|it| !list.lines().any(|name| name == **it))
    {
        let names = list.lines().collect::<Vec<_>>().join(", ");
        return Err(format!("there is no {unknown:?}: expected some of {names}").into());
    }
    println!("{:<56}{:>11}{:>11}", "", "Tokio", "pointsman");
    let mut failed = Vec::new();
    let faults = list
        .lines()
        .filter(|name| wanted.is_empty() || wanted.iter().any(|it| it == name));
    for fault in faults {
        let side = |name: &str, program| {
            progress(&format!("{fault} on {name}"));
            let log = registry
                .target
                .join(format!("soak-output/{fault}-{name}.txt"));
            meet(program, fault, &log)
        };
        let (theirs, ours) = (side("tokio", &theirs)?, side("pointsman", &ours)?);
        if !report(fault, &theirs, &ours) {
            failed.push(fault);
        }
    }
    match failed.len() {
        0 => println!(
            "\nThe soak has passed: nothing hangs, no data is lost, no descriptor is left, and errors are Tokio's."
        ),
        _ => println!("\nThe soak has failed: {}.", failed.join(", ")),
    }
    Ok(failed.is_empty())
}

fn main() -> ExitCode {
    match meet_all() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::from(2)
        }
    }
}
