//! Pipes to a child's standard streams.

use std::io;
use std::pin::Pin;
use std::process::{self, Stdio};
use std::task::{Context, Poll};

use super::system;
use crate::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The writing end of a child's standard input. See [`Child::stdin`](super::Child::stdin).
///
/// Dropping it closes the pipe, and the child reads the end of its input. Shutdown does not close it.
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// use pointsman::process::Command;
/// use std::process::Stdio;
///
/// let mut child = Command::new("cat").stdin(Stdio::piped()).spawn()?;
/// drop(child.stdin.take());
/// assert!(child.wait().await?.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ChildStdin {
    pipe: system::Writer,
}

/// The reading end of a child's standard output. See [`Child::stdout`](super::Child::stdout).
///
/// Dropping it closes the pipe: a child that writes more gets an error or `SIGPIPE`, which ends most programs.
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// use pointsman::io::{AsyncRead, ReadBuf};
/// use pointsman::process::Command;
/// use std::{future::poll_fn, pin::Pin, process::Stdio};
///
/// let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
/// let mut stdout = child.stdout.take().unwrap();
/// let mut bytes = [0; 100];
/// let mut buf = ReadBuf::new(&mut bytes);
/// poll_fn(|cx| Pin::new(&mut stdout).poll_read(cx, &mut buf)).await?;
/// assert_eq!(buf.filled(), b"hello\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ChildStdout {
    pipe: system::Reader,
}

/// The reading end of a child's standard error. See [`Child::stderr`](super::Child::stderr).
///
/// Dropping it closes the pipe: a child that writes more gets an error or `SIGPIPE`, which ends most programs.
///
/// ```
/// # #[pointsman::main] async fn main() -> std::io::Result<()> {
/// use pointsman::io::{AsyncRead, ReadBuf};
/// use pointsman::process::Command;
/// use std::{future::poll_fn, pin::Pin, process::Stdio};
///
/// let mut command = Command::new("sh");
/// let mut child = command.args(["-c", "echo bad >&2"]).stderr(Stdio::piped()).spawn()?;
/// let mut stderr = child.stderr.take().unwrap();
/// let mut bytes = [0; 100];
/// let mut buf = ReadBuf::new(&mut bytes);
/// poll_fn(|cx| Pin::new(&mut stderr).poll_read(cx, &mut buf)).await?;
/// assert_eq!(buf.filled(), b"bad\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ChildStderr {
    pipe: system::Reader,
}

impl ChildStdin {
    /// Registers a pipe of the standard library with the current runtime.
    ///
    /// # Errors
    /// If the runtime is shutting down, or the system refuses to register it.
    ///
    /// # Panics
    /// On Unix, if called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::ChildStdin;
    /// use std::process::{Command, Stdio};
    ///
    /// let mut child = Command::new("true").stdin(Stdio::piped()).spawn()?;
    /// let pipe = ChildStdin::from_std(child.stdin.take().unwrap())?;
    /// # drop(pipe);
    /// # child.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn from_std(inner: process::ChildStdin) -> io::Result<Self> {
        let pipe = system::Writer::new(inner)?;
        Ok(Self { pipe })
    }

    /// Deregisters the pipe and returns its descriptor, in blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let mut child = Command::new("true").stdin(Stdio::piped()).spawn()?;
    /// let descriptor = child.stdin.take().unwrap().into_owned_fd()?;
    /// # drop(descriptor);
    /// # child.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(unix)]
    pub fn into_owned_fd(self) -> io::Result<std::os::fd::OwnedFd> {
        self.pipe.into_owned()
    }

    /// Deregisters the pipe and returns its handle.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```no_run
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let mut child = Command::new("cmd").stdin(Stdio::piped()).spawn()?;
    /// let handle = child.stdin.take().unwrap().into_owned_handle()?;
    /// # drop(handle);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(windows)]
    pub fn into_owned_handle(self) -> io::Result<std::os::windows::io::OwnedHandle> {
        self.pipe.into_owned()
    }
}

