//! Finds the sources of the Tokio that cargo has downloaded, and copies its tests to the build folder.

use std::fs;
use std::path::{Path, PathBuf};

use conformance::{Result, Runtime, Workspace, files, package, place};

/// Included by others.
const SHARED: &str = "_require_full";

/// A test file.
pub(crate) struct File {
    pub(crate) name: String,
    /// The number of tests that its text declares, used if it does not compile.
    pub(crate) declared: usize,
}

/// The package in the build folder.
pub(crate) struct Suite {
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
    pub(crate) files: Vec<File>,
}

/// Copies all tests or those of some files, and generates their package. `unstable` omits the files that do not need
/// `--cfg tokio_unstable`.
pub(crate) fn collect(home: &Path, wanted: &[String], unstable: bool) -> Result<Suite> {
    let workspace = Workspace::read(home)?;
    let tokio = workspace.package("tokio")?;
    let folder = workspace.target.join(match unstable {
        false => "suite",
        true => "suite-unstable",
    });
    let (from, to) = (tokio.sources.join("tests"), folder.join("tests"));
    for (name, path) in files(&from.join("support"))? {
        let file = to.join("support").join(name).with_extension("rs");
        place(&file, &fs::read(path)?)?;
    }
    let mut found = Vec::new();
    for (name, path) in files(&from)? {
        let shared = name == SHARED;
        if !shared && !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        let text = fs::read_to_string(path)?;
        if !shared && unstable && !text.contains("tokio_unstable") {
            continue;
        }
        place(&to.join(format!("{name}.rs")), text.as_bytes())?;
        if !shared {
            found.push(File {
                name,
                declared: declared(&text),
            });
        }
    }
    let version = tokio.version;
    if let Some(missing) = wanted
        .iter()
        .find(|it| !found.iter().any(|file| file.name == **it))
    {
        return Err(match unstable {
            false => format!("Tokio {version} has no tests/{missing}.rs"),
            true => {
                format!("Tokio {version} has no tests/{missing}.rs that asks for tokio_unstable")
            }
        }
        .into());
    }
    let profile = "\n[profile.dev]\ndebug = false\n";
    package(home, "suite", &folder, Runtime::Pointsman, profile)?;
    Ok(Suite {
        folder,
        version,
        files: found,
    })
}

/// Counts the attributes that declare a test.
fn declared(text: &str) -> usize {
    text.lines()
        .filter(|line| {
            let line = line.trim_start();
            line.starts_with("#[test]")
                || line.starts_with("#[maybe_tokio_test]")
                || line.starts_with("#[tokio::test")
                || line.starts_with("#[cfg_attr") && line.contains("tokio::test")
        })
        .count()
}
