//! Child processes, asynchronously.
//!
//! [`Command`] is the standard library's, but what waits for a child lets the thread run other tasks meanwhile.
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
//! # A child that is dropped
//! goes on, unless [`kill_on_drop`](Command::kill_on_drop) was set. On Unix a child that has ended takes up a number
//! until its parent has asked how it ended. Of a child that was dropped the runtimes ask: as soon as it has ended, as
//! long as one runs that has started children or listens to signals, and otherwise as soon as there is one again. A
//! program that must know that a child is gone [waits](Child::wait) for it.
//!
//! # What it takes
//! The runtime needs I/O: [`enable_io`](crate::runtime::Builder::enable_io). On Linux each child that is waited for
//! takes one descriptor, and one more for each pipe. Where there are no descriptors of processes, and for children that
//! were dropped, `SIGCHLD` is listened to, from the first such child on.

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
