//! [`OpenOptions`]: the standard library's, opened in a job.

#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
#[cfg(windows)]
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use std::{fs, io};

use super::{File, asyncify};

/// How to open a file: [`std::fs::OpenOptions`] with [`open`](Self::open) for tasks.
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

/// Methods that hand what they are given to the standard library's of their names.
macro_rules! options {
    ($($(#[$about:meta])* $name:ident($value:ident: $type:ty);)*) => {$(
        $(#[$about])*
        pub fn $name(&mut self, $value: $type) -> &mut OpenOptions {
            self.0.$name($value);
            self
        }
    )*};
}

impl OpenOptions {
    /// With everything off.
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

    options! {
        /// Whether it can be read.
        ///
        /// ```
        /// # use pointsman::fs::OpenOptions;
        /// # #[pointsman::main] async fn main() {
        /// assert!(OpenOptions::new().read(true).open("Cargo.toml").await.is_ok());
        /// # }
        /// ```
        read(read: bool);

        /// Whether it can be written, over what is there.
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
        write(write: bool);

        /// Whether each write goes to the end, wherever that is then.
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
        append(append: bool);

        /// Whether it is emptied. It must be opened to be written.
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
        truncate(truncate: bool);

        /// Whether it is made if there is none. It must be opened to be written.
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
        create(create: bool);

        /// Whether it is made, and there must be none. It must be opened to be written.
        ///
        /// ```
        /// # use pointsman::fs::OpenOptions;
        /// # #[pointsman::main] async fn main() {
        /// let mut options = OpenOptions::new();
        /// let error = options.write(true).create_new(true).open("Cargo.toml").await.unwrap_err();
        /// assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
        /// # }
        /// ```
        create_new(create_new: bool);
    }

    /// Opens the file. A call that is cancelled may still make or empty it.
    ///
    /// # Errors
    /// As of [`std::fs::OpenOptions::open`].
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
    options! {
        /// The permissions of a file that is made, less those that the process masks. Unless it is called,
        /// `0o666`.
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
        mode(mode: u32);

        /// Further flags of the system's `open`, in place of those of the last call.
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
        custom_flags(flags: i32);
    }
}

#[cfg(windows)]
impl OpenOptions {
    options! {
        /// What may be done with the file, in place of what `read`, `write` and `append` say.
        ///
        /// ```
        /// # use pointsman::fs::OpenOptions;
        /// # #[pointsman::main] async fn main() {
        /// assert!(OpenOptions::new().access_mode(0).open("Cargo.toml").await.is_ok());
        /// # }
        /// ```
        access_mode(access: u32);

        /// What others may do with the file as long as it is opened. Unless it is called, everything.
        ///
        /// ```
        /// # use pointsman::fs::OpenOptions;
        /// # #[pointsman::main] async fn main() {
        /// assert!(OpenOptions::new().read(true).share_mode(1).open("Cargo.toml").await.is_ok());
        /// # }
        /// ```
        share_mode(share: u32);

        /// Further flags of the system's `CreateFile`, in place of those of the last call.
        ///
        /// ```
        /// # use pointsman::fs::OpenOptions;
        /// # #[pointsman::main] async fn main() {
        /// const SEQUENTIAL_SCAN: u32 = 0x0800_0000;
        /// let mut options = OpenOptions::new();
        /// assert!(options.read(true).custom_flags(SEQUENTIAL_SCAN).open("Cargo.toml").await.is_ok());
        /// # }
        /// ```
        custom_flags(flags: u32);

        /// The attributes of a file that is made.
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
        attributes(attributes: u32);

        /// What the other side of a named pipe may do in this process's name.
        ///
        /// ```
        /// # use pointsman::fs::OpenOptions;
        /// # #[pointsman::main] async fn main() {
        /// const IDENTIFICATION: u32 = 1 << 16;
        /// let mut options = OpenOptions::new();
        /// assert!(options.read(true).security_qos_flags(IDENTIFICATION).open("Cargo.toml").await.is_ok());
        /// # }
        /// ```
        security_qos_flags(flags: u32);
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
