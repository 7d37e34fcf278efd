//! [`File`]: a file that is read and written by tasks.
//!
//! Invariant: operations that depend on the position, or change the file's contents, wait for the running job. There is
//! at most one, owned by the pump. Neither the error of a write nor the bytes of a cancelled read are lost.
//!
//! Cost: see [`blocking`](crate::io::blocking); on Linux most reads are one system call without a job.

#[cfg(target_os = "linux")]
mod cached;
mod convert;
mod poll;
mod system;
#[cfg(all(test, not(loom)))]
mod tests;

use std::fmt;
use std::fs::File as StdFile;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::OpenOptions;
use crate::io::blocking::{MAX_BUF_SIZE, Pump, Source};
use crate::sync::Mutex;

/// An open file, read and written through [`AsyncRead`](crate::io::AsyncRead), [`AsyncWrite`](crate::io::AsyncWrite)
/// and [`AsyncSeek`](crate::io::AsyncSeek).
///
/// Operating systems provide blocking file operations, so they run on threads for blocking work. A handover costs more
/// than copying a few kilobytes: read and write in large pieces. For whole files use [`read`](super::read) and
/// [`write()`](super::write()).
///
/// **Reads** return at most [`max_buf_size`](Self::max_buf_size) bytes, and may return fewer than are left. On Linux a
/// read from the page cache needs no thread. Cancelling a read does not cancel its job: its bytes are buffered for the
/// next read, and a write or a seek first returns to the reader's position. No bytes are lost.
///
/// **Writes** are complete when at most [`max_buf_size`](Self::max_buf_size) bytes have been copied; a job writes them.
/// The next write, or `AsyncWriteExt::flush`, waits for the job and returns its error: **flush the file before dropping
/// it**. Accepted bytes are always written, even if the file is dropped or the runtime shuts down at once, but the
/// error is then not reported. A write that is cancelled while it waits for the previous one has written nothing.
/// Flushed data has reached the operating system; to reach the disk use [`sync_all`](Self::sync_all) or
/// [`sync_data`](Self::sync_data).
///
/// **Seeks** set the position that reads and writes share, and wait for the running job.
///
/// ```
/// use pointsman::fs::File;
/// use pointsman::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
///
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("hello");
/// let mut file = File::create_new(&path).await?;
/// file.write_all(b"hello, world").await?;
/// file.rewind().await?;
/// let mut text = String::new();
/// file.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello, world");
/// # Ok(()) }
/// ```
pub struct File {
    std: Arc<StdFile>,
    pump: Mutex<Pump>,
    #[cfg(target_os = "linux")]
    cached: cached::CachedReads,
    /// Whether a clone shares the position. The clone's job may hold it for long.
    is_cloned: AtomicBool,
    max_buf_size: usize,
}

