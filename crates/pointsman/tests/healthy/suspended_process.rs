//! The process is stopped while a poll lasts, as by a debugger or by a shell.

use std::process::Command;

use pointsman::task;

const SCRIPT: &str = "kill -STOP $PPID; sleep 3; kill -CONT $PPID";

#[pointsman::main(worker_threads = 2)]
pub(crate) async fn main() {
    let stopped = task::spawn(async {
        let ended = Command::new("sh").args(["-c", SCRIPT]).status();
        assert!(ended.unwrap().success());
    });
    stopped.await.unwrap();
    super::is_healthy().await;
}
