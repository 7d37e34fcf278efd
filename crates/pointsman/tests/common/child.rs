//! Runs a program in a process of its own, in which ids begin with 1 and standard error is the program's alone.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Set in the child.
const CHILD: &str = "POINTSMAN_TEST_CHILD";

pub(crate) struct Run {
    /// What it printed on standard error.
    pub(crate) printed: String,
    /// Whether it ended without an error. False if it was stopped.
    #[allow(dead_code)] // Programs that are stuck are stopped.
    pub(crate) is_success: bool,
}

/// Runs the program in a child, in which this function is called again by the test of this name, and returns `None`. A
/// child that has printed the line of a stall is stopped, as it is stuck.
pub(crate) fn run(test: &str, program: fn()) -> Option<Run> {
    if env::var_os(CHILD).is_some() {
        program();
        return None;
    }
    let mut child = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .env_remove("POINTSMAN_STALL")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        printed += &line;
        printed += "\n";
        if line.starts_with("pointsman: stall: ") {
            child.kill().unwrap();
            break;
        }
    }
    let is_success = child.wait().unwrap().success();
    Some(Run {
        printed,
        is_success,
    })
}
