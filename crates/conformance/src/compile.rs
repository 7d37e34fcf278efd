//! Compiles each file as a test binary of its own, in one run of cargo.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::sources::Suite;

/// What has become of a file.
pub(crate) enum Compiled {
    Binary(PathBuf),
    Failed { error: String },
}

/// Compiles all files; those that fail keep the others from nothing.
pub(crate) fn all(suite: &Suite) -> Result<Vec<Compiled>> {
    let mut cargo = Command::new(env!("CARGO"))
        .args(["build", "--keep-going", "--message-format", "json"])
        .args(suite.files.iter().flat_map(|file| ["--test", &file.name]))
        .current_dir(&suite.folder)
        // A build of its own: the flags of whoever runs this are not meant for Tokio's tests.
        .env_remove("RUSTFLAGS")
        .env(
            "CARGO_TARGET_DIR",
            suite.folder.with_file_name("suite-build"),
        )
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
        let is_test = message["target"]["kind"][0] == "test";
        match message["reason"].as_str() {
            Some("compiler-artifact") if is_test => {
                if let Some(binary) = message["executable"].as_str() {
                    binaries.insert(name.to_owned(), PathBuf::from(binary));
                }
            }
            Some("compiler-message") if message["message"]["level"] == "error" => {
                let text = &message["message"];
                if is_test {
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
    suite
        .files
        .iter()
        .map(|file| {
            if let Some(binary) = binaries.remove(&file.name) {
                return Ok(Compiled::Binary(binary));
            }
            let error = errors
                .remove(&file.name)
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
