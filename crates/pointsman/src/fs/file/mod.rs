//! [`File`]: a file that is read and written by tasks.
//!
//! Invariant: what goes by the position, or changes what is read, waits for the job that runs: there is one at
//! a time, and the pump has it. Nobody loses the error of a write, or the bytes of a read that was cancelled.
//!
//! Cost: see [`blocking`](crate::io::blocking); on Linux, for most reads a system call in place.

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

/// A file, read and written by the traits of [`io`](crate::io): [`AsyncRead`](crate::io::AsyncRead),
/// [`AsyncWrite`](crate::io::AsyncWrite), [`AsyncSeek`](crate::io::AsyncSeek).
///
/// Systems let files block, so what is done with one is done by a thread for blocking work. That costs more
/// than the copy of a few kilobytes: read and write much at a time. For whole files there are
/// [`read`](super::read) and [`write()`](super::write()).
///
/// **Reads** bring at most [`max_buf_size`](Self::max_buf_size), and may bring less than there is. On Linux
/// they take no thread where the system has the bytes in memory. Otherwise, if a read is cancelled, its job is
/// not: what it brings is there for the next read, and a write or a seek goes back to where the reader was. So
/// nothing is lost.
///
/// **Writes** are over when their bytes are copied, at most [`max_buf_size`](Self::max_buf_size), while a job
/// writes them. The next write waits for it and tells its error, and so does `AsyncWriteExt::flush`: **flush
/// before the file is dropped**. Accepted bytes are always written, even if the file is dropped or the runtime shuts
/// down at once, but an error is then not reported. A write that is cancelled
/// while it waits for the one before has written nothing. What was flushed the system has; for the disk
/// there are [`sync_all`](Self::sync_all) and [`sync_data`](Self::sync_data).
///
/// **Seeks** set the one position that reads and writes share, and wait for what runs.
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
    /// Another file has the same position. A job of that one may have it for long.
    is_cloned: AtomicBool,
    max_buf_size: usize,
}

// SAFETY: the system writes into the buffer, and says how much.
unsafe impl Source for Arc<StdFile> {}

impl File {
    /// Opens a file to read it.
    ///
    /// # Errors
    /// As of [`std::fs::File::open`].
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

    /// Opens a file to write it, which is made, or emptied if there is one.
    ///
    /// # Errors
    /// As of [`std::fs::File::create`].
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

    /// Makes a file to read and write it. There must be none.
    ///
    /// # Errors
    /// As of [`std::fs::File::create_new`]: [`io::ErrorKind::AlreadyExists`] if there is one.
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

    /// How to open a file: [`OpenOptions::new`].
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

    /// A file of the standard library. Nothing is read or written.
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

    /// Waits until the read or write that runs is over. The error of a write is kept for the next.
    async fn settle(&self) {
        self.pump.lock().await.settle().await;
    }

    /// Another handle of the same opened file, with the same position and the same
    /// [`max_buf_size`](Self::max_buf_size). It waits until the read or write that runs is over.
    ///
    /// What this handle has read and not taken stays with it. From now on every read and seek of both takes a
    /// thread.
    ///
    /// # Errors
    /// As of [`std::fs::File::try_clone`].
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

    /// The file of the standard library, when the read or write that runs is over.
    ///
    /// What was read and not taken, and the error of a write that nobody asked for, are lost.
    ///
    /// # Panics
    /// If one of the other operations was cancelled and still runs.
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

    /// The file of the standard library, if nothing runs; otherwise this file.
    ///
    /// # Errors
    /// The file itself, if something runs.
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

    /// At most so many bytes are read or written at once from now on. Unless it is called, 2 MB.
    ///
    /// The file keeps a buffer as large as the largest read or write so far, up to this.
    ///
    /// # Panics
    /// If it is 0.
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

    /// At most so many bytes are read or written at once.
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

/// Goes back to where the reader is.
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
