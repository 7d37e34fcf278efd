//! Named pipes.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::descriptor::check_pipe;
use super::{Receiver, Sender};

/// Options for opening an end of a named pipe (FIFO).
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
    /// Creates the default options: opens one end, and checks that the file is a pipe.
    ///
    /// ```
    /// # use pointsman::net::unix::pipe;
    /// let options = pipe::OpenOptions::new();
    /// ```
    pub fn new() -> OpenOptions {
        Self::default()
    }

    /// Sets whether the pipe is opened for both reading and writing, of which one is used. A sender can then be opened
    /// without a receiver, and a receiver does not see the end of the stream when the last sender closes.
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

    /// Sets whether the check that the file is a pipe is skipped.
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

    /// Opens the reading end. Succeeds even if no sender is open.
    ///
    /// # Errors
    /// `InvalidInput` if the file is not a pipe. Otherwise the system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
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

    /// Opens the writing end.
    ///
    /// # Errors
    /// `InvalidInput` if the file is not a pipe. `ENXIO` if no receiver is open. Otherwise the system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```no_run
    /// # use pointsman::net::unix::pipe;
    /// # async fn example() -> std::io::Result<()> {
    /// let sender = loop {
    ///     match pipe::OpenOptions::new().open_sender("/path/to/a/fifo") {
    ///         Ok(sender) => break sender,
    ///         // Linux's ENXIO: no receiver is open yet.
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
