//! Finds the sources of the Tokio that cargo has downloaded, and lays its tests out in the build folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

/// The files whose names begin with these are about what pointsman does not have: input and output, processes,
/// signals, and Tokio's support for tracing. All others are run, also those that a later Tokio adds.
const NOT_HERE: [&str; 14] = [
    "_require_full",
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
    let (tokio, version, target) = locate(home)?;
    let folder = target.join("suite");
    let (from, to) = (tokio.join("tests"), folder.join("tests"));
    for entry in fs::read_dir(from.join("support"))? {
        let name = entry?.file_name();
        place(
            &to.join("support").join(&name),
            &fs::read(from.join("support").join(&name))?,
        )?;
    }
    let required = "_require_full.rs";
    place(&to.join(required), &fs::read(from.join(required))?)?;

    let mut files = Vec::new();
    for entry in fs::read_dir(&from)? {
        let path = entry?.path();
        let (Some(name), Some("rs")) = (
            path.file_stem().and_then(|it| it.to_str()),
            path.extension().and_then(|it| it.to_str()),
        ) else {
            continue;
        };
        if NOT_HERE.iter().any(|group| name.starts_with(group)) {
            continue;
        }
        if !wanted.is_empty() && !wanted.iter().any(|it| it == name) {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        place(&to.join(format!("{name}.rs")), text.as_bytes())?;
        files.push(File {
            name: name.to_owned(),
            declared: declared(&text),
        });
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    if let Some(missing) = wanted
        .iter()
        .find(|it| !files.iter().any(|file| file.name == **it))
    {
        return Err(format!("Tokio {version} has no tests/{missing}.rs, or it is about what pointsman does not have").into());
    }

    let library = "src/lib.rs";
    place(
        &folder.join(library),
        &fs::read(home.join("suite").join(library))?,
    )?;
    let manifest = fs::read_to_string(home.join("suite/Cargo.toml"))?;
    let crates = home.parent().ok_or("the package is not in a folder")?;
    let manifest = manifest
        .replace(
            "../../pointsman",
            &crates.join("pointsman").to_string_lossy(),
        )
        .replace("../facade", &home.join("facade").to_string_lossy());
    place(
        &folder.join("Cargo.toml"),
        format!("{manifest}\n[workspace]\n\n[profile.dev]\ndebug = false\n").as_bytes(),
    )?;
    place(
        &folder.join("Cargo.lock"),
        &fs::read(home.join("Cargo.lock"))?,
    )?;
    Ok(Suite {
        folder,
        version,
        files,
    })
}

/// Asks cargo where Tokio's sources are, of which version, and where to build.
fn locate(home: &Path) -> Result<(PathBuf, String, PathBuf)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .arg("--manifest-path")
        .arg(home.join("Cargo.toml"))
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("cargo metadata has failed".into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let target = metadata["target_directory"]
        .as_str()
        .ok_or("cargo metadata names no target directory")?;
    let tokio = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "tokio")
        .ok_or("cargo metadata has no package tokio")?;
    let (Some(manifest), Some(version)) =
        (tokio["manifest_path"].as_str(), tokio["version"].as_str())
    else {
        return Err("cargo metadata tells too little of tokio".into());
    };
    let sources = Path::new(manifest)
        .parent()
        .ok_or("tokio's manifest is in no folder")?;
    Ok((sources.into(), version.into(), target.into()))
}

/// Writes a file, unless it is there already: cargo compiles what was written later than it was built.
fn place(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
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
