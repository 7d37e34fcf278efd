//! Runs rustdoc, whose JSON only Rust's nightly writes: the one that the environment variable `NIGHTLY` names.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use conformance::{Result, Workspace, place};
use serde_json::Value;

/// Documents Tokio with all features. Returns the path of the JSON.
pub(crate) fn tokio(home: &Path, version: &str) -> Result<PathBuf> {
    let target = Workspace::read(home)?.target.join("api");
    let folder = target.join(version);
    place(&folder.join("src/lib.rs"), b"")?;
    let manifest = |features: &[String]| {
        format!(
            "[package]\nname = \"documented\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\ntokio = {{ version = \"={version}\", features = {features:?} }}\n"
        )
    };
    place(&folder.join("Cargo.toml"), manifest(&[]).as_bytes())?;
    let output = cargo(&folder)
        .args(["metadata", "--format-version", "1"])
        .stdout(Stdio::piped())
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo does not find Tokio {version}").into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let features = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "tokio")
        .and_then(|tokio| tokio["features"].as_object())
        .ok_or("cargo metadata does not list Tokio's features")?;
    let features: Vec<_> = features.keys().cloned().collect();
    place(&folder.join("Cargo.toml"), manifest(&features).as_bytes())?;
    document(&folder, &target, "tokio", &["--cfg tokio_unstable"])
}

/// Documents pointsman with all features. Returns the path of the JSON.
pub(crate) fn pointsman(home: &Path) -> Result<PathBuf> {
    let target = Workspace::read(home)?.target.join("api");
    let crates = home.parent().ok_or("the package is not in a folder")?;
    document(&crates.join("pointsman"), &target, "pointsman", &[])
}

fn document(folder: &Path, target: &Path, package: &str, flags: &[&str]) -> Result<PathBuf> {
    let flags = flags.join(" ");
    let mut command = cargo(folder);
    command
        .args(["doc", "--quiet", "--no-deps", "--package", package])
        .arg("--target-dir")
        .arg(target)
        .env("RUSTFLAGS", &flags)
        .env(
            "RUSTDOCFLAGS",
            format!("{flags} -Zunstable-options --output-format=json --cap-lints=allow"),
        );
    if package == "pointsman" {
        command.arg("--all-features");
    }
    if !command.status()?.success() {
        return Err(format!("rustdoc has failed for {package}").into());
    }
    Ok(target.join("doc").join(package).with_extension("json"))
}

/// The cargo of rustup, not the one that runs this program.
fn cargo(folder: &Path) -> Command {
    let nightly = std::env::var("NIGHTLY").unwrap_or_else(|_| "nightly".to_owned());
    let mut command = Command::new("rustup");
    command
        .args(["run", &nightly, "cargo"])
        .current_dir(folder)
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .env_remove("RUSTDOC")
        .env_remove("RUSTUP_TOOLCHAIN");
    command
}