impl ChildStdout {
    /// Registers a pipe of the standard library with the current runtime.
    ///
    /// # Errors
    /// If the runtime is shutting down, or the system refuses to register it.
    ///
    /// # Panics
    /// On Unix, if called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::ChildStdout;
    /// use std::process::{Command, Stdio};
    ///
    /// let mut child = Command::new("true").stdout(Stdio::piped()).spawn()?;
    /// let pipe = ChildStdout::from_std(child.stdout.take().unwrap())?;
    /// # drop(pipe);
    /// # child.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn from_std(inner: process::ChildStdout) -> io::Result<Self> {
        let pipe = system::Reader::new(inner)?;
        Ok(Self { pipe })
    }

    /// Deregisters the pipe and returns its descriptor, in blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let mut child = Command::new("true").stdout(Stdio::piped()).spawn()?;
    /// let descriptor = child.stdout.take().unwrap().into_owned_fd()?;
    /// # drop(descriptor);
    /// # child.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(unix)]
    pub fn into_owned_fd(self) -> io::Result<std::os::fd::OwnedFd> {
        self.pipe.into_owned()
    }

    /// Deregisters the pipe and returns its handle.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```no_run
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let mut child = Command::new("cmd").stdout(Stdio::piped()).spawn()?;
    /// let handle = child.stdout.take().unwrap().into_owned_handle()?;
    /// # drop(handle);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(windows)]
    pub fn into_owned_handle(self) -> io::Result<std::os::windows::io::OwnedHandle> {
        self.pipe.into_owned()
    }
}

impl ChildStderr {
    /// Registers a pipe of the standard library with the current runtime.
    ///
    /// # Errors
    /// If the runtime is shutting down, or the system refuses to register it.
    ///
    /// # Panics
    /// On Unix, if called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::ChildStderr;
    /// use std::process::{Command, Stdio};
    ///
    /// let mut child = Command::new("true").stderr(Stdio::piped()).spawn()?;
    /// let pipe = ChildStderr::from_std(child.stderr.take().unwrap())?;
    /// # drop(pipe);
    /// # child.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn from_std(inner: process::ChildStderr) -> io::Result<Self> {
        let pipe = system::Reader::new(inner)?;
        Ok(Self { pipe })
    }

    /// Deregisters the pipe and returns its descriptor, in blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let mut child = Command::new("true").stderr(Stdio::piped()).spawn()?;
    /// let descriptor = child.stderr.take().unwrap().into_owned_fd()?;
    /// # drop(descriptor);
    /// # child.wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(unix)]
    pub fn into_owned_fd(self) -> io::Result<std::os::fd::OwnedFd> {
        self.pipe.into_owned()
    }

    /// Deregisters the pipe and returns its handle.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```no_run
    /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
    /// use pointsman::process::Command;
    /// use std::process::Stdio;
    ///
    /// let mut child = Command::new("cmd").stderr(Stdio::piped()).spawn()?;
    /// let handle = child.stderr.take().unwrap().into_owned_handle()?;
    /// # drop(handle);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(windows)]
    pub fn into_owned_handle(self) -> io::Result<std::os::windows::io::OwnedHandle> {
        self.pipe.into_owned()
    }
}

/// Conversion to `Stdio`, and access to the descriptor or handle.
macro_rules! pipe_traits {
    ($($type:ident;)*) => {$(
        /// Converts to another child's standard stream, in blocking mode.
        impl TryFrom<$type> for Stdio {
            type Error = io::Error;

            fn try_from(stream: $type) -> io::Result<Self> {
                stream.pipe.into_owned().map(Self::from)
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.pipe.as_raw()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                // SAFETY: `self.pipe` owns the descriptor and is borrowed for as long as the result.
                unsafe { std::os::fd::BorrowedFd::borrow_raw(self.pipe.as_raw()) }
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsRawHandle for $type {
            fn as_raw_handle(&self) -> std::os::windows::io::RawHandle {
                self.pipe.as_raw()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsHandle for $type {
            fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
                // SAFETY: `self.pipe` owns the handle and is borrowed for as long as the result.
                unsafe { std::os::windows::io::BorrowedHandle::borrow_raw(self.pipe.as_raw()) }
            }
        }
    )*};
}

pipe_traits! {
    ChildStdin;
    ChildStdout;
    ChildStderr;
}

impl AsyncWrite for ChildStdin {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.pipe.poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pipe.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.pipe.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        cfg!(unix)
    }
}

impl AsyncRead for ChildStdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.pipe.poll_read(cx, buf)
    }
}

impl AsyncRead for ChildStderr {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.pipe.poll_read(cx, buf)
    }
}
