//! Pipes that have a path.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{Receiver, Sender, check_pipe};

/// How the end of a pipe that has a path (FIFO) is opened.
///
/// ```no_run
/// use pointsman::net::unix::pipe;
///
/// # fn example() -> std::io::Result<()> {
/// let receiver = pipe::OpenOptions::new().open_receiver("/path/to/a/fifo")?;
/// let sender = pipe::OpenOptions::new().open_sender("/path/to/a/fifo")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    #[cfg(any(target_os = "android", target_os = "linux"))]
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// Opens one end, and checks that it is a pipe.
    ///
    /// ```
    /// # use pointsman::net::unix::pipe;
    /// let options = pipe::OpenOptions::new();
    /// ```
    pub fn new() -> OpenOptions {
        Self::default()
    }

    /// Opens it for reading and writing, of which one is used: so a sender can be opened while nobody receives, and a
    /// receiver does not see an end when the last sender goes.
    ///
    /// ```no_run
    /// # use pointsman::net::unix::pipe;
    /// # fn example() -> std::io::Result<()> {
    /// let sender = pipe::OpenOptions::new().read_write(true).open_sender("/path/to/a/fifo")?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(any(target_os = "android", target_os = "linux"))]
    pub fn read_write(&mut self, value: bool) -> &mut Self {
        self.read_write = value;
        self
    }

    /// Leaves out the check that it is a pipe.
    ///
    /// ```no_run
    /// # use pointsman::net::unix::pipe;
    /// # fn example() -> std::io::Result<()> {
    /// let sender = pipe::OpenOptions::new().unchecked(true).open_sender("/path/to/a/fifo")?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn unchecked(&mut self, value: bool) -> &mut Self {
        self.unchecked = value;
        self
    }

    /// Opens the end that reads. It succeeds while nobody has opened the other.
    ///
    /// # Errors
    /// `InvalidInput` if it is no pipe. The system's.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
    ///
    /// ```no_run
    /// # use pointsman::net::unix::pipe;
    /// # fn example() -> std::io::Result<()> {
    /// let receiver = pipe::OpenOptions::new().open_receiver("/path/to/a/fifo")?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        let mut options = fs::OpenOptions::new();
        Receiver::from_file_unchecked(self.open(path.as_ref(), options.read(true))?)
    }

    /// Opens the end that writes.
    ///
    /// # Errors
    /// `InvalidInput` if it is no pipe. `ENXIO` if nobody has opened the other end. The system's.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
    ///
    /// ```no_run
    /// # use pointsman::net::unix::pipe;
    /// # async fn example() -> std::io::Result<()> {
    /// let sender = loop {
    ///     match pipe::OpenOptions::new().open_sender("/path/to/a/fifo") {
    ///         Ok(sender) => break sender,
    ///         // ENXIO of Linux: nobody receives yet.
    ///         Err(error) if error.raw_os_error() == Some(6) => (),
    ///         Err(error) => return Err(error),
    ///     }
    ///     pointsman::time::sleep(std::time::Duration::from_millis(50)).await;
    /// };
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        let mut options = fs::OpenOptions::new();
        Sender::from_file_unchecked(self.open(path.as_ref(), options.write(true))?)
    }

    fn open(&self, path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
        options.custom_flags(libc::O_NONBLOCK);
        #[cfg(any(target_os = "android", target_os = "linux"))]
        if self.read_write {
            options.read(true).write(true);
        }
        let file = options.open(path)?;
        if !self.unchecked {
            check_pipe(file.as_fd())?;
        }
        Ok(file)
    }
}
