//! Shared by the runners of Tokio's tests and benches: compiling files of Tokio, unchanged, in a package of the build
//! folder. Nothing of Tokio is kept in this repository.

use std::error::Error;
use std::fs;
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

pub mod compile;
pub mod run;

/// Errors are reported and end the run.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A package that cargo has downloaded.
pub struct Package {
    /// Its folder.
    pub sources: PathBuf,
    /// Its version.
    pub version: String,
}

/// The metadata of a workspace.
pub struct Workspace {
    metadata: Value,
    /// Cargo's target folder.
    pub target: PathBuf,
}

impl Workspace {
    /// Runs `cargo metadata`, which downloads the packages of the lock file.
    pub fn read(home: &Path) -> Result<Self> {
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
            .ok_or("cargo metadata names no target directory")?
            .into();
        Ok(Self { metadata, target })
    }

    /// The newest package of this name.
    pub fn package(&self, name: &str) -> Result<Package> {
        let package = self.metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .rfind(|package| package["name"] == name)
            .ok_or_else(|| format!("cargo metadata has no package {name}"))?;
        let (Some(manifest), Some(version)) = (
            package["manifest_path"].as_str(),
            package["version"].as_str(),
        ) else {
            return Err(format!("cargo metadata tells too little of {name}").into());
        };
        let sources = Path::new(manifest)
            .parent()
            .ok_or_else(|| format!("the manifest of {name} is in no folder"))?;
        Ok(Package {
            sources: sources.into(),
            version: version.into(),
        })
    }
}

/// The crate behind the name `tokio`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// The one from the registry.
    Tokio,
    /// Pointsman's crate of that name.
    Pointsman,
}

impl Runtime {
    /// The lines that a workspace's root manifest needs for it, the same as a user's. `crates` is the folder of
    /// pointsman's crates.
    pub fn patch(self, crates: &Path) -> String {
        match self {
            Self::Tokio => String::new(),
            Self::Pointsman => format!(
                "\n[patch.crates-io]\ntokio = {{ path = \"{}/tokio\" }}\n",
                crates.display()
            ),
        }
    }
}

/// Copies the package `template` of this workspace to `folder`, as a workspace of its own with the same lock file and
/// additions to its manifest.
pub fn package(
    home: &Path,
    template: &str,
    folder: &Path,
    runtime: Runtime,
    more: &str,
) -> Result<()> {
    let from = home.join(template);
    let library = "src/lib.rs";
    place(&folder.join(library), &fs::read(from.join(library))?)?;
    let crates = home.parent().ok_or("the package is not in a folder")?;
    let manifest = fs::read_to_string(from.join("Cargo.toml"))?
        .replace("\"../../", &format!("\"{}/", crates.display()))
        .replace("\"../", &format!("\"{}/", home.display()));
    let manifest = format!("{manifest}\n[workspace]\n{more}{}", runtime.patch(crates));
    place(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    place(
        &folder.join("Cargo.lock"),
        &fs::read(home.join("Cargo.lock"))?,
    )
}

/// Writes a file if its contents differ: cargo rebuilds files that are newer than their build.
pub fn place(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
}

/// The Rust files in a folder: name without extension, and path. Sorted by name.
pub fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "rs")
            && let Some(name) = path.file_stem().and_then(|it| it.to_str())
        {
            files.push((name.to_owned(), path.clone()));
        }
    }
    files.sort();
    Ok(files)
}

/// Shows a run's progress on a terminal. Call [`clear`] before printing.
pub fn progress(text: &str) {
    if stdout().is_terminal() {
        print!("\r\x1b[K{text}");
        let _ = stdout().flush();
    }
}

/// Removes the line of [`progress`].
pub fn clear() {
    progress("");
}
