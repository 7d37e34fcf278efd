//! The halves of a Unix stream.
//!
//! Invariant: each half of a pair refers to the same stream and uses only its own direction.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::SocketAddr;
use crate::io::{AsyncRead, AsyncWrite, Interest, PollEvented, ReadBuf, Ready};
use crate::net::UnixStream;

/// The borrowed reading half of a [`UnixStream`], from [`split`](UnixStream::split).
///
/// ```
/// use pointsman::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (mut one, mut other) = UnixStream::pair()?;
///     let (reader, _) = one.split();
///     let (_, writer) = other.split();
///     writer.try_write(b"ping")?;
///     reader.readable().await?;
///     assert_eq!(reader.try_read(&mut [0; 8])?, 4);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct ReadHalf<'a>(pub(super) &'a UnixStream);

impl ReadHalf<'_> {
    fn source(&self) -> &PollEvented<mio::net::UnixStream> {
        self.0.source()
    }

    /// Waits until the stream is ready for one of the given interests; see [`UnixStream::ready`].
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.0.ready(interest).await
    }

    /// Waits until the stream is readable; see [`UnixStream::readable`].
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }

    /// Reads the bytes that are available, without waiting; see [`UnixStream::try_read`].
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buf)
    }

    /// Like [`try_read`](Self::try_read), but fills several buffers in order.
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.try_read_vectored(bufs)
    }

    /// Like [`try_read`](Self::try_read), but appends to the spare capacity of `buf` and advances it.
    #[cfg(feature = "io-util")]
    pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.0.try_read_buf(buf)
    }

    /// Returns the peer's address.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Returns the stream's local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl AsRef<UnixStream> for ReadHalf<'_> {
    fn as_ref(&self) -> &UnixStream {
        self.0
    }
}

async_read!(ReadHalf<'_>);

/// The borrowed writing half of a [`UnixStream`], from [`split`](UnixStream::split).
///
/// [`poll_shutdown`](AsyncWrite::poll_shutdown) shuts down the writing; dropping the half does not.
///
/// ```
/// use pointsman::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (mut one, _other) = UnixStream::pair()?;
///     let (_, writer) = one.split();
///     assert_eq!(writer.try_write(b"ping")?, 4);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct WriteHalf<'a>(pub(super) &'a UnixStream);

impl WriteHalf<'_> {
    fn source(&self) -> &PollEvented<mio::net::UnixStream> {
        self.0.source()
    }

    /// Waits until the stream is ready for one of the given interests; see [`UnixStream::ready`].
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.0.ready(interest).await
    }

    /// Waits until the stream is writable; see [`UnixStream::writable`].
    pub async fn writable(&self) -> io::Result<()> {
        self.0.writable().await
    }

    /// Writes as many bytes as the system accepts, without waiting; see [`UnixStream::try_write`].
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.try_write(buf)
    }

    /// Like [`try_write`](Self::try_write), but writes several buffers in order.
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(bufs)
    }

    /// Returns the peer's address.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Returns the stream's local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl AsRef<UnixStream> for WriteHalf<'_> {
    fn as_ref(&self) -> &UnixStream {
        self.0
    }
}

async_write!(WriteHalf<'_>, |half| half.0.shutdown_write());

/// The owned reading half of a [`UnixStream`], from [`into_split`](UnixStream::into_split).
///
/// ```
/// use pointsman::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (one, other) = UnixStream::pair()?;
///     let (reader, _) = one.into_split();
///     other.try_write(b"ping")?;
///     reader.readable().await?;
///     assert_eq!(reader.try_read(&mut [0; 8])?, 4);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct OwnedReadHalf(Arc<UnixStream>);

impl OwnedReadHalf {
    fn source(&self) -> &PollEvented<mio::net::UnixStream> {
        self.0.source()
    }

    /// Waits until the stream is ready for one of the given interests; see [`UnixStream::ready`].
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.0.ready(interest).await
    }

    /// Waits until the stream is readable; see [`UnixStream::readable`].
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }

    /// Reads the bytes that are available, without waiting; see [`UnixStream::try_read`].
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buf)
    }

    /// Like [`try_read`](Self::try_read), but fills several buffers in order.
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.try_read_vectored(bufs)
    }

    /// Like [`try_read`](Self::try_read), but appends to the spare capacity of `buf` and advances it.
    #[cfg(feature = "io-util")]
    pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.0.try_read_buf(buf)
    }

    /// Returns the peer's address.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Returns the stream's local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Joins the halves to the stream again.
    ///
    /// # Errors
    /// If the halves are of different streams; the error returns them.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, other) = UnixStream::pair()?;
    ///     let (reader, writer) = one.into_split();
    ///     let one = reader.reunite(writer).expect("halves of one stream");
    ///     one.try_write(b"ping")?;
    ///     Ok(())
    /// }
    /// ```
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<UnixStream, ReuniteError> {
        if !Arc::ptr_eq(&self.0, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.forget();
        Ok(Arc::into_inner(self.0).expect("a stream has two halves"))
    }
}

