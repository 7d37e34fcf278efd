//! Files and directories: an asynchronous [`std::fs`].
//!
//! Operating systems offer few non-blocking file operations, so nearly each call is a job for [`spawn_blocking`] that
//! calls the standard library and returns its errors. The handover costs more than a small operation: use [`read`] and
//! [`write()`] for whole files, and a [`BufReader`] or [`BufWriter`] around a [`File`].
//!
//! Cancelling a call after its first poll does not cancel its job: the job runs even if the runtime shuts down while
//! the job is queued, and the shutdown waits for it. After the shutdown calls fail with an error of kind
//! [`Other`](std::io::ErrorKind::Other).
//!
//! All functions panic if called outside of a runtime.
//!
//! [`BufReader`]: crate::io::BufReader
//! [`BufWriter`]: crate::io::BufWriter
//!
//! ```
//! use pointsman::fs;
//!
//! # #[pointsman::main] async fn main() -> std::io::Result<()> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("hello");
//! fs::write(&path, "hello, world").await?;
//! assert_eq!(fs::read_to_string(&path).await?, "hello, world");
//! fs::remove_file(&path).await?;
//! assert!(!fs::try_exists(&path).await?);
//! # Ok(()) }
//! ```

mod dir_builder;
mod file;
mod file_times;
mod functions;
mod open_options;
mod read_dir;

use std::io;

use crate::task::spawn_blocking;

pub use dir_builder::DirBuilder;
pub use file::File;
pub use file_times::FileTimes;
#[cfg(unix)]
pub use functions::symlink;
pub use functions::{
    canonicalize, copy, create_dir, create_dir_all, hard_link, metadata, read, read_link,
    read_to_string, remove_dir, remove_dir_all, remove_file, rename, set_permissions,
    symlink_metadata, try_exists, write,
};
#[cfg(windows)]
pub use functions::{symlink_dir, symlink_file};
pub use open_options::OpenOptions;
pub use read_dir::{DirEntry, ReadDir, read_dir};

/// Calls the standard library in a job.
async fn asyncify<T: Send + 'static>(
    call: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let result = spawn_blocking(call).await;
    result.unwrap_or_else(|_| Err(io::Error::other("background task failed")))
}
