//! Compiles tests and benches as separate programs, in one run of cargo.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Result, Runtime};

/// The kind of a file's cargo target.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A test, compiled with the debug profile.
    Test,
    /// A bench, compiled with the release profile.
    Bench,
}

/// The result of compiling a file.
pub enum Compiled {
    /// The program.
    Binary(PathBuf),
    /// The file does not compile.
    Failed {
        /// The compiler's first error, and its location.
        error: String,
    },
}

/// A cargo target of a package: its kind (`lib`, `test`, `bin`) and its name.
pub type Target = (String, String);

/// One run of cargo.
pub struct Build<'a> {
    /// The package. All other packages are its dependencies, whose errors fail the run.
    pub package: &'a Path,
    /// Cargo's target folder.
    pub target: &'a Path,
    /// The crate behind the name `tokio`.
    pub runtime: Runtime,
    /// Compiler flags that replace those of the environment, which are not meant for other projects' files.
    pub flags: Option<&'a str>,
}

/// Compiles files of the package in `folder`, with further options of cargo; files that fail do not affect the others.
pub fn all(
    folder: &Path,
    runtime: Runtime,
    kind: Kind,
    flags: Option<&str>,
    options: &[&str],
    files: impl Iterator<Item = impl AsRef<str>> + Clone,
) -> Result<Vec<Compiled>> {
    let (kind, mut arguments) = match kind {
        Kind::Test => ("test", vec![]),
        Kind::Bench => ("bench", vec!["--release".to_owned()]),
    };
    arguments.extend(options.iter().map(|&option| option.to_owned()));
    for file in files.clone() {
        arguments.extend([format!("--{kind}"), file.as_ref().to_owned()]);
    }
    let mut target = folder.as_os_str().to_owned();
    target.push("-build");
    let build = Build {
        package: folder,
        target: target.as_ref(),
        runtime,
        flags,
    };
    let mut compiled = build.targets(&arguments)?;
    files
        .map(|file| {
            compiled
                .remove(&(kind.to_owned(), file.as_ref().to_owned()))
                .ok_or("cargo has built nothing: what it says is above".into())
        })
        .collect()
}

impl Build<'_> {
    /// Builds what the arguments ask for. Returns the package's programs and its errors.
    pub fn targets(&self, arguments: &[impl AsRef<OsStr>]) -> Result<BTreeMap<Target, Compiled>> {
        let mut command = Command::new(env!("CARGO"));
        command
            .args(["build", "--keep-going", "--message-format", "json"])
            .args(arguments)
            .current_dir(self.package)
            .env_remove("RUSTFLAGS")
            .env("CARGO_TARGET_DIR", self.target)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if let Some(flags) = self.flags {
            command.env("RUSTFLAGS", flags);
        }
        let mut cargo = command.spawn()?;
        let messages = cargo.stdout.take().ok_or("cargo has no output")?;
        let mut compiled = BTreeMap::new();
        let mut elsewhere = None;
        for line in BufReader::new(messages).lines() {
            let message: Value = serde_json::from_str(&line?)?;
            let inside = message["manifest_path"]
                .as_str()
                .is_some_and(|it| Path::new(it).starts_with(self.package));
            let [kind, name] = [&message["target"]["kind"][0], &message["target"]["name"]]
                .map(|it| it.as_str().unwrap_or_default().to_owned());
            match message["reason"].as_str() {
                Some("compiler-artifact") => {
                    if name == "tokio" && !self.is_right(&message) {
                        let path = &message["manifest_path"];
                        elsewhere = Some(format!("{path} has been taken for tokio"));
                    }
                    if let (true, Some(binary)) = (inside, message["executable"].as_str()) {
                        compiled.insert((kind, name), Compiled::Binary(binary.into()));
                    }
                }
                Some("compiler-message") if message["message"]["level"] == "error" => {
                    let text = &message["message"];
                    if inside {
                        compiled
                            .entry((kind, name))
                            .or_insert_with(|| Compiled::Failed {
                                error: summary(text),
                            });
                    } else if elsewhere.is_none() {
                        elsewhere = text["rendered"].as_str().map(|error| {
                            format!("a library that is needed does not compile\n{error}")
                        });
                    }
                }
                _ => {}
            }
        }
        cargo.wait()?;
        match elsewhere {
            Some(error) => Err(error.into()),
            None => Ok(compiled),
        }
    }

    /// Whether a crate called `tokio` is the right one: cargo only warns about a patch that does not apply.
    fn is_right(&self, artifact: &Value) -> bool {
        let registry = artifact["package_id"]
            .as_str()
            .is_some_and(|it| it.starts_with("registry+"));
        registry == (self.runtime == Runtime::Tokio)
    }
}

/// The first line of an error, and its location.
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
