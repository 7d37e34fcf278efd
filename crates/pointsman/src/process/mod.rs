//! Asynchronous child processes.
//!
//! [`Command`] mirrors the standard library's, but waiting for a child does not block the thread.
//!
//! ```
//! # #[pointsman::main] async fn main() -> std::io::Result<()> {
//! use pointsman::process::Command;
//!
//! let output = Command::new("echo").arg("hello").output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"hello\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Dropped children
//! A dropped [`Child`] keeps running, unless [`kill_on_drop`](Command::kill_on_drop) was set. On Unix an exited child
//! keeps its process id until its parent reaps it. The runtimes reap dropped children: as soon as they exit, while a
//! runtime exists that has started children or listens to signals, and otherwise as soon as one exists again. To be
//! sure that a child is gone, [wait](Child::wait) for it.
//!
//! # Requirements
//! The runtime needs I/O: [`enable_io`](crate::runtime::Builder::enable_io). On Linux each child that is waited for
//! takes one descriptor (a pidfd), and each pipe another. Without pidfds, and for dropped children, the process listens
//! to `SIGCHLD`, from the first such child on.

mod child;
mod command;
mod stdio;
#[cfg(unix)]
#[path = "unix/mod.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

pub use child::Child;
pub use command::Command;
pub use stdio::{ChildStderr, ChildStdin, ChildStdout};
