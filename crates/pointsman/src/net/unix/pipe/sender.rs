//! The writing end of a pipe.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use mio::unix::pipe as mio_pipe;

use super::descriptor::{check_pipe, descriptor_flags, set_descriptor_flags};
use crate::io::{AsyncWrite, Interest, PollEvented, Ready};

/// The writing end of a pipe.
///
/// Writing fails with `BrokenPipe` once all receivers are closed. A receiver sees the end of the stream when the sender
/// is dropped; shutdown has no effect.
#[derive(Debug)]
pub struct Sender {
    io: PollEvented<mio_pipe::Sender>,
}

impl Sender {
    #[track_caller]
    pub(super) fn new(pipe: mio_pipe::Sender) -> io::Result<Self> {
        let io = PollEvented::new_with_interest(pipe, Interest::WRITABLE)?;
        Ok(Self { io })
    }

    fn source(&self) -> &PollEvented<mio_pipe::Sender> {
        &self.io
    }

    /// Registers a file that is the writing end of a pipe with the current runtime, and sets it to non-blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if the file is not a pipe, or not open for writing. Otherwise the system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::unix::pipe;
    /// use std::fs::File;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, _reader) = pipe::pipe()?;
    ///     let file = File::from(writer.into_blocking_fd()?);
    ///     pipe::Sender::from_file(file)?;
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_file(file: File) -> io::Result<Self> {
        Self::from_owned_fd(file.into())
    }

    /// Like [`from_file`](Self::from_file), for a descriptor.
    ///
    /// ```
    /// use pointsman::net::unix::pipe;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, _reader) = pipe::pipe()?;
    ///     let descriptor = writer.into_blocking_fd()?;
    ///     pipe::Sender::from_owned_fd(descriptor)?;
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<Self> {
        check_pipe(owned_fd.as_fd())?;
        let flags = descriptor_flags(owned_fd.as_fd())?;
        if !matches!(flags & libc::O_ACCMODE, libc::O_WRONLY | libc::O_RDWR) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not in O_WRONLY or O_RDWR access mode",
            ));
        }
        set_descriptor_flags(owned_fd.as_fd(), flags, flags | libc::O_NONBLOCK)?;
        Self::from_owned_fd_unchecked(owned_fd)
    }

    /// Like [`from_file`](Self::from_file), without checks: the file must be in non-blocking mode, and the writing end of a
    /// pipe or another file that the system can poll.
    ///
    /// # Errors
    /// The system's, if the file cannot be polled.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::unix::pipe;
    /// use std::fs::File;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, _reader) = pipe::pipe()?;
    ///     let file = File::from(writer.into_nonblocking_fd()?);
    ///     pipe::Sender::from_file_unchecked(file)?;
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_file_unchecked(file: File) -> io::Result<Self> {
        Self::from_owned_fd_unchecked(file.into())
    }

    /// Like [`from_file_unchecked`](Self::from_file_unchecked), for a descriptor.
    ///
    /// ```
    /// use pointsman::net::unix::pipe;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, _reader) = pipe::pipe()?;
    ///     let descriptor = writer.into_nonblocking_fd()?;
    ///     pipe::Sender::from_owned_fd_unchecked(descriptor)?;
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<Self> {
        Self::new(mio_pipe::Sender::from(owned_fd))
    }

    /// Deregisters the pipe and returns its descriptor, in blocking mode.
    ///
    /// # Errors
    /// The system's error.
    pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
        let fd = self.into_nonblocking_fd()?;
        let flags = descriptor_flags(fd.as_fd())?;
        set_descriptor_flags(fd.as_fd(), flags, flags & !libc::O_NONBLOCK)?;
        Ok(fd)
    }

    /// Deregisters the pipe and returns its descriptor, in non-blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
        self.io.into_inner().map(OwnedFd::from)
    }

    /// Runs a system call of the caller's if the pipe is known to be ready for it.
    ///
    /// The call must not block and must be on this descriptor. If it returns `WouldBlock`, the readiness is cleared.
    ///
    /// # Errors
    /// `WouldBlock` without calling `f` if the pipe is not known to be ready. Otherwise the error of `f`.
    ///
    /// ```
    /// use std::io::Write;
    /// use std::os::fd::AsFd;
    /// use pointsman::net::unix::pipe;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, _reader) = pipe::pipe()?;
    ///     writer.writable().await?;
    ///     let mut file = std::fs::File::from(writer.as_fd().try_clone_to_owned()?);
    ///     assert_eq!(writer.try_io(|| file.write(b"ping"))?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let io = self.source();
        io.registration()
            .try_io(Interest::WRITABLE, || io.try_io(f))
    }

    /// Waits until the pipe is ready for one of the given interests, and returns which.
    ///
    /// Readiness is a hint: the operation may still fail with `WouldBlock`, which clears the readiness if a `try_` method
    /// returned it.
    ///
    /// # Errors
    /// If the runtime that the pipe belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: the readiness is kept for the next call.
    ///
    /// ```
    /// use pointsman::io::Interest;
    /// use pointsman::net::unix::pipe;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, _reader) = pipe::pipe()?;
    ///     let ready = writer.ready(Interest::WRITABLE).await?;
    ///     assert!(ready.is_writable());
    ///     Ok(())
    /// }
    /// ```
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.source().ready(interest).await
    }

    /// Waits until the pipe is writable, usually to call [`try_write`](Self::try_write) next.
    ///
    /// The call may still fail with `WouldBlock`; then wait again.
    ///
    /// # Errors
    /// If the runtime that the pipe belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: the readiness is kept for the next call.
    ///
    /// ```
    /// use pointsman::net::unix::pipe;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, _reader) = pipe::pipe()?;
    ///     writer.writable().await?;
    ///     assert_eq!(writer.try_write(b"ping")?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.source().writable().await
    }

    /// Polls for writability.
    ///
    /// Only the task that polled last is woken; [`writable`](Self::writable) supports any number of tasks.
    ///
    /// # Errors
    /// If the runtime that the pipe belongs to shuts down.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source().poll_writable(cx)
    }

    /// Writes as many bytes as the system accepts, without waiting, and returns their number.
    ///
    /// # Errors
    /// `WouldBlock` if it accepts none, or the pipe is not known to be writable: await [`writable`](Self::writable) first.
    /// Otherwise the system's error.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.source().try_write(buf)
    }

    /// Like [`try_write`](Self::try_write), but writes several buffers in order.
    ///
    /// # Errors
    /// Those of [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.source().try_write_vectored(bufs)
    }
}

descriptor!(Sender);
async_write!(Sender, |_| Ok(()));
