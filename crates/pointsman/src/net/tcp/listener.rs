//! A listening TCP socket.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use super::super::addr::first_of;
use crate::io::{Interest, PollEvented};
use crate::net::{TcpStream, ToSocketAddrs};

/// A TCP socket that listens for connections.
///
/// ```
/// use pointsman::net::{TcpListener, TcpStream};
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:0").await?;
///     let client = TcpStream::connect(listener.local_addr()?).await?;
///
///     let (stream, address) = listener.accept().await?;
///     assert_eq!(address, client.local_addr()?);
///     assert_eq!(stream.peer_addr()?, address);
///     Ok(())
/// }
/// ```
pub struct TcpListener {
    io: PollEvented<mio::net::TcpListener>,
}

socket!(TcpListener, std::net::TcpListener, mio::net::TcpListener);

impl TcpListener {
    /// Binds and listens at the first address that can be bound. Port 0 selects a free port.
    ///
    /// On Unix, `SO_REUSEADDR` is set, so that the address can be bound again at once after a listener has closed. The
    /// backlog is 1,024 connections; [`TcpSocket`](crate::net::TcpSocket) sets other values.
    ///
    /// # Errors
    /// That of the last address; `InvalidInput` if there is no address.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::TcpListener;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     assert_ne!(listener.local_addr()?.port(), 0);
    ///     Ok(())
    /// }
    /// ```
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        first_of(addr, |addr| Self::new(mio::net::TcpListener::bind(addr)?)).await
    }

    /// Registers a [`std::net::TcpListener`] with the current runtime.
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
    /// use pointsman::net::TcpListener;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = TcpListener::from_std(socket)?;
    ///     assert!(socket.local_addr().is_ok());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_std(socket: std::net::TcpListener) -> io::Result<Self> {
        crate::net::assert_nonblocking(&socket)?;
        Self::new(mio::net::TcpListener::from_std(socket))
    }

    /// Deregisters the socket and returns it as a [`std::net::TcpListener`], in non-blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// use pointsman::net::TcpListener;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = TcpListener::from_std(socket)?.into_std()?;
    ///     socket.set_nonblocking(false)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn into_std(self) -> io::Result<std::net::TcpListener> {
        self.io.into_inner().map(std::net::TcpListener::from)
    }

    /// Accepts the next connection, and returns its stream and the peer's address. Any number of tasks may wait.
    ///
    /// # Errors
    /// The system's, for example if too many descriptors are open or a connection failed before it was accepted; the
    /// listener remains usable. If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: no connection is lost.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let client = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (_stream, address) = listener.accept().await?;
    ///     assert_eq!(address, client.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let registration = self.io.registration();
        let (stream, addr) = registration
            .async_io(Interest::READABLE, || self.io.accept())
            .await?;
        Ok((TcpStream::accepted(stream)?, addr))
    }

    /// Polls [`accept`](Self::accept). Only the task that polled last is woken.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    /// use std::future::poll_fn;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let client = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (_stream, address) = poll_fn(|cx| listener.poll_accept(cx)).await?;
    ///     assert_eq!(address, client.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let registration = self.io.registration();
        let (stream, addr) = ready!(registration.poll_read_io(cx, || self.io.accept()))?;
        Poll::Ready(Ok((TcpStream::accepted(stream)?, addr)))
    }

    /// Returns the local address.
    ///
    /// ```
    /// use pointsman::net::TcpListener;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     assert!(listener.local_addr()?.ip().is_loopback());
    ///     Ok(())
    /// }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Returns the number of hops that a packet may take (`IP_TTL`).
    pub fn ttl(&self) -> io::Result<u32> {
        self.source().ttl()
    }

    /// Sets the number of hops that a packet may take.
    ///
    /// ```
    /// use pointsman::net::TcpListener;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = TcpListener::bind("127.0.0.1:0").await?;
    ///     socket.set_ttl(100)?;
    ///     assert_eq!(socket.ttl()?, 100);
    ///     Ok(())
    /// }
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.source().set_ttl(ttl)
    }
}