impl AsRef<UnixStream> for OwnedReadHalf {
    fn as_ref(&self) -> &UnixStream {
        &self.0
    }
}

async_read!(OwnedReadHalf);

/// The owned writing half of a [`UnixStream`], from [`into_split`](UnixStream::into_split).
///
/// Dropping the half shuts down the writing; [`forget`](Self::forget) drops it without that.
///
/// ```
/// use pointsman::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (one, other) = UnixStream::pair()?;
///     let (_reader, writer) = one.into_split();
///     drop(writer);
///     other.readable().await?;
///     assert_eq!(other.try_read(&mut [0; 8])?, 0);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct OwnedWriteHalf {
    stream: Arc<UnixStream>,
    shutdown_on_drop: bool,
}

impl OwnedWriteHalf {
    fn source(&self) -> &PollEvented<mio::net::UnixStream> {
        self.stream.source()
    }

    /// Waits until the stream is ready for one of the given interests; see [`UnixStream::ready`].
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.stream.ready(interest).await
    }

    /// Waits until the stream is writable; see [`UnixStream::writable`].
    pub async fn writable(&self) -> io::Result<()> {
        self.stream.writable().await
    }

    /// Writes as many bytes as the system accepts, without waiting; see [`UnixStream::try_write`].
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.stream.try_write(buf)
    }

    /// Like [`try_write`](Self::try_write), but writes several buffers in order.
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_write_vectored(bufs)
    }

    /// Returns the peer's address.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// Returns the stream's local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// Joins the halves to the stream again; see [`OwnedReadHalf::reunite`].
    ///
    /// # Errors
    /// If the halves are of different streams; the error returns them.
    pub fn reunite(self, other: OwnedReadHalf) -> Result<UnixStream, ReuniteError> {
        other.reunite(self)
    }

    /// Drops the half without shutting down the writing.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, other) = UnixStream::pair()?;
    ///     let (_reader, writer) = one.into_split();
    ///     writer.forget();
    ///     assert!(other.try_read(&mut [0; 8]).is_err(), "not at the end of the stream");
    ///     Ok(())
    /// }
    /// ```
    pub fn forget(mut self) {
        self.shutdown_on_drop = false;
    }
}

impl AsRef<UnixStream> for OwnedWriteHalf {
    fn as_ref(&self) -> &UnixStream {
        &self.stream
    }
}

async_write!(OwnedWriteHalf, |half| {
    half.stream.shutdown_write()?;
    half.shutdown_on_drop = false;
    Ok(())
});

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.shutdown_on_drop {
            // Drop cannot report an error; the connection may already be closed.
            let _ = self.stream.shutdown_write();
        }
    }
}

pub(super) fn into_halves(stream: UnixStream) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    let read = OwnedReadHalf(Arc::clone(&stream));
    let write = OwnedWriteHalf {
        stream,
        shutdown_on_drop: true,
    };
    (read, write)
}

/// The error of joining halves of different streams; contains both halves.
///
/// ```
/// use pointsman::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (one, other) = UnixStream::pair()?;
///     let ((reader, _), (_, writer)) = (one.into_split(), other.into_split());
///     let error = reader.reunite(writer).unwrap_err();
///     assert_eq!(error.to_string(), "tried to reunite halves that are not from the same socket");
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct ReuniteError(
    /// The reading half.
    pub OwnedReadHalf,
    /// The writing half.
    pub OwnedWriteHalf,
);

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tried to reunite halves that are not from the same socket")
    }
}

impl std::error::Error for ReuniteError {}
