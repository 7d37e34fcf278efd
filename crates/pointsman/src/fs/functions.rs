//! The functions of `std::fs`, each run as a job.

use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use super::asyncify;

/// Returns the canonical, absolute path: all links resolved, without `.` and `..`.
///
/// # Errors
/// Those of [`std::fs::canonicalize`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// assert!(fs::canonicalize("src/..").await?.is_absolute());
/// # Ok(()) }
/// ```
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::canonicalize(path)).await
}

/// Copies a file and its permissions, replaces the contents of an existing `to`, and returns the number of bytes
/// copied.
///
/// If cancelled, the operation still completes in the background.
///
/// # Errors
/// Those of [`std::fs::copy`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::fs::write(path.join("a"), "hello")?;
/// assert_eq!(fs::copy(path.join("a"), path.join("b")).await?, 5);
/// assert_eq!(std::fs::read(path.join("b"))?, b"hello");
/// # Ok(()) }
/// ```
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    asyncify(move || std::fs::copy(from, to)).await
}

/// Creates a directory; its parent must exist.
///
/// # Errors
/// Those of [`std::fs::create_dir`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// fs::create_dir(path.join("a")).await?;
/// assert!(path.join("a").is_dir());
/// # Ok(()) }
/// ```
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::create_dir(path)).await
}

/// Creates a directory and its missing parents.
///
/// # Errors
/// Those of [`std::fs::create_dir_all`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// fs::create_dir_all(path.join("a/b/c")).await?;
/// assert!(path.join("a/b/c").is_dir());
/// # Ok(()) }
/// ```
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::create_dir_all(path)).await
}

/// Creates a hard link on the same file system.
///
/// # Errors
/// Those of [`std::fs::hard_link`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::fs::write(path.join("a"), "hello")?;
/// fs::hard_link(path.join("a"), path.join("b")).await?;
/// assert_eq!(std::fs::read(path.join("b"))?, b"hello");
/// # Ok(()) }
/// ```
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    asyncify(move || std::fs::hard_link(original, link)).await
}

/// Returns the metadata of a path, following links.
///
/// # Errors
/// Those of [`std::fs::metadata`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// assert!(fs::metadata("Cargo.toml").await?.is_file());
/// # Ok(()) }
/// ```
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::metadata(path)).await
}

/// Reads a whole file, in one job.
///
/// # Errors
/// Those of [`std::fs::read`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// assert!(fs::read("Cargo.toml").await?.starts_with(b"[package]"));
/// # Ok(()) }
/// ```
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::read(path)).await
}

/// Returns the target of a symbolic link.
///
/// # Errors
/// Those of [`std::fs::read_link`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::os::unix::fs::symlink("there", path.join("link"))?;
/// assert_eq!(fs::read_link(path.join("link")).await?.to_str(), Some("there"));
/// # Ok(()) }
/// ```
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::read_link(path)).await
}

/// Reads a whole file into a string, in one job. Returns [`io::ErrorKind::InvalidData`] if it is not UTF-8.
///
/// # Errors
/// Those of [`std::fs::read_to_string`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// assert!(fs::read_to_string("Cargo.toml").await?.starts_with("[package]"));
/// # Ok(()) }
/// ```
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::read_to_string(path)).await
}

/// Removes an empty directory.
///
/// # Errors
/// Those of [`std::fs::remove_dir`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::fs::create_dir(path.join("a"))?;
/// fs::remove_dir(path.join("a")).await?;
/// assert!(!path.join("a").exists());
/// # Ok(()) }
/// ```
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::remove_dir(path)).await
}

/// Removes a directory and its contents, without following links. Use with care.
///
/// If cancelled, the operation still completes in the background.
///
/// # Errors
/// Those of [`std::fs::remove_dir_all`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::fs::create_dir_all(path.join("a/b/c"))?;
/// fs::remove_dir_all(path.join("a")).await?;
/// assert!(!path.join("a").exists());
/// # Ok(()) }
/// ```
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::remove_dir_all(path)).await
}

