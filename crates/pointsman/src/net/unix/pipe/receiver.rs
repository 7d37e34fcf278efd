//! The reading end of a pipe.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use mio::unix::pipe as mio_pipe;

use super::descriptor::{check_pipe, descriptor_flags, set_descriptor_flags};
use crate::io::{AsyncRead, Interest, PollEvented, ReadBuf, Ready};

/// The reading end of a pipe.
///
/// Reads return `Ok(0)`, the end of the stream, once all senders are closed.
#[derive(Debug)]
pub struct Receiver {
    io: PollEvented<mio_pipe::Receiver>,
}

impl Receiver {
    #[track_caller]
    pub(super) fn new(pipe: mio_pipe::Receiver) -> io::Result<Self> {
        let io = PollEvented::new_with_interest(pipe, Interest::READABLE)?;
        Ok(Self { io })
    }

    fn source(&self) -> &PollEvented<mio_pipe::Receiver> {
        &self.io
    }

    /// Registers a file that is the reading end of a pipe with the current runtime, and sets it to non-blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if the file is not a pipe, or not open for reading. Otherwise the system's error.
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
    ///     let (_writer, reader) = pipe::pipe()?;
    ///     let file = File::from(reader.into_blocking_fd()?);
    ///     pipe::Receiver::from_file(file)?;
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
    ///     let (_writer, reader) = pipe::pipe()?;
    ///     let descriptor = reader.into_blocking_fd()?;
    ///     pipe::Receiver::from_owned_fd(descriptor)?;
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<Self> {
        check_pipe(owned_fd.as_fd())?;
        let flags = descriptor_flags(owned_fd.as_fd())?;
        if !matches!(flags & libc::O_ACCMODE, libc::O_RDONLY | libc::O_RDWR) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not in O_RDONLY or O_RDWR access mode",
            ));
        }
        set_descriptor_flags(owned_fd.as_fd(), flags, flags | libc::O_NONBLOCK)?;
        Self::from_owned_fd_unchecked(owned_fd)
    }

    /// Like [`from_file`](Self::from_file), without checks: the file must be in non-blocking mode, and the reading end of a
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
    ///     let (_writer, reader) = pipe::pipe()?;
    ///     let file = File::from(reader.into_nonblocking_fd()?);
    ///     pipe::Receiver::from_file_unchecked(file)?;
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
    ///     let (_writer, reader) = pipe::pipe()?;
    ///     let descriptor = reader.into_nonblocking_fd()?;
    ///     pipe::Receiver::from_owned_fd_unchecked(descriptor)?;
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<Self> {
        Self::new(mio_pipe::Receiver::from(owned_fd))
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
    /// use std::io::Read;
    /// use std::os::fd::AsFd;
    /// use pointsman::net::unix::pipe;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, reader) = pipe::pipe()?;
    ///     drop(writer);
    ///     reader.readable().await?;
    ///     let mut file = std::fs::File::from(reader.as_fd().try_clone_to_owned()?);
    ///     assert_eq!(reader.try_io(|| file.read(&mut [0; 8]))?, 0);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let io = self.source();
        io.registration()
            .try_io(Interest::READABLE, || io.try_io(f))
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
    ///     let (writer, reader) = pipe::pipe()?;
    ///     writer.writable().await?;
    ///     writer.try_write(b"ping")?;
    ///     let ready = reader.ready(Interest::READABLE).await?;
    ///     assert!(ready.is_readable());
    ///     Ok(())
    /// }
    /// ```
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.source().ready(interest).await
    }

    /// Waits until the pipe is readable, usually to call [`try_read`](Self::try_read) next.
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
    /// use std::io::ErrorKind;
    /// use pointsman::net::unix::pipe;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (writer, reader) = pipe::pipe()?;
    ///     writer.writable().await?;
    ///     writer.try_write(b"ping")?;
    ///     let mut buf = [0; 16];
    ///     let count = loop {
    ///         reader.readable().await?;
    ///         match reader.try_read(&mut buf) {
    ///             Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
    ///             result => break result?,
    ///         }
    ///     };
    ///     assert_eq!(&buf[..count], b"ping");
    ///     Ok(())
    /// }
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.source().readable().await
    }

    /// Polls for readability.
    ///
    /// Only the task that polled last is woken; [`readable`](Self::readable) supports any number of tasks.
    ///
    /// # Errors
    /// If the runtime that the pipe belongs to shuts down.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source().poll_readable(cx)
    }

    /// Reads the bytes that are available, without waiting, and returns their number. `Ok(0)` means the end of the stream, or
    /// an empty buffer.
    ///
    /// # Errors
    /// `WouldBlock` if there are none, or the pipe is not known to be readable: await [`readable`](Self::readable) first.
    /// Otherwise the system's error.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.source().try_read(buf)
    }

    /// Like [`try_read`](Self::try_read), but fills several buffers in order.
    ///
    /// # Errors
    /// Those of [`try_read`](Self::try_read).
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.source().try_read_vectored(bufs)
    }

    /// Like [`try_read`](Self::try_read), but appends to the spare capacity of `buf` and advances it.
    ///
    /// # Errors
    /// Those of [`try_read`](Self::try_read).
    #[cfg(feature = "io-util")]
    pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        // SAFETY: mio's pipe reads by one system call, which only writes to the buffer and returns how much it wrote.
        unsafe { self.source().try_read_buf(buf) }
    }
}

descriptor!(Receiver);
async_read!(Receiver);
