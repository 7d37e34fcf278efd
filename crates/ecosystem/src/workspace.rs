//! The workspace in the build folder in which everything is built: once on Tokio, once on pointsman.
//!
//! Invariant: the two differ only in the two lines of the patch.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use conformance::compile::{Build, Compiled};
use conformance::{Package, Result, Runtime, place};

pub(crate) struct Workspace {
    runtime: Runtime,
    folder: PathBuf,
    target: PathBuf,
}

/// Stands for all programs when a library that they need does not compile.
pub(crate) const ALL: &str = "everything";

/// The result of a build: the programs by name, and what does not compile, with the reason.
#[derive(Default)]
pub(crate) struct Built {
    pub(crate) programs: BTreeMap<String, PathBuf>,
    pub(crate) failed: BTreeMap<String, String>,
}

impl Workspace {
    /// Generates the workspace. `packages` are copied as cargo has unpacked them.
    pub(crate) fn new(
        runtime: Runtime,
        home: &Path,
        target: &Path,
        packages: &[(&str, Package)],
    ) -> Result<Self> {
        let name = match runtime {
            Runtime::Tokio => "tokio",
            Runtime::Pointsman => "pointsman",
        };
        let workspace = Self {
            runtime,
            folder: target.join(name),
            target: target.join(format!("{name}-build")),
        };
        let crates = home.parent().ok_or("the package is not in a folder")?;
        let manifest = format!(
            "[workspace]\nresolver = \"3\"\nmembers = [\"programs\", \"packages/*\"]\n\n\
             [profile.dev]\ndebug = false\n{}",
            runtime.patch(crates)
        );
        place(&workspace.folder.join("Cargo.toml"), manifest.as_bytes())?;
        copy(&home.join("programs"), &workspace.folder.join("programs"))?;
        for (name, package) in packages {
            copy(&package.sources, &workspace.package(name))?;
        }
        // Some tests read this file from the root of their repository, which is above the package.
        let readme = fs::read(workspace.package("tower-http").join("README.md"))?;
        place(&workspace.folder.join("packages/README.md"), &readme)?;
        // Cargo adds the additional dependencies of the packages' tests.
        let lock = workspace.folder.join("Cargo.lock");
        let pinned =
            fs::read(home.join("packages.lock")).or_else(|_| fs::read(home.join("Cargo.lock")))?;
        if !lock.exists() {
            place(&lock, &pinned)?;
        }
        Ok(workspace)
    }

    /// The lock file as completed by cargo.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join("Cargo.lock")
    }

    /// The folder of a package.
    pub(crate) fn package(&self, name: &str) -> PathBuf {
        self.folder.join("packages").join(name)
    }

    /// The folder for outputs of runs.
    pub(crate) fn logs(&self, name: &str) -> PathBuf {
        self.folder.join("output").join(name)
    }

    /// Builds all programs.
    pub(crate) fn programs(&self) -> Built {
        self.build(&self.folder.join("programs"), &["--bins"], &["bin"])
    }

    /// Builds the tests of a package: those of its library and those in separate files.
    pub(crate) fn tests(&self, name: &str, features: &str) -> Built {
        let arguments = ["--tests", "--no-default-features", "--features", features];
        self.build(&self.package(name), &arguments, &["lib", "test"])
    }

    fn build(&self, package: &Path, arguments: &[&str], kinds: &[&str]) -> Built {
        let build = Build {
            package,
            target: &self.target,
            runtime: self.runtime,
            flags: None,
        };
        let mut built = Built::default();
        match build.targets(arguments) {
            Ok(targets) => {
                for ((kind, name), compiled) in targets {
                    if !kinds.contains(&kind.as_str()) {
                        continue;
                    }
                    match compiled {
                        Compiled::Binary(binary) => drop(built.programs.insert(name, binary)),
                        Compiled::Failed { error } => drop(built.failed.insert(name, error)),
                    }
                }
            }
            // The first lines contain the error and its location.
            Err(error) => {
                let text = error.to_string();
                let lines: Vec<_> = text.lines().take(3).map(str::trim).collect();
                built.failed.insert(ALL.to_owned(), lines.join(" "));
            }
        }
        built
    }
}

/// The manifest of a package without sections that only apply to a workspace's root, about which cargo warns elsewhere.
fn member(manifest: &str) -> String {
    let mut kept = String::new();
    let mut inside_profile = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside_profile = line.starts_with("[profile");
        }
        if !inside_profile && !line.starts_with("resolver = ") {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

/// Copies the files of a package that have changed.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else if entry.file_name() == "Cargo.toml" {
            place(&to, member(&fs::read_to_string(from)?).as_bytes())?;
        } else {
            place(&to, &fs::read(from)?)?;
        }
    }
    Ok(())
}
