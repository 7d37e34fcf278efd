//! Compiles each file as a program of its own, in one run of cargo.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

/// What a file is to cargo.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A test, compiled to be debugged.
    Test,
    /// A bench, compiled to be fast.
    Bench,
}

/// What has become of a file.
pub enum Compiled {
    /// The program.
    Binary(PathBuf),
    /// It does not compile.
    Failed {
        /// What the compiler says first, and where.
        error: String,
    },
}

/// Compiles files of the package in `folder`; those that fail keep the others from nothing.
pub fn all(
    folder: &Path,
    kind: Kind,
    files: impl Iterator<Item = impl AsRef<str>> + Clone,
) -> Result<Vec<Compiled>> {
    let (kind, options): (_, &[&str]) = match kind {
        Kind::Test => ("test", &[]),
        Kind::Bench => ("bench", &["--release"]),
    };
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--keep-going", "--message-format", "json"]);
    command.args(options);
    for file in files.clone() {
        command.arg(format!("--{kind}")).arg(file.as_ref());
    }
    let mut build = folder.as_os_str().to_owned();
    build.push("-build");
    let mut cargo = command
        .current_dir(folder)
        // A build of its own: the flags of whoever runs this are not meant for Tokio's files.
        .env_remove("RUSTFLAGS")
        .env("CARGO_TARGET_DIR", build)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let messages = cargo.stdout.take().ok_or("cargo has no output")?;
    let mut binaries = BTreeMap::new();
    let mut errors = BTreeMap::new();
    let mut elsewhere = None;
    for line in BufReader::new(messages).lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let is_file = message["target"]["kind"][0] == kind;
        match message["reason"].as_str() {
            Some("compiler-artifact") if is_file => {
                if let Some(binary) = message["executable"].as_str() {
                    binaries.insert(name.to_owned(), PathBuf::from(binary));
                }
            }
            Some("compiler-message") if message["message"]["level"] == "error" => {
                let text = &message["message"];
                if is_file {
                    errors
                        .entry(name.to_owned())
                        .or_insert_with(|| summary(text));
                } else if elsewhere.is_none() {
                    elsewhere = text["rendered"].as_str().map(str::to_owned);
                }
            }
            _ => {}
        }
    }
    cargo.wait()?;
    if let Some(error) = elsewhere {
        return Err(format!("the library does not compile\n{error}").into());
    }
    files
        .map(|file| {
            if let Some(binary) = binaries.remove(file.as_ref()) {
                return Ok(Compiled::Binary(binary));
            }
            let error = errors
                .remove(file.as_ref())
                .ok_or("cargo has built nothing: what it says is above")?;
            Ok(Compiled::Failed { error })
        })
        .collect()
}

/// The first line of an error, and where it is.
fn summary(message: &Value) -> String {
    let text = message["message"]
        .as_str()
        .unwrap_or("an error without text");
    let span = &message["spans"][0];
    match (span["file_name"].as_str(), span["line_start"].as_u64()) {
        (Some(file), Some(line)) => format!("{text} ({file}:{line})"),
        _ => text.to_owned(),
    }
}
