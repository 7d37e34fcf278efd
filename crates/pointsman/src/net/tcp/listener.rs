//! A TCP socket that others connect to.

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

socket! {
    TcpListener, std::net::TcpListener, mio::net::TcpListener,
    "use pointsman::net::TcpListener;",
    "    let socket = std::net::TcpListener::bind(\"127.0.0.1:0\")?;"
}

impl TcpListener {
    /// Listens at the first of the addresses that can be bound. Port 0 takes one that is free.
    ///
    /// On Unix the address can be bound again at once after a listener has gone (`SO_REUSEADDR`). 1,024 connections
    /// may wait to be accepted; [`TcpSocket`](crate::net::TcpSocket) sets other values.
    ///
    /// # Errors
    /// That of the last address; `InvalidInput` if there is none.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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

    /// Waits for the next connection: the stream, and the peer's address. Any number of tasks may wait.
    ///
    /// # Errors
    /// The system's, such as when no more descriptors may be open, or a connection has failed before it was
    /// accepted: the listener lives on, and may be asked again. If the runtime that it belongs to ends.
    ///
    /// # Cancellation
    /// Giving up is safe: no connection is lost.
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

    /// As [`accept`](Self::accept), for futures that are written by hand. Of all that poll only the last one is woken.
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

    /// The address that it listens at.
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

    ttl_methods! {
        "use pointsman::net::TcpListener;",
        "    let socket = TcpListener::bind(\"127.0.0.1:0\").await?;"
    }
}
