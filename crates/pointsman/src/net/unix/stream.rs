//! A connection of Unix sockets.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

#[cfg(feature = "io-util")]
use super::super::fill::fill_buf;
use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{SocketAddr, UCred, ucred};
use crate::io::{AsyncRead, AsyncWrite, Interest, PollEvented, ReadBuf, Ready};

/// A connection of Unix sockets, which is read and written by [`AsyncRead`] and [`AsyncWrite`].
///
/// [`split`](Self::split) and [`into_split`](Self::into_split) let two tasks read and write it. Shutting it down, or
/// dropping the half that writes, ends the writing.
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

socket! {
    UnixStream, std::os::unix::net::UnixStream, mio::net::UnixStream,
    "use pointsman::net::UnixStream;",
    "    let (socket, _other) = std::os::unix::net::UnixStream::pair()?;"
}

impl UnixStream {
    /// Connects to a path, or on Linux to the abstract name that follows a zero byte.
    ///
    /// # Errors
    /// The system's: `WouldBlock` if the listener has too many that wait to be accepted.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
    ///
    /// # Cancellation
    /// Giving up is safe: the connection is given up too.
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

    /// Connects to an address.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    /// As [`connect`](Self::connect).
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

    connection_methods!(mio::net::UnixStream);

    /// Two streams without names that are connected to each other.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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

    ready_method! {
        "use pointsman::net::UnixStream;",
        "    let (writer, _reader) = UnixStream::pair()?;",
        writer, WRITABLE, is_writable
    }

    readable_method! {
        "use pointsman::net::UnixStream;",
        "    let (reader, writer) = UnixStream::pair()?;",
        "    writer.try_write(b\"ping\")?;",
        try_read
    }

    writable_method! {
        "use pointsman::net::UnixStream;",
        "    let (reader, writer) = UnixStream::pair()?;",
        try_write
    }

    poll_read_ready_method! {
        poll_read_ready,
        "use pointsman::net::UnixStream;",
        "    let (reader, writer) = UnixStream::pair()?;",
        "    writer.try_write(b\"ping\")?;"
    }

    poll_write_ready_method! {
        poll_write_ready,
        "use pointsman::net::UnixStream;",
        "    let (reader, writer) = UnixStream::pair()?;"
    }

    try_read_methods! {
        "use pointsman::net::UnixStream;",
        "    let (reader, writer) = UnixStream::pair()?;",
        "    writer.try_write(b\"ping\")?;"
    }

    try_write_methods! {
        "use pointsman::net::UnixStream;",
        "    let (reader, writer) = UnixStream::pair()?;"
    }

    custom_io_methods! {
        "use pointsman::net::UnixStream;\nuse socket2::SockRef;",
        "    let (reader, writer) = UnixStream::pair()?;",
        "SockRef::from(&writer).send(b\"ping\")"
    }

    /// Lends its two halves, for two parts of one task: see [`into_split`](Self::into_split) for two tasks.
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
        split::borrowed(self)
    }

    /// Takes it apart: one half reads, the other one writes, and ends the writing when it is dropped.
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
        split::owned(self)
    }

    /// Its own address.
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

    /// The peer's address.
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

    /// Who was at the other end when it was connected.
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

    /// Takes out the error that the system has noted since somebody asked last (`SO_ERROR`).
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
