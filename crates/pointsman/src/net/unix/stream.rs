//! A Unix stream.

use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{SocketAddr, UCred, ucred};
use crate::io::{AsyncRead, AsyncWrite, PollEvented, ReadBuf, Ready};

/// A Unix stream socket, which implements [`AsyncRead`] and [`AsyncWrite`].
///
/// [`split`](Self::split) and [`into_split`](Self::into_split) let two tasks read and write it. Shutdown, and dropping
/// the writing half, shut down the writing.
///
/// ```
/// use pointsman::net::UnixStream;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (one, other) = UnixStream::pair()?;
///     one.try_write(b"ping")?;
///     let mut buf = [0; 4];
///     other.readable().await?;
///     assert_eq!(other.try_read(&mut buf)?, 4);
///     assert_eq!(&buf, b"ping");
///     Ok(())
/// }
/// ```
pub struct UnixStream {
    io: PollEvented<mio::net::UnixStream>,
}

socket!(
    UnixStream,
    std::os::unix::net::UnixStream,
    mio::net::UnixStream
);

impl UnixStream {
    /// Connects to a path. On Linux, a path that begins with a zero byte is a name in the abstract namespace.
    ///
    /// # Errors
    /// The system's, for example `WouldBlock` if the listener's backlog is full.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call abandons the connection attempt.
    ///
    /// ```
    /// use pointsman::net::{UnixListener, UnixStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let name = format!("\0connect-{}", std::process::id());
    ///     let _listener = UnixListener::bind(&name)?;
    ///     UnixStream::connect(&name).await?;
    ///     Ok(())
    /// }
    /// ```
    pub async fn connect<P>(path: P) -> io::Result<UnixStream>
    where
        P: AsRef<Path>,
    {
        Self::connect_addr(&SocketAddr::of_path(path.as_ref())?).await
    }

    /// Registers a [`std::os::unix::net::UnixStream`] with the current runtime.
    ///
    /// It must already be in non-blocking mode; otherwise its operations block the thread.
    ///
    /// # Errors
    /// If the runtime is shutting down, or the system refuses to poll the socket.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O. In debug builds also if the socket is in blocking mode.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let (socket, _other) = std::os::unix::net::UnixStream::pair()?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = UnixStream::from_std(socket)?;
    ///     assert!(socket.local_addr().is_ok());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_std(socket: std::os::unix::net::UnixStream) -> io::Result<Self> {
        crate::net::assert_nonblocking(&socket)?;
        Self::new(mio::net::UnixStream::from_std(socket))
    }

    /// Deregisters the socket and returns it as a [`std::os::unix::net::UnixStream`], in non-blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let (socket, _other) = std::os::unix::net::UnixStream::pair()?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = UnixStream::from_std(socket)?.into_std()?;
    ///     socket.set_nonblocking(false)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixStream> {
        self.io
            .into_inner()
            .map(std::os::unix::net::UnixStream::from)
    }

    /// Connects to an address.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect).
    ///
    /// # Panics
    /// Those of [`connect`](Self::connect).
    ///
    /// ```
    /// use pointsman::net::{UnixListener, UnixStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = UnixListener::bind(format!("\0connect-addr-{}", std::process::id()))?;
    ///     UnixStream::connect_addr(&listener.local_addr()?).await?;
    ///     Ok(())
    /// }
    /// ```
    pub async fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixStream> {
        Self::connecting(mio::net::UnixStream::connect_addr(&socket_addr.0)?).await
    }

    /// Waits until a connection attempt that has begun succeeds or fails.
    pub(super) async fn connecting(stream: mio::net::UnixStream) -> io::Result<Self> {
        let stream = Self::new(stream)?;
        std::future::poll_fn(|cx| stream.io.poll_writable(cx)).await?;
        match stream.take_error()? {
            Some(error) => Err(error),
            None => Ok(stream),
        }
    }

    pub(super) fn accepted(stream: mio::net::UnixStream) -> io::Result<Self> {
        let stream = Self::new(stream)?;
        // The stream is writable, and often the first request has already arrived: trying is cheaper than polling.
        let ready = Ready::READABLE | Ready::WRITABLE;
        stream.io.registration().assume_ready(ready);
        Ok(stream)
    }

    pub(super) fn shutdown_write(&self) -> io::Result<()> {
        match self.io.shutdown(std::net::Shutdown::Write) {
            // The peer has already closed the connection.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }

    /// Creates a pair of unnamed, connected streams.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixStream::pair()?;
    ///     assert_eq!(one.try_write(b"ping")?, 4);
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (one, other) = mio::net::UnixStream::pair()?;
        let (one, other) = (Self::new(one)?, Self::new(other)?);
        one.io.registration().assume_ready(Ready::WRITABLE);
        other.io.registration().assume_ready(Ready::WRITABLE);
        Ok((one, other))
    }

    /// Splits the stream into borrowed halves, for use within one task. See [`into_split`](Self::into_split) for two
    /// tasks.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (mut one, _other) = UnixStream::pair()?;
    ///     let (_reader, writer) = one.split();
    ///     writer.try_write(b"ping")?;
    ///     Ok(())
    /// }
    /// ```
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Splits the stream into owned halves. Dropping the writing half shuts down the writing.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, other) = UnixStream::pair()?;
    ///     let (_reader, writer) = one.into_split();
    ///     pointsman::spawn(async move { writer.try_write(b"ping") });
    ///     other.readable().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::into_halves(self)
    }

    /// Returns the local address.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixStream::pair()?;
    ///     assert!(one.local_addr()?.is_unnamed());
    ///     Ok(())
    /// }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// Returns the peer's address.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixStream::pair()?;
    ///     assert!(one.peer_addr()?.is_unnamed());
    ///     Ok(())
    /// }
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr)
    }

    /// Returns the credentials of the peer at the time of the connection.
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, other) = UnixStream::pair()?;
    ///     assert_eq!(one.peer_cred()?, other.peer_cred()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn peer_cred(&self) -> io::Result<UCred> {
        ucred::peer_of(self.as_fd())
    }

    /// Returns and clears the socket's pending error (`SO_ERROR`).
    ///
    /// ```
    /// use pointsman::net::UnixStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixStream::pair()?;
    ///     assert!(one.take_error()?.is_none());
    ///     Ok(())
    /// }
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }
}

async_read!(UnixStream);
async_write!(UnixStream, |stream| stream.shutdown_write());

impl AsRef<Self> for UnixStream {
    fn as_ref(&self) -> &Self {
        self
    }
}
