//! Finds Tokio's benches, and compiles them twice.

use std::fs;
use std::path::{Path, PathBuf};

use conformance::compile::{self, Compiled, Kind};
use conformance::{Package, Result, Runtime, files, package, place};

/// Files that bench features which pointsman lacks.
const NOT_HERE: [&str; 3] = ["copy", "fs", "signal"];

/// What pointsman is compared with.
#[derive(Clone, Copy)]
pub(crate) enum Peer {
    Tokio,
    WithoutDiagnostics,
}

/// A file of benches, as a program on the peer and as one on pointsman.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) theirs: PathBuf,
    pub(crate) ours: PathBuf,
}

/// The folder of the benches: in the given checkout, or beside the package if cargo has downloaded it as a Git
/// dependency.
pub(crate) fn find(tokio: &Package, given: Option<&Path>) -> Result<PathBuf> {
    let checkout = given.or(tokio.sources.parent());
    let benches = checkout.unwrap_or(Path::new("")).join("benches");
    if benches.join("rt_multi_threaded.rs").is_file() {
        return Ok(benches);
    }
    Err(match given {
        Some(given) => format!(
            "{} is no checkout of Tokio: it has no benches",
            given.display()
        ),
        None => format!(
            "Tokio's benches are in its repository only, not in the package that cargo downloads. \
             Check out its tag tokio-{}, and say where it is: make benches TOKIO=/path/to/tokio",
            tokio.version
        ),
    }
    .into())
}

/// Compiles all files that bench features which pointsman has, twice.
pub(crate) fn compile(home: &Path, target: &Path, benches: &Path, peer: Peer) -> Result<Vec<File>> {
    let mut found = files(benches)?;
    found.retain(|(name, _)| !NOT_HERE.contains(&name.as_str()));
    let targets: String = found
        .iter()
        .map(|(name, _)| format!("\n[[bench]]\nname = \"{name}\"\nharness = false\n"))
        .collect();
    let build = |folder: &str, runtime: Runtime, options: &[&str]| -> Result<Vec<Compiled>> {
        let folder = target.join(folder);
        for (name, path) in &found {
            let file = folder.join("benches").join(name).with_extension("rs");
            place(&file, &fs::read(path)?)?;
        }
        package(home, "benches", &folder, runtime, &targets)?;
        let names = found.iter().map(|(name, _)| name);
        compile::all(&folder, runtime, Kind::Bench, None, options, names)
    };
    let theirs = match peer {
        Peer::Tokio => build("benches-tokio", Runtime::Tokio, &[])?,
        Peer::WithoutDiagnostics => build(
            "benches-without-diagnostics",
            Runtime::Pointsman,
            &["--no-default-features"],
        )?,
    };
    let ours = build("benches-pointsman", Runtime::Pointsman, &[])?;
    let mut compiled = Vec::new();
    for ((name, _), programs) in found.into_iter().zip(theirs.into_iter().zip(ours)) {
        match programs {
            (Compiled::Binary(theirs), Compiled::Binary(ours)) => {
                compiled.push(File { name, theirs, ours })
            }
            (Compiled::Failed { error }, _) | (_, Compiled::Failed { error }) => {
                println!("{name} does not compile, and is left out: {error}");
            }
        }
    }
    Ok(compiled)
}