/// Removes a file. An open file may continue to exist until it is closed.
///
/// # Errors
/// Those of [`std::fs::remove_file`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::fs::write(path.join("a"), "hello")?;
/// fs::remove_file(path.join("a")).await?;
/// assert!(!path.join("a").exists());
/// # Ok(()) }
/// ```
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::remove_file(path)).await
}

/// Renames a file or directory on the same file system. Replaces an existing file at `to`.
///
/// # Errors
/// Those of [`std::fs::rename`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::fs::write(path.join("a"), "hello")?;
/// fs::rename(path.join("a"), path.join("b")).await?;
/// assert_eq!(std::fs::read(path.join("b"))?, b"hello");
/// # Ok(()) }
/// ```
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    asyncify(move || std::fs::rename(from, to)).await
}

/// Returns the metadata of a path, without following a link.
///
/// # Errors
/// Those of [`std::fs::symlink_metadata`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// assert!(!fs::symlink_metadata("Cargo.toml").await?.is_symlink());
/// # Ok(()) }
/// ```
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::symlink_metadata(path)).await
}

/// Creates a symbolic link to `original`, which need not exist.
///
/// # Errors
/// Those of [`std::os::unix::fs::symlink`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// fs::symlink("there", path.join("link")).await?;
/// assert_eq!(std::fs::read_link(path.join("link"))?.to_str(), Some("there"));
/// # Ok(()) }
/// ```
#[cfg(unix)]
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    asyncify(move || std::os::unix::fs::symlink(original, link)).await
}

/// Creates a symbolic link to the directory `original`, which need not exist.
///
/// # Errors
/// Those of [`std::os::windows::fs::symlink_dir`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// fs::symlink_dir("there", path.join("link")).await?;
/// assert_eq!(std::fs::read_link(path.join("link"))?.to_str(), Some("there"));
/// # Ok(()) }
/// ```
#[cfg(windows)]
pub async fn symlink_dir(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    asyncify(move || std::os::windows::fs::symlink_dir(original, link)).await
}

/// Creates a symbolic link to the file `original`, which need not exist.
///
/// # Errors
/// Those of [`std::os::windows::fs::symlink_file`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// fs::symlink_file("there", path.join("link")).await?;
/// assert_eq!(std::fs::read_link(path.join("link"))?.to_str(), Some("there"));
/// # Ok(()) }
/// ```
#[cfg(windows)]
pub async fn symlink_file(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    asyncify(move || std::os::windows::fs::symlink_file(original, link)).await
}

/// Changes the permissions of a file or directory.
///
/// # Errors
/// Those of [`std::fs::set_permissions`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::fs::write(path.join("a"), "hello")?;
/// let mut permissions = fs::metadata(path.join("a")).await?.permissions();
/// permissions.set_readonly(true);
/// fs::set_permissions(path.join("a"), permissions).await?;
/// assert!(std::fs::metadata(path.join("a"))?.permissions().readonly());
/// # Ok(()) }
/// ```
pub async fn set_permissions(path: impl AsRef<Path>, perm: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::set_permissions(path, perm)).await
}

/// Returns whether a path exists, following links. If that cannot be determined, returns the error.
///
/// # Errors
/// Those of [`std::fs::exists`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// assert!(fs::try_exists("Cargo.toml").await?);
/// assert!(!fs::try_exists("no such file").await?);
/// # Ok(()) }
/// ```
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref().to_owned();
    asyncify(move || std::fs::exists(path)).await
}

/// Writes a whole file, in one job. Creates the file, or replaces an existing one, not atomically: it is truncated
/// first. The contents are copied before.
///
/// If cancelled, the operation still completes in the background.
///
/// # Errors
/// Those of [`std::fs::write`].
///
/// ```
/// # use pointsman::fs;
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// fs::write(path.join("a"), "hello").await?;
/// assert_eq!(std::fs::read(path.join("a"))?, b"hello");
/// # Ok(()) }
/// ```
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let (path, contents) = (path.as_ref().to_owned(), contents.as_ref().to_owned());
    asyncify(move || std::fs::write(path, contents)).await
}
