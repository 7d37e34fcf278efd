//! [`read_dir`]: what is in a folder, many entries with one job.
//!
//! Invariant: entries are returned in the system's order, and an error at its place among them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::future::{Future, poll_fn};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::asyncify;
use crate::task::{JoinHandle, spawn_blocking};

/// Bounds the entries that one job reads. With 32, reading a directory of 10,000 entries took half as long again, for
/// the additional jobs.
const MAX_BATCH: usize = 256;

/// Reads a directory. The entries are in no particular order, without `.` and `..`.
///
/// # Errors
/// Those of [`std::fs::read_dir`].
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// let mut entries = pointsman::fs::read_dir(".").await?;
/// let mut names = Vec::new();
/// while let Some(entry) = entries.next_entry().await? {
///     names.push(entry.file_name());
/// }
/// assert!(names.contains(&"Cargo.toml".into()));
/// # Ok(()) }
/// ```
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let batch = asyncify(move || {
        let mut batch = Batch {
            entries: VecDeque::new(),
            rest: Some(fs::read_dir(path)?),
        };
        batch.fill();
        Ok(batch)
    });
    Ok(ReadDir(ReadDirState::Idle(batch.await?)))
}

#[derive(Debug, Default)]
struct Batch {
    entries: VecDeque<io::Result<DirEntry>>,
    /// `None` at the end of the directory.
    rest: Option<fs::ReadDir>,
}

impl Batch {
    fn fill(&mut self) {
        let Some(rest) = &mut self.rest else { return };
        while self.entries.len() < MAX_BATCH {
            let Some(entry) = rest.next() else {
                self.rest = None;
                return;
            };
            let is_error = entry.is_err();
            self.entries.push_back(entry.map(DirEntry::new));
            if is_error {
                return;
            }
        }
    }
}

/// The entries of a directory, from [`read_dir`].
///
/// One job for blocking work reads up to 256 entries. Entries that are created or removed meanwhile may be included or
/// not.
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// let mut entries = pointsman::fs::read_dir("src/fs").await?;
/// let mut count = 0;
/// while entries.next_entry().await?.is_some() {
///     count += 1;
/// }
/// assert_eq!(count, std::fs::read_dir("src/fs")?.count());
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct ReadDir(ReadDirState);

#[derive(Debug)]
enum ReadDirState {
    Idle(Batch),
    Reading(JoinHandle<Batch>),
}

impl ReadDir {
    /// Returns the next entry, or `None` at the end.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call loses no entry.
    ///
    /// # Errors
    /// The system's error. The next call continues after it.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// let mut entries = pointsman::fs::read_dir(folder.path()).await?;
    /// assert!(entries.next_entry().await?.is_none());
    /// # Ok(()) }
    /// ```
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// Polls for the next entry. Only the task that polled last is woken.
    ///
    /// # Errors
    /// Those of [`next_entry`](Self::next_entry).
    ///
    /// ```
    /// use std::future::{Future, poll_fn};
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let mut entries = pointsman::fs::read_dir("src/fs").await?;
    /// let entry = poll_fn(|cx| entries.poll_next_entry(cx)).await?;
    /// assert!(entry.is_some());
    /// # Ok(()) }
    /// ```
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.0 {
                ReadDirState::Reading(job) => {
                    let batch = ready!(Pin::new(job).poll(cx)).map_err(|error| {
                        // The rest of the directory was lost with the job.
                        self.0 = ReadDirState::Idle(Batch::default());
                        error
                    });
                    self.0 = ReadDirState::Idle(batch?);
                }
                ReadDirState::Idle(batch) => match batch.entries.pop_front() {
                    None if batch.rest.is_some() => {
                        let mut batch = std::mem::take(batch);
                        self.0 = ReadDirState::Reading(spawn_blocking(move || {
                            batch.fill();
                            batch
                        }));
                    }
                    entry => return Poll::Ready(entry.transpose()),
                },
            }
        }
    }
}

/// An entry of a directory, from [`ReadDir`].
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a"), "hello")?;
/// let mut entries = pointsman::fs::read_dir(folder.path()).await?;
/// let entry = entries.next_entry().await?.expect("there is one");
/// assert_eq!(entry.file_name(), "a");
/// assert_eq!(entry.metadata().await?.len(), 5);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct DirEntry {
    std: Arc<fs::DirEntry>,
    /// Most systems return it with the entry.
    file_type: Option<FileType>,
}

impl DirEntry {
    fn new(std: fs::DirEntry) -> Self {
        Self {
            file_type: std.file_type().ok(),
            std: Arc::new(std),
        }
    }

    /// Returns the path given to [`read_dir`], joined with the file name.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let mut entries = pointsman::fs::read_dir("src/fs").await?;
    /// let entry = entries.next_entry().await?.expect("there is one");
    /// assert!(entry.path().starts_with("src/fs"));
    /// # Ok(()) }
    /// ```
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// Returns the file name.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let mut entries = pointsman::fs::read_dir("src/fs").await?;
    /// let entry = entries.next_entry().await?.expect("there is one");
    /// assert_eq!(Some(entry.file_name().as_os_str()), entry.path().file_name());
    /// # Ok(()) }
    /// ```
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// Returns the entry's metadata, without following a link.
    ///
    /// # Errors
    /// Those of [`std::fs::DirEntry::metadata`].
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let mut entries = pointsman::fs::read_dir(".").await?;
    /// let entry = entries.next_entry().await?.expect("there is one");
    /// let metadata = entry.metadata().await?;
    /// assert_eq!(metadata.file_type(), entry.file_type().await?);
    /// # Ok(()) }
    /// ```
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = Arc::clone(&self.std);
        asyncify(move || std.metadata()).await
    }

    /// Returns whether the entry is a file, a directory or a link. Most systems need no job for it.
    ///
    /// # Errors
    /// Those of [`std::fs::DirEntry::file_type`].
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// std::fs::create_dir(folder.path().join("a"))?;
    /// let mut entries = pointsman::fs::read_dir(folder.path()).await?;
    /// let entry = entries.next_entry().await?.expect("there is one");
    /// assert!(entry.file_type().await?.is_dir());
    /// # Ok(()) }
    /// ```
    pub async fn file_type(&self) -> io::Result<FileType> {
        if let Some(known) = self.file_type {
            return Ok(known);
        }
        let std = Arc::clone(&self.std);
        asyncify(move || std.file_type()).await
    }

    /// Returns the inode number.
    ///
    /// ```
    /// use std::os::unix::fs::MetadataExt;
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// std::fs::write(folder.path().join("a"), "hello")?;
    /// let mut entries = pointsman::fs::read_dir(folder.path()).await?;
    /// let entry = entries.next_entry().await?.expect("there is one");
    /// assert_eq!(entry.ino(), entry.metadata().await?.ino());
    /// # Ok(()) }
    /// ```
    #[cfg(unix)]
    pub fn ino(&self) -> u64 {
        std::os::unix::fs::DirEntryExt::ino(&*self.std)
    }
}
