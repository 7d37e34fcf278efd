//! [`FileTimes`]: the standard library's, under Tokio's name.

use std::time::SystemTime;

/// Timestamps for [`File::set_times`](super::File::set_times). Those that are not set stay unchanged.
///
/// ```
/// use std::time::SystemTime;
/// use pointsman::fs::{File, FileTimes};
///
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("file");
/// let file = File::create(&path).await?;
/// let changed = file.metadata().await?.modified()?;
/// file.set_times(FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH)).await?;
/// let metadata = file.metadata().await?;
/// assert_eq!(metadata.accessed()?, SystemTime::UNIX_EPOCH);
/// assert_eq!(metadata.modified()?, changed);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "must be applied to a file via `File::set_times` to have any effect"]
pub struct FileTimes(std::fs::FileTimes);

impl FileTimes {
    /// Sets no timestamp.
    ///
    /// ```
    /// # use pointsman::fs::{File, FileTimes};
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let file = File::open("Cargo.toml").await?;
    /// let changed = file.metadata().await?.modified()?;
    /// file.set_times(FileTimes::new()).await?;
    /// assert_eq!(file.metadata().await?.modified()?, changed);
    /// # Ok(()) }
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the last access time.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use pointsman::fs::{File, FileTimes};
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let file = File::create(folder.path().join("file")).await?;
    /// file.set_times(FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH)).await?;
    /// assert_eq!(file.metadata().await?.accessed()?, SystemTime::UNIX_EPOCH);
    /// # Ok(()) }
    /// ```
    pub fn set_accessed(self, t: SystemTime) -> Self {
        Self(self.0.set_accessed(t))
    }

    /// Sets the modification time.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use pointsman::fs::{File, FileTimes};
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let file = File::create(folder.path().join("file")).await?;
    /// file.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).await?;
    /// assert_eq!(file.metadata().await?.modified()?, SystemTime::UNIX_EPOCH);
    /// # Ok(()) }
    /// ```
    pub fn set_modified(self, t: SystemTime) -> Self {
        Self(self.0.set_modified(t))
    }

    /// Sets the creation time, which only Windows and Apple's systems support.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use pointsman::fs::{File, FileTimes};
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let file = File::create(folder.path().join("file")).await?;
    /// file.set_times(FileTimes::new().set_created(SystemTime::UNIX_EPOCH)).await?;
    /// assert_eq!(file.metadata().await?.created()?, SystemTime::UNIX_EPOCH);
    /// # Ok(()) }
    /// ```
    #[cfg(any(windows, target_vendor = "apple"))]
    pub fn set_created(self, t: SystemTime) -> Self {
        #[cfg(target_vendor = "apple")]
        use std::os::darwin::fs::FileTimesExt;
        #[cfg(windows)]
        use std::os::windows::fs::FileTimesExt;
        Self(self.0.set_created(t))
    }

    pub(super) fn into_std(self) -> std::fs::FileTimes {
        self.0
    }
}
