//! The functions of `std::fs`, each as a job.

use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use super::asyncify;

/// Functions of paths that call the standard library's of their names.
macro_rules! functions {
    ($($(#[$about:meta])* $($module:ident)::+ . $name:ident($($path:ident),+) -> $output:ty;)*) => {$(
        $(#[$about])*
        pub async fn $name($($path: impl AsRef<Path>),+) -> io::Result<$output> {
            $(let $path = $path.as_ref().to_owned();)+
            asyncify(move || $($module)::+::$name($($path),+)).await
        }
    )*};
}

functions! {
    /// The path from the root, with every link followed and no `.` or `..` in it.
    ///
    /// # Errors
    /// As of [`std::fs::canonicalize`].
    ///
    /// ```
    /// # use pointsman::fs;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// assert!(fs::canonicalize("src/..").await?.is_absolute());
    /// # Ok(()) }
    /// ```
    std::fs.canonicalize(path) -> PathBuf;

    /// Copies a file with its permissions over what is at `to`, and returns how many bytes that were.
    ///
    /// If it is cancelled, it goes on.
    ///
    /// # Errors
    /// As of [`std::fs::copy`].
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
    std::fs.copy(from, to) -> u64;

    /// Makes a folder, in one that there is.
    ///
    /// # Errors
    /// As of [`std::fs::create_dir`].
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
    std::fs.create_dir(path) -> ();

    /// Makes a folder and those above it, where there are none.
    ///
    /// # Errors
    /// As of [`std::fs::create_dir_all`].
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
    std::fs.create_dir_all(path) -> ();

    /// Gives a file one more name, on the same file system.
    ///
    /// # Errors
    /// As of [`std::fs::hard_link`].
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
    std::fs.hard_link(original, link) -> ();

    /// What the system knows about what is there, behind all links.
    ///
    /// # Errors
    /// As of [`std::fs::metadata`].
    ///
    /// ```
    /// # use pointsman::fs;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// assert!(fs::metadata("Cargo.toml").await?.is_file());
    /// # Ok(()) }
    /// ```
    std::fs.metadata(path) -> Metadata;

    /// All of a file, with one job.
    ///
    /// # Errors
    /// As of [`std::fs::read`].
    ///
    /// ```
    /// # use pointsman::fs;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// assert!(fs::read("Cargo.toml").await?.starts_with(b"[package]"));
    /// # Ok(()) }
    /// ```
    std::fs.read(path) -> Vec<u8>;

    /// Where a link leads, as it says.
    ///
    /// # Errors
    /// As of [`std::fs::read_link`].
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
    std::fs.read_link(path) -> PathBuf;

    /// All of a file, with one job. What is not UTF-8 is an error, [`io::ErrorKind::InvalidData`].
    ///
    /// # Errors
    /// As of [`std::fs::read_to_string`].
    ///
    /// ```
    /// # use pointsman::fs;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// assert!(fs::read_to_string("Cargo.toml").await?.starts_with("[package]"));
    /// # Ok(()) }
    /// ```
    std::fs.read_to_string(path) -> String;

    /// Removes a folder that is empty.
    ///
    /// # Errors
    /// As of [`std::fs::remove_dir`].
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
    std::fs.remove_dir(path) -> ();

    /// Removes a folder with all that is in it, and follows no links. Use it with care.
    ///
    /// If it is cancelled, it goes on.
    ///
    /// # Errors
    /// As of [`std::fs::remove_dir_all`].
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
    std::fs.remove_dir_all(path) -> ();

    /// Removes a file. Where it is open it may live on until it is closed.
    ///
    /// # Errors
    /// As of [`std::fs::remove_file`].
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
    std::fs.remove_file(path) -> ();

    /// Renames a file or folder, on the same file system. A file that is at `to` is replaced.
    ///
    /// # Errors
    /// As of [`std::fs::rename`].
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
    std::fs.rename(from, to) -> ();

    /// What the system knows about what is there. Of a link, about the link itself.
    ///
    /// # Errors
    /// As of [`std::fs::symlink_metadata`].
    ///
    /// ```
    /// # use pointsman::fs;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// assert!(!fs::symlink_metadata("Cargo.toml").await?.is_symlink());
    /// # Ok(()) }
    /// ```
    std::fs.symlink_metadata(path) -> Metadata;

    /// Makes a link that leads to `original`, which there need not be.
    ///
    /// # Errors
    /// As of [`std::os::unix::fs::symlink`].
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
    std::os::unix::fs.symlink(original, link) -> ();

    /// Makes a link that leads to the folder `original`, which there need not be.
    ///
    /// # Errors
    /// As of [`std::os::windows::fs::symlink_dir`].
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
    std::os::windows::fs.symlink_dir(original, link) -> ();

    /// Makes a link that leads to the file `original`, which there need not be.
    ///
    /// # Errors
    /// As of [`std::os::windows::fs::symlink_file`].
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
    std::os::windows::fs.symlink_file(original, link) -> ();
}

/// Changes who may do what with a file or folder.
///
/// # Errors
/// As of [`std::fs::set_permissions`].
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

/// Whether there is something, behind all links. That it cannot be told is an error.
///
/// # Errors
/// As of [`std::fs::exists`].
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

/// Makes a file of these bytes, with one job. One that is there is replaced, though not in one step: it is
/// emptied first. The bytes are copied before.
///
/// If it is cancelled, it goes on.
///
/// # Errors
/// As of [`std::fs::write`].
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
