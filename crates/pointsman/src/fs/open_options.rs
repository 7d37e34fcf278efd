//! [`OpenOptions`]: the standard library's, opened in a job.

#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
#[cfg(windows)]
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use std::{fs, io};

use super::{File, asyncify};

/// Options for opening a file: [`std::fs::OpenOptions`] with an asynchronous [`open`](Self::open).
///
/// ```
/// use pointsman::fs::OpenOptions;
/// use pointsman::io::AsyncWriteExt;
///
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log");
/// for line in ["one\n", "two\n"] {
///     let mut log = OpenOptions::new().append(true).create(true).open(&path).await?;
///     log.write_all(line.as_bytes()).await?;
///     log.flush().await?;
/// }
/// assert_eq!(std::fs::read(&path)?, b"one\ntwo\n");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions(fs::OpenOptions);

impl OpenOptions {
    /// Creates the default options: all off.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() {
    /// let error = OpenOptions::new().open("Cargo.toml").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    /// # }
    /// ```
    pub fn new() -> OpenOptions {
        OpenOptions(fs::OpenOptions::new())
    }

    /// Sets read access.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() {
    /// assert!(OpenOptions::new().read(true).open("Cargo.toml").await.is_ok());
    /// # }
    /// ```
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.0.read(read);
        self
    }

    /// Sets write access; writes overwrite existing contents.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # use pointsman::io::AsyncWriteExt;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// std::fs::write(&path, "hello")?;
    /// let mut file = OpenOptions::new().write(true).open(&path).await?;
    /// file.write_all(b"J").await?;
    /// file.flush().await?;
    /// assert_eq!(std::fs::read(&path)?, b"Jello");
    /// # Ok(()) }
    /// ```
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.0.write(write);
        self
    }

    /// Sets append mode: each write goes to the current end of the file.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # use pointsman::io::AsyncWriteExt;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// std::fs::write(&path, "hello")?;
    /// let mut file = OpenOptions::new().append(true).open(&path).await?;
    /// file.write_all(b"!").await?;
    /// file.flush().await?;
    /// assert_eq!(std::fs::read(&path)?, b"hello!");
    /// # Ok(()) }
    /// ```
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.0.append(append);
        self
    }

    /// Sets whether an existing file is truncated. Requires write access.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// std::fs::write(&path, "hello")?;
    /// OpenOptions::new().write(true).truncate(true).open(&path).await?;
    /// assert_eq!(std::fs::read(&path)?, b"");
    /// # Ok(()) }
    /// ```
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.0.truncate(truncate);
        self
    }

    /// Sets whether a missing file is created. Requires write or append access.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// OpenOptions::new().write(true).create(true).open(&path).await?;
    /// assert!(path.exists());
    /// # Ok(()) }
    /// ```
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.0.create(create);
        self
    }

    /// Sets whether a new file is created and an existing one is an error. Requires write or append access.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() {
    /// let mut options = OpenOptions::new();
    /// let error = options.write(true).create_new(true).open("Cargo.toml").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    /// # }
    /// ```
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.0.create_new(create_new);
        self
    }

    /// Opens the file. A cancelled call may still create or truncate it.
    ///
    /// # Errors
    /// Those of [`std::fs::OpenOptions::open`].
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let file = OpenOptions::new().read(true).open("Cargo.toml").await?;
    /// assert!(file.metadata().await?.is_file());
    /// # Ok(()) }
    /// ```
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let (options, path) = (self.0.clone(), path.as_ref().to_owned());
        asyncify(move || options.open(path)).await.map(File::from)
    }
}

#[cfg(unix)]
impl OpenOptions {
    /// Sets the permissions of a new file, which the process's umask restricts. Default `0o666`.
    ///
    /// ```
    /// use std::os::unix::fs::PermissionsExt;
    /// # use pointsman::fs::OpenOptions;
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let mut options = OpenOptions::new();
    /// options.write(true).create(true).mode(0o600);
    /// let metadata = options.open(&path).await?.metadata().await?;
    /// assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    /// # Ok(()) }
    /// ```
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.0.mode(mode);
        self
    }

    /// Sets further flags of the system's `open`; replaces those of the last call.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() {
    /// const O_DIRECTORY: i32 = 0o200000;
    /// # if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    /// let mut options = OpenOptions::new();
    /// let error = options.read(true).custom_flags(O_DIRECTORY).open("Cargo.toml").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotADirectory);
    /// # }
    /// # }
    /// ```
    pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.0.custom_flags(flags);
        self
    }
}

#[cfg(windows)]
impl OpenOptions {
    /// Sets the access mode; replaces `read`, `write` and `append`.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() {
    /// assert!(OpenOptions::new().access_mode(0).open("Cargo.toml").await.is_ok());
    /// # }
    /// ```
    pub fn access_mode(&mut self, access: u32) -> &mut OpenOptions {
        self.0.access_mode(access);
        self
    }

    /// Sets how the file may be shared while it is open. Default: without restriction.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() {
    /// assert!(OpenOptions::new().read(true).share_mode(1).open("Cargo.toml").await.is_ok());
    /// # }
    /// ```
    pub fn share_mode(&mut self, share: u32) -> &mut OpenOptions {
        self.0.share_mode(share);
        self
    }

    /// Sets further flags of the system's `CreateFile`; replaces those of the last call.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() {
    /// const SEQUENTIAL_SCAN: u32 = 0x0800_0000;
    /// let mut options = OpenOptions::new();
    /// assert!(options.read(true).custom_flags(SEQUENTIAL_SCAN).open("Cargo.toml").await.is_ok());
    /// # }
    /// ```
    pub fn custom_flags(&mut self, flags: u32) -> &mut OpenOptions {
        self.0.custom_flags(flags);
        self
    }

    /// Sets the attributes of a new file.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// const HIDDEN: u32 = 2;
    /// OpenOptions::new().write(true).create(true).attributes(HIDDEN).open(&path).await?;
    /// # Ok(()) }
    /// ```
    pub fn attributes(&mut self, attributes: u32) -> &mut OpenOptions {
        self.0.attributes(attributes);
        self
    }

    /// Sets how the server of a named pipe may impersonate this process.
    ///
    /// ```
    /// # use pointsman::fs::OpenOptions;
    /// # #[pointsman::main] async fn main() {
    /// const IDENTIFICATION: u32 = 1 << 16;
    /// let mut options = OpenOptions::new();
    /// assert!(options.read(true).security_qos_flags(IDENTIFICATION).open("Cargo.toml").await.is_ok());
    /// # }
    /// ```
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut OpenOptions {
        self.0.security_qos_flags(flags);
        self
    }
}

impl From<fs::OpenOptions> for OpenOptions {
    fn from(options: fs::OpenOptions) -> OpenOptions {
        OpenOptions(options)
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}
