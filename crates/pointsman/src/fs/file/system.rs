//! Operations on a file as a whole.

use std::fs::{File as StdFile, Metadata, Permissions};
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use super::{File, rewind};
use crate::fs::{FileTimes, asyncify};

impl File {
    /// Waits until all data and metadata have reached the disk.
    ///
    /// The error of an earlier write is reported by the next write or flush, not here.
    ///
    /// # Errors
    /// Those of [`std::fs::File::sync_all`].
    ///
    /// ```
    /// use pointsman::fs::File;
    /// use pointsman::io::AsyncWriteExt;
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let mut file = File::create(&path).await?;
    /// file.write_all(b"hello").await?;
    /// file.sync_all().await?;
    /// assert_eq!(std::fs::read(&path)?, b"hello");
    /// # Ok(()) }
    /// ```
    pub async fn sync_all(&self) -> io::Result<()> {
        self.settle().await;
        self.run(StdFile::sync_all).await
    }

    /// Like [`sync_all`](Self::sync_all), without metadata that is not needed to read the data, such as the
    /// modification time.
    ///
    /// # Errors
    /// Those of [`std::fs::File::sync_data`].
    ///
    /// ```
    /// use pointsman::fs::File;
    /// use pointsman::io::AsyncWriteExt;
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let mut file = File::create(&path).await?;
    /// file.write_all(b"hello").await?;
    /// file.sync_data().await?;
    /// assert_eq!(std::fs::read(&path)?, b"hello");
    /// # Ok(()) }
    /// ```
    pub async fn sync_data(&self) -> io::Result<()> {
        self.settle().await;
        self.run(StdFile::sync_data).await
    }

    /// Truncates or extends the file to `size` bytes; the extension is filled with zeros. The position stays, even
    /// beyond the end. A cancelled call that has begun still completes.
    ///
    /// # Errors
    /// Those of [`std::fs::File::set_len`].
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let file = File::create(&path).await?;
    /// file.set_len(10).await?;
    /// assert_eq!(file.metadata().await?.len(), 10);
    /// # Ok(()) }
    /// ```
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        let mut pump = self.pump.lock().await;
        pump.settle().await;
        let (std, position) = (Arc::clone(&self.std), pump.position());
        pump.start_seek(move |unread| {
            rewind(&std, unread)?;
            std.set_len(size)?;
            Ok(position)
        })?;
        poll_fn(|cx| pump.poll_sought(cx)).await.map(drop)
    }

    /// Returns the file's metadata. Does not wait for a running write.
    ///
    /// # Errors
    /// Those of [`std::fs::File::metadata`].
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// let file = File::open("Cargo.toml").await?;
    /// assert!(file.metadata().await?.is_file());
    /// # Ok(()) }
    /// ```
    pub async fn metadata(&self) -> io::Result<Metadata> {
        self.run(StdFile::metadata).await
    }

    /// Changes the file's permissions.
    ///
    /// # Errors
    /// Those of [`std::fs::File::set_permissions`].
    ///
    /// ```
    /// # use pointsman::fs::File;
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let file = File::create(&path).await?;
    /// let mut permissions = file.metadata().await?.permissions();
    /// permissions.set_readonly(true);
    /// file.set_permissions(permissions).await?;
    /// assert!(std::fs::metadata(&path)?.permissions().readonly());
    /// # Ok(()) }
    /// ```
    pub async fn set_permissions(&self, perm: Permissions) -> io::Result<()> {
        self.run(move |std| std.set_permissions(perm)).await
    }

    /// Changes the file's timestamps, after the running read or write.
    ///
    /// # Errors
    /// Those of [`std::fs::File::set_times`].
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use pointsman::fs::{File, FileTimes};
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let file = File::create(&path).await?;
    /// file.set_times(FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH)).await?;
    /// assert_eq!(file.metadata().await?.accessed()?, SystemTime::UNIX_EPOCH);
    /// # Ok(()) }
    /// ```
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        self.settle().await;
        self.run(move |std| std.set_times(times.into_std())).await
    }

    /// Changes the file's modification time, after the running read or write.
    ///
    /// # Errors
    /// Those of [`std::fs::File::set_modified`].
    ///
    /// ```
    /// use std::time::SystemTime;
    /// # use pointsman::fs::File;
    ///
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("file");
    /// let file = File::create(&path).await?;
    /// file.set_modified(SystemTime::UNIX_EPOCH).await?;
    /// assert_eq!(file.metadata().await?.modified()?, SystemTime::UNIX_EPOCH);
    /// # Ok(()) }
    /// ```
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&StdFile) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let std = Arc::clone(&self.std);
        asyncify(move || call(&std)).await
    }
}
