//! [`DirBuilder`]: how a folder is made.

use std::path::Path;
use std::{fs, io};

use super::asyncify;

/// Options for creating a directory: [`std::fs::DirBuilder`] with an asynchronous [`create`](Self::create).
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a/b");
/// pointsman::fs::DirBuilder::new().recursive(true).create(&path).await?;
/// assert!(path.is_dir());
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    #[cfg(unix)]
    mode: Option<u32>,
}

impl DirBuilder {
    /// Creates the default options: all off.
    ///
    /// ```
    /// # use pointsman::fs::DirBuilder;
    /// # #[pointsman::main] async fn main() {
    /// let error = DirBuilder::new().create("src").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    /// # }
    /// ```
    pub fn new() -> Self {
        DirBuilder::default()
    }

    /// Sets whether missing parents are created too, and an existing directory is no error.
    ///
    /// ```
    /// # use pointsman::fs::DirBuilder;
    /// # #[pointsman::main] async fn main() {
    /// assert!(DirBuilder::new().recursive(true).create("src").await.is_ok());
    /// # }
    /// ```
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// Sets the permissions of new directories, which the process's umask restricts. Default `0o777`.
    ///
    /// ```
    /// use std::os::unix::fs::PermissionsExt;
    /// # use pointsman::fs::DirBuilder;
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("mine");
    /// DirBuilder::new().mode(0o700).create(&path).await?;
    /// assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o700);
    /// # Ok(()) }
    /// ```
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// Creates the directory. A cancelled call may still create it.
    ///
    /// # Errors
    /// Those of [`std::fs::DirBuilder::create`].
    ///
    /// ```
    /// # use pointsman::fs::DirBuilder;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("new");
    /// DirBuilder::new().create(&path).await?;
    /// assert!(path.is_dir());
    /// # Ok(()) }
    /// ```
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(self.recursive);
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        }
        let path = path.as_ref().to_owned();
        asyncify(move || builder.create(path)).await
    }
}