// SAFETY: `File::read` writes to the buffer by one system call, without reading it, and returns how much it wrote.
unsafe impl Source for Arc<StdFile> {}

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Those of [`std::fs::File::open`].
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() {
    /// assert!(File::open("Cargo.toml").await.is_ok());
    /// let error = File::open("no such file").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// # }
    /// ```
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        Self::options().read(true).open(path).await
    }

    /// Opens a file for writing; creates it, or truncates it if it exists.
    ///
    /// # Errors
    /// Those of [`std::fs::File::create`].
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let file = File::create(&path).await?;
    /// assert_eq!(file.metadata().await?.len(), 0);
    /// # Ok(()) }
    /// ```
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        let mut options = Self::options();
        options.write(true).create(true).truncate(true);
        options.open(path).await
    }

    /// Creates a file for reading and writing; fails if it exists.
    ///
    /// # Errors
    /// Those of [`std::fs::File::create_new`]: [`io::ErrorKind::AlreadyExists`] if there is one.
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() {
    /// let error = File::create_new("Cargo.toml").await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    /// # }
    /// ```
    pub async fn create_new<P: AsRef<Path>>(path: P) -> std::io::Result<File> {
        let mut options = Self::options();
        options.read(true).write(true).create_new(true);
        options.open(path).await
    }

    /// Returns new options, as [`OpenOptions::new`] does.
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let file = File::options().read(true).open("Cargo.toml").await?;
    /// assert!(file.metadata().await?.is_file());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Converts a file of the standard library.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let file = pointsman::fs::File::from_std(std::fs::File::open("Cargo.toml")?);
    /// assert!(file.metadata().await?.is_file());
    /// # Ok(()) }
    /// ```
    pub fn from_std(std: StdFile) -> File {
        File {
            #[cfg(target_os = "linux")]
            cached: cached::CachedReads::of(&std),
            std: Arc::new(std),
            pump: Mutex::new(Pump::new()),
            is_cloned: AtomicBool::new(false),
            max_buf_size: MAX_BUF_SIZE,
        }
    }

    /// Waits until the running read or write is complete. The error of a write is kept for the next.
    async fn settle(&self) {
        self.pump.lock().await.settle().await;
    }

    /// Clones the handle: both share the open file, its position and [`max_buf_size`](Self::max_buf_size). Waits until
    /// the running read or write is complete.
    ///
    /// Bytes that this handle has buffered stay with it. From now on every read and seek of both handles takes a
    /// thread.
    ///
    /// # Errors
    /// Those of [`std::fs::File::try_clone`].
    ///
    /// ```
    /// use pointsman::fs::File;
    /// use pointsman::io::AsyncReadExt;
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// # std::fs::write(&path, "hello")?;
    /// let mut file = File::open(&path).await?;
    /// let mut other = file.try_clone().await?;
    /// assert_eq!(file.read_u8().await?, b'h');
    /// assert_eq!(other.read_u8().await?, b'e');
    /// # Ok(()) }
    /// ```
    pub async fn try_clone(&self) -> io::Result<File> {
        self.settle().await;
        self.is_cloned.store(true, Relaxed);
        let mut file = File::from_std(self.run(StdFile::try_clone).await?);
        file.is_cloned = AtomicBool::new(true);
        file.max_buf_size = self.max_buf_size;
        Ok(file)
    }

    /// Converts to a file of the standard library, once the running read or write is complete.
    ///
    /// Discards buffered bytes and the unreported error of a write.
    ///
    /// # Panics
    /// If a cancelled operation still runs.
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let file = File::open("Cargo.toml").await?;
    /// let file: std::fs::File = file.into_std().await;
    /// assert!(file.metadata()?.is_file());
    /// # Ok(()) }
    /// ```
    pub async fn into_std(self) -> StdFile {
        self.settle().await;
        Arc::try_unwrap(self.std).expect("Arc::try_unwrap failed")
    }

    /// Converts to a file of the standard library, unless an operation runs.
    ///
    /// # Errors
    /// Returns the file itself if an operation runs.
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let file = File::open("Cargo.toml").await?;
    /// let file: std::fs::File = file.try_into_std().expect("nothing runs");
    /// assert!(file.metadata()?.is_file());
    /// # Ok(()) }
    /// ```
    #[allow(clippy::result_large_err)] // The file itself.
    pub fn try_into_std(mut self) -> Result<StdFile, Self> {
        match Arc::try_unwrap(self.std) {
            Ok(std) => Ok(std),
            Err(std) => {
                self.std = std;
                Err(self)
            }
        }
    }

    /// Sets the maximum number of bytes of one read or write. Default 2 MiB.
    ///
    /// The file keeps a buffer of the size of the largest read or write so far, up to this maximum.
    ///
    /// # Panics
    /// If `max_buf_size` is 0.
    ///
    /// ```
    /// use pointsman::fs::File;
    /// use pointsman::io::AsyncReadExt;
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let mut file = File::open("Cargo.toml").await?;
    /// file.set_max_buf_size(10);
    /// assert_eq!(file.read(&mut [0; 100]).await?, 10);
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        self.max_buf_size = max_buf_size;
    }

    /// Returns the maximum number of bytes of one read or write.
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let file = File::open("Cargo.toml").await?;
    /// assert_eq!(file.max_buf_size(), 2 * 1024 * 1024);
    /// # Ok(()) }
    /// ```
    pub fn max_buf_size(&self) -> usize {
        self.max_buf_size
    }
}

/// Returns to the reader's position.
fn rewind(mut file: &StdFile, unread: usize) -> io::Result<()> {
    match unread {
        0 => Ok(()),
        _ => file.seek(SeekFrom::Current(-(unread as i64))).map(drop),
    }
}

impl fmt::Debug for File {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text is Tokio's.
        formatter
            .debug_struct("tokio::fs::File")
            .field("std", &self.std)
            .finish()
    }
}
