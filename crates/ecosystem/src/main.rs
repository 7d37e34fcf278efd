//! Runs packages built on Tokio on pointsman: the tests of registry packages, and a program for each of them, both on
//! Tokio and, with the two lines of the patch, on pointsman.
//!
//! ```text
//! cargo run --release -- [--update] [PACKAGE]...
//! ```
//!
//! Without a `PACKAGE` all are run. `--update` writes `packages.lock`, which pins the additional dependencies of the
//! packages' tests. The exit code is 1 if something fails on pointsman that passes on Tokio.

mod packages;
mod report;
mod servers;
mod trial;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use conformance::{Result, Runtime};

use packages::PACKAGES;
use report::{Report, Side};
use servers::Server;
use workspace::Workspace;

struct Arguments {
    update: bool,
    packages: Vec<String>,
}

impl Arguments {
    fn read() -> Result<Self> {
        let mut read = Self {
            update: false,
            packages: Vec::new(),
        };
        for argument in std::env::args().skip(1) {
            if argument == "--update" {
                read.update = true;
            } else if PACKAGES.iter().any(|it| it.name == argument) {
                read.packages.push(argument);
            } else {
                let names: Vec<_> = PACKAGES.iter().map(|it| it.name).collect();
                return Err(format!(
                    "there is no {argument:?}: expected --update or one of {}",
                    names.join(", ")
                )
                .into());
            }
        }
        Ok(read)
    }
}

fn try_all() -> Result<bool> {
    let arguments = Arguments::read()?;
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let registry = conformance::Workspace::read(home)?;
    let found = PACKAGES
        .iter()
        .map(|package| Ok((package.name, registry.package(package.name)?)))
        .collect::<Result<Vec<_>>>()?;
    println!(
        "Building {} packages and a program for each, on Tokio and on pointsman: many minutes the first time.",
        found.len()
    );
    let sides = [Runtime::Tokio, Runtime::Pointsman]
        .map(|runtime| Workspace::new(runtime, home, &registry.target, &found));
    let [theirs, ours] = sides;
    let sides = [theirs?, ours?];
    let programs = [&sides[0], &sides[1]].map(Workspace::programs);
    let (redis, postgres) = (Server::redis()?, Server::postgres()?);
    let environment: Vec<_> = [&redis, &postgres]
        .into_iter()
        .flatten()
        .map(|server| server.variable.clone())
        .collect();

    let mut report = Report::new();
    for (package, (name, found)) in PACKAGES.iter().zip(&found) {
        if !arguments.packages.is_empty() && !arguments.packages.iter().any(|it| it == name) {
            continue;
        }
        let side = |number: usize| -> Result<Side> {
            let (workspace, programs) = (&sides[number], &programs[number]);
            let built = workspace.tests(name, package.features);
            let tests = trial::tests(workspace, name, &environment, built)?;
            let program = match (package.needs_redis, &redis) {
                (true, None) => None,
                _ => Some(trial::program(workspace, name, &environment, programs)?),
            };
            Ok(Side { tests, program })
        };
        report.package(name, &found.version, [side(0)?, side(1)?]);
    }
    if postgres.is_none() {
        println!("\nNo Postgres is installed here: the program of sqlx has used SQLite alone.");
    }
    if redis.is_none() {
        println!("\nNo Redis is installed here: what needs one is left out.");
    }
    if arguments.update {
        std::fs::copy(sides[0].lock(), home.join("packages.lock"))?;
    }
    Ok(report.finish())
}

fn main() -> ExitCode {
    match try_all() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ecosystem: {error}");
            ExitCode::from(2)
        }
    }
}
