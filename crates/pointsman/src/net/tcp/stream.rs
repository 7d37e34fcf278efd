//! A TCP stream.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::super::addr::{no_address, to_socket_addrs};
use super::super::fill::fill;
use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::io::{AsyncRead, AsyncWrite, Interest, PollEvented, ReadBuf, Ready};
use crate::net::ToSocketAddrs;

/// A TCP connection, which implements [`AsyncRead`] and [`AsyncWrite`].
///
/// [`split`](Self::split) and [`into_split`](Self::into_split) let two tasks read and write it. Shutdown, and dropping
/// the writing half, shut down the writing. Dropping the stream closes the connection in the background: written data
/// is still sent.
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

socket!(TcpStream, std::net::TcpStream, mio::net::TcpStream);

impl TcpStream {
    /// Connects to the first address that accepts the connection, trying one after the other.
    ///
    /// # Errors
    /// That of the last address; `InvalidInput` if there is no address.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call abandons the connection attempt.
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

    /// Registers a [`std::net::TcpStream`] with the current runtime.
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
    /// use pointsman::net::TcpStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    ///     let socket = std::net::TcpStream::connect(listener.local_addr()?)?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = TcpStream::from_std(socket)?;
    ///     assert!(socket.local_addr().is_ok());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_std(socket: std::net::TcpStream) -> io::Result<Self> {
        crate::net::assert_nonblocking(&socket)?;
        Self::new(mio::net::TcpStream::from_std(socket))
    }

    /// Deregisters the socket and returns it as a [`std::net::TcpStream`], in non-blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// use pointsman::net::TcpStream;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    ///     let socket = std::net::TcpStream::connect(listener.local_addr()?)?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = TcpStream::from_std(socket)?.into_std()?;
    ///     socket.set_nonblocking(false)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        self.io.into_inner().map(std::net::TcpStream::from)
    }

    /// Waits until a connection attempt that has begun succeeds or fails.
    pub(super) async fn connecting(stream: mio::net::TcpStream) -> io::Result<Self> {
        let stream = Self::new(stream)?;
        std::future::poll_fn(|cx| stream.io.poll_writable(cx)).await?;
        match stream.take_error()? {
            Some(error) => Err(error),
            None => Ok(stream),
        }
    }

    pub(super) fn accepted(stream: mio::net::TcpStream) -> io::Result<Self> {
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

    /// Receives the next bytes without removing them from the queue. `Ok(0)` means the end of the stream, or an empty
    /// buffer.
    ///
    /// # Errors
    /// The system's. If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe.
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

    /// Polls [`peek`](Self::peek). Only the task that polled for reading last is woken.
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
            // SAFETY: mio peeks by one system call, which only writes to the buffer and returns how much it wrote.
            unsafe { fill(buf, |free| self.io.peek(free).map(|count| (count, ()))) }
        }));
        Poll::Ready(peeked.map(|(count, ())| count))
    }

    /// Splits the stream into borrowed halves, for use within one task. See [`into_split`](Self::into_split) for two
    /// tasks.
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
        (ReadHalf(self), WriteHalf(self))
    }

    /// Splits the stream into owned halves. Dropping the writing half shuts down the writing.
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
        split::into_halves(self)
    }

    /// Returns the local address.
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

    /// Returns the peer's address.
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

    /// Returns and clears the socket's pending error (`SO_ERROR`).
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
