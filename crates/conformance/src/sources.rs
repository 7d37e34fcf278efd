//! Finds the sources of the Tokio that cargo has downloaded, and lays its tests out in the build folder.

use std::fs;
use std::path::{Path, PathBuf};

use conformance::{Result, Tokio, files, package, place};

/// The files whose names begin with these are about what pointsman does not have: input and output, processes,
/// signals, and Tokio's support for tracing. All others are run, also those that a later Tokio adds.
const NOT_HERE: [&str; 13] = [
    "buffered",
    "dump",
    "duplex_stream",
    "fs",
    "io_",
    "net_",
    "process_",
    "signal_",
    "tcp_",
    "tracing_",
    "udp",
    "uds_",
    "unix_",
];

/// One file of tests.
pub(crate) struct File {
    pub(crate) name: String,
    /// How many tests its text declares, for when it cannot be compiled.
    pub(crate) declared: usize,
}

/// The package in the build folder.
pub(crate) struct Suite {
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
    pub(crate) files: Vec<File>,
}

/// Copies the tests, all or those of some files, and writes the package around them.
pub(crate) fn collect(home: &Path, wanted: &[String]) -> Result<Suite> {
    let tokio = Tokio::locate(home)?;
    let folder = tokio.target.join("suite");
    let (from, to) = (tokio.sources.join("tests"), folder.join("tests"));
    for (name, path) in files(&from.join("support"))? {
        let file = to.join("support").join(name).with_extension("rs");
        place(&file, &fs::read(path)?)?;
    }
    let mut found = Vec::new();
    for (name, path) in files(&from)? {
        // Others include it.
        let shared = name == "_require_full";
        if !shared
            && (NOT_HERE.iter().any(|group| name.starts_with(group))
                || !wanted.is_empty() && !wanted.contains(&name))
        {
            continue;
        }
        let text = fs::read_to_string(path)?;
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
        return Err(format!(
            "Tokio {version} has no tests/{missing}.rs, or it is about what pointsman does not have"
        )
        .into());
    }
    package(home, "suite", &folder, |manifest| {
        manifest + "\n[profile.dev]\ndebug = false\n"
    })?;
    Ok(Suite {
        folder,
        version,
        files: found,
    })
}

/// Counts the attributes that make a function a test.
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
