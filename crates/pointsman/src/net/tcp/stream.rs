//! A TCP connection.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::super::addr::{no_address, to_socket_addrs};
use super::super::fill::fill;
#[cfg(feature = "io-util")]
use super::super::fill::fill_buf;
use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::io::{AsyncRead, AsyncWrite, Interest, PollEvented, ReadBuf, Ready};
use crate::net::ToSocketAddrs;

/// A TCP connection, which is read and written by [`AsyncRead`] and [`AsyncWrite`].
///
/// [`split`](Self::split) and [`into_split`](Self::into_split) let two tasks read and write it. Shutting it down, or
/// dropping the half that writes, ends the writing; dropping it closes the connection, in the background: what was
/// written is still sent.
///
/// ```
/// use pointsman::net::{TcpListener, TcpStream};
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:0").await?;
///     let client = TcpStream::connect(listener.local_addr()?).await?;
///     let (server, _) = listener.accept().await?;
///
///     client.try_write(b"ping")?;
///     let mut buf = [0; 4];
///     server.readable().await?;
///     assert_eq!(server.try_read(&mut buf)?, 4);
///     assert_eq!(&buf, b"ping");
///     Ok(())
/// }
/// ```
pub struct TcpStream {
    io: PollEvented<mio::net::TcpStream>,
}

socket! {
    TcpStream, std::net::TcpStream, mio::net::TcpStream,
    "use pointsman::net::TcpStream;",
    "    let listener = std::net::TcpListener::bind(\"127.0.0.1:0\")?;
    let socket = std::net::TcpStream::connect(listener.local_addr()?)?;"
}

impl TcpStream {
    /// Connects to the first of the addresses that takes the connection, one after the other.
    ///
    /// # Errors
    /// That of the last address; `InvalidInput` if there is none.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
    ///
    /// # Cancellation
    /// Giving up is safe: the connection is given up too.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let mut last = None;
        for addr in to_socket_addrs(addr).await? {
            let attempt = async { Self::connecting(mio::net::TcpStream::connect(addr)?).await };
            match attempt.await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        Err(no_address(last))
    }

    connection_methods!(mio::net::TcpStream);

    ready_method! {
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let writer = TcpStream::connect(listener.local_addr()?).await?;",
        writer, WRITABLE, is_writable
    }

    readable_method! {
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let writer = TcpStream::connect(listener.local_addr()?).await?;
    let (reader, _) = listener.accept().await?;",
        "    writer.try_write(b\"ping\")?;",
        try_read
    }

    writable_method! {
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let reader = TcpListener::bind(\"127.0.0.1:0\").await?;
    let writer = TcpStream::connect(reader.local_addr()?).await?;",
        try_write
    }

    poll_read_ready_method! {
        poll_read_ready,
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let writer = TcpStream::connect(listener.local_addr()?).await?;
    let (reader, _) = listener.accept().await?;",
        "    writer.try_write(b\"ping\")?;"
    }

    poll_write_ready_method! {
        poll_write_ready,
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let reader = TcpListener::bind(\"127.0.0.1:0\").await?;
    let writer = TcpStream::connect(reader.local_addr()?).await?;"
    }

    try_read_methods! {
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let listener = TcpListener::bind(\"127.0.0.1:0\").await?;
    let writer = TcpStream::connect(listener.local_addr()?).await?;
    let (reader, _) = listener.accept().await?;",
        "    writer.try_write(b\"ping\")?;"
    }

    try_write_methods! {
        "use pointsman::net::{TcpListener, TcpStream};",
        "    let reader = TcpListener::bind(\"127.0.0.1:0\").await?;
    let writer = TcpStream::connect(reader.local_addr()?).await?;"
    }

    custom_io_methods! {
        "use pointsman::net::{TcpListener, TcpStream};\nuse socket2::SockRef;",
        "    let reader = TcpListener::bind(\"127.0.0.1:0\").await?;
    let writer = TcpStream::connect(reader.local_addr()?).await?;",
        "SockRef::from(&writer).send(b\"ping\")"
    }

    /// Receives what comes next, once there is something, and leaves it there for who reads. `Ok(0)` is the end, or an
    /// empty buffer.
    ///
    /// # Errors
    /// The system's; if the runtime that it belongs to ends.
    ///
    /// # Cancellation
    /// Giving up is safe.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let writer = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (reader, _) = listener.accept().await?;
    ///     writer.try_write(b"ping")?;
    ///
    ///     let mut buf = [0; 4];
    ///     assert_eq!(reader.peek(&mut buf).await?, 4);
    ///     assert_eq!(reader.peek(&mut buf).await?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let registration = self.io.registration();
        registration
            .async_io(Interest::READABLE, || self.io.peek(buf))
            .await
    }

    /// As [`peek`](Self::peek), for futures that are written by hand. Of all that poll for reading only the last one is
    /// woken.
    ///
    /// ```
    /// use pointsman::io::ReadBuf;
    /// use pointsman::net::{TcpListener, TcpStream};
    /// use std::future::poll_fn;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let writer = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (reader, _) = listener.accept().await?;
    ///     writer.try_write(b"ping")?;
    ///
    ///     let mut bytes = [0; 4];
    ///     let mut buf = ReadBuf::new(&mut bytes);
    ///     assert_eq!(poll_fn(|cx| reader.poll_peek(cx, &mut buf)).await?, 4);
    ///     assert_eq!(buf.filled(), b"ping");
    ///     Ok(())
    /// }
    /// ```
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let peeked = ready!(self.io.registration().poll_read_io(cx, || {
            // SAFETY: the system writes, does not read, and counts right.
            unsafe { fill(buf, |free| self.io.peek(free).map(|count| (count, ()))) }
        }));
        Poll::Ready(peeked.map(|(count, ())| count))
    }

    /// Lends its two halves, for two parts of one task: see [`into_split`](Self::into_split) for two tasks.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let mut stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (reader, writer) = stream.split();
    ///     assert_eq!(reader.local_addr()?, writer.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        split::borrowed(self)
    }

    /// Takes it apart: one half reads, the other one writes, and ends the writing when it is dropped.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (reader, writer) = stream.into_split();
    ///     pointsman::spawn(async move { writer.try_write(b"ping") });
    ///     let stream = listener.accept().await?.0;
    ///     stream.readable().await?;
    ///     drop(reader);
    ///     Ok(())
    /// }
    /// ```
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::owned(self)
    }

    /// Its own address.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     assert_eq!(stream.local_addr()?, listener.accept().await?.1);
    ///     Ok(())
    /// }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The peer's address.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
    }

    /// Takes out the error that the system has noted since somebody asked last (`SO_ERROR`).
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let stream = TcpStream::connect(listener.local_addr()?).await?;
    ///     assert!(stream.take_error()?.is_none());
    ///     Ok(())
    /// }
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }
}

async_read!(TcpStream);
async_write!(TcpStream, |stream| stream.shutdown_write());

impl AsRef<Self> for TcpStream {
    fn as_ref(&self) -> &Self {
        self
    }
}
