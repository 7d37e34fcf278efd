//! The ends of pipes to a child's standard streams.

use std::io;
use std::pin::Pin;
use std::process::{self, Stdio};
use std::task::{Context, Poll};

use super::system;
use crate::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Writes what a child reads as its standard input. See [`Child::stdin`](super::Child::stdin).
///
/// Dropping it closes the pipe, and the child reads that it is at the end. Shutting it down does not.
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

/// Reads what a child writes to its standard output. See [`Child::stdout`](super::Child::stdout).
///
/// When it is dropped, a child that writes more is told that nobody reads it, which ends most programs.
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

/// Reads what a child writes to its standard error. See [`Child::stderr`](super::Child::stderr).
///
/// When it is dropped, a child that writes more is told that nobody reads it, which ends most programs.
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

macro_rules! pipes {
    ($($type:ident, $field:ident, $direction:ident;)*) => {$(
        impl $type {
            /// Makes one of the standard library's, at the current runtime.
            ///
            /// # Errors
            /// If the runtime is ending, or the system refuses.
            ///
            /// # Panics
            /// On Unix, if there is no current runtime, or it has no I/O.
            ///
            /// ```
            /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
            #[doc = concat!("use pointsman::process::", stringify!($type), ";")]
            /// use std::process::{Command, Stdio};
            ///
            #[doc = concat!("let mut child = Command::new(\"true\").", stringify!($field), "(Stdio::piped()).spawn()?;")]
            #[doc = concat!("let pipe = ", stringify!($type), "::from_std(child.", stringify!($field), ".take().unwrap())?;")]
            /// # drop(pipe);
            /// # child.wait()?;
            /// # Ok(())
            /// # }
            /// ```
            #[track_caller]
            pub fn from_std(inner: process::$type) -> io::Result<Self> {
                let pipe = system::$direction::new(inner)?;
                Ok(Self { pipe })
            }
        }

        /// For another child's standard stream: it blocks there, as programs expect.
        impl TryFrom<$type> for Stdio {
            type Error = io::Error;

            fn try_from(stream: $type) -> io::Result<Self> {
                stream.pipe.into_owned().map(Self::from)
            }
        }

        #[cfg(unix)]
        impl $type {
            /// The descriptor, which is no longer the runtime's, and blocks.
            ///
            /// # Errors
            /// If the system refuses.
            ///
            /// ```
            /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
            /// use pointsman::process::Command;
            /// use std::process::Stdio;
            ///
            #[doc = concat!("let mut child = Command::new(\"true\").", stringify!($field), "(Stdio::piped()).spawn()?;")]
            #[doc = concat!("let descriptor = child.", stringify!($field), ".take().unwrap().into_owned_fd()?;")]
            /// # drop(descriptor);
            /// # child.wait().await?;
            /// # Ok(())
            /// # }
            /// ```
            pub fn into_owned_fd(self) -> io::Result<std::os::fd::OwnedFd> {
                self.pipe.into_owned()
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
                // SAFETY: it is open as long as this is.
                unsafe { std::os::fd::BorrowedFd::borrow_raw(self.pipe.as_raw()) }
            }
        }

        #[cfg(windows)]
        impl $type {
            /// The handle, which is no longer the runtime's.
            ///
            /// # Errors
            /// If the system refuses.
            ///
            /// ```no_run
            /// # #[pointsman::main] async fn main() -> std::io::Result<()> {
            /// use pointsman::process::Command;
            /// use std::process::Stdio;
            ///
            #[doc = concat!("let mut child = Command::new(\"cmd\").", stringify!($field), "(Stdio::piped()).spawn()?;")]
            #[doc = concat!("let handle = child.", stringify!($field), ".take().unwrap().into_owned_handle()?;")]
            /// # drop(handle);
            /// # Ok(())
            /// # }
            /// ```
            pub fn into_owned_handle(self) -> io::Result<std::os::windows::io::OwnedHandle> {
                self.pipe.into_owned()
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
                // SAFETY: it is open as long as this is.
                unsafe { std::os::windows::io::BorrowedHandle::borrow_raw(self.pipe.as_raw()) }
            }
        }
    )*};
}

pipes! {
    ChildStdin, stdin, Writer;
    ChildStdout, stdout, Reader;
    ChildStderr, stderr, Reader;
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
