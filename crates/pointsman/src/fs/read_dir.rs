//! [`read_dir`]: what is in a folder, many entries with one job.
//!
//! Invariant: entries come in the system's order, and an error is told between those it came between.

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

/// So many entries are brought by one job. With 32 a folder of 10,000 took half as long again, for the jobs.
const BATCH: usize = 256;

/// What is in a folder, in no order, without `.` and `..`.
///
/// # Errors
/// As of [`std::fs::read_dir`].
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
    Ok(ReadDir(State::Here(batch.await?)))
}

#[derive(Debug, Default)]
struct Batch {
    entries: VecDeque<io::Result<DirEntry>>,
    /// `None`: there is no more.
    rest: Option<fs::ReadDir>,
}

impl Batch {
    fn fill(&mut self) {
        let Some(rest) = &mut self.rest else { return };
        while self.entries.len() < BATCH {
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

/// What is in a folder, from [`read_dir`].
///
/// It brings up to 256 entries with one job for blocking work. What is added or taken away meanwhile may be
/// among them or not.
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
pub struct ReadDir(State);

#[derive(Debug)]
enum State {
    Here(Batch),
    Away(JoinHandle<Batch>),
}

impl ReadDir {
    /// The next entry; `None` at the end.
    ///
    /// # Cancel safety
    /// A call that is cancelled loses no entry.
    ///
    /// # Errors
    /// Those of the system. The call after that goes on.
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

    /// As [`next_entry`](Self::next_entry). If it is pending, the task is woken when it should try again; only
    /// the task of the last call is.
    ///
    /// # Errors
    /// As of [`next_entry`](Self::next_entry).
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
                State::Away(job) => {
                    let batch = ready!(Pin::new(job).poll(cx)).map_err(|error| {
                        // It has taken the rest along.
                        self.0 = State::Here(Batch::default());
                        error
                    });
                    self.0 = State::Here(batch?);
                }
                State::Here(batch) => match batch.entries.pop_front() {
                    None if batch.rest.is_some() => {
                        let mut batch = std::mem::take(batch);
                        self.0 = State::Away(spawn_blocking(move || {
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

/// One of the things in a folder, from [`ReadDir`].
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
    /// Most systems give it along.
    file_type: Option<FileType>,
}

impl DirEntry {
    fn new(std: fs::DirEntry) -> Self {
        Self {
            file_type: std.file_type().ok(),
            std: Arc::new(std),
        }
    }

    /// The path that [`read_dir`] was given, with the name.
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

    /// The name, without a path.
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

    /// What the system knows about it. Of a link, about the link itself.
    ///
    /// # Errors
    /// As of [`std::fs::DirEntry::metadata`].
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

    /// Whether it is a file, a folder or a link. On most systems this is known without a job.
    ///
    /// # Errors
    /// As of [`std::fs::DirEntry::file_type`].
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

    /// The number of the inode.
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
