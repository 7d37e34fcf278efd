//! A listening Unix socket.

use std::fmt;
use std::io;
use std::path::Path;
use std::task::{Context, Poll, ready};

use super::SocketAddr;
use crate::io::{Interest, PollEvented};
use crate::net::UnixStream;

/// A Unix socket that listens for connections.
///
/// Dropping the listener does not remove its path, which must be removed before it can be bound again.
///
/// ```
/// use pointsman::net::{UnixListener, UnixStream};
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let directory = std::env::temp_dir();
///     let path = directory.join(format!("listener-{}", std::process::id()));
///     let listener = UnixListener::bind(&path)?;
///     let _client = UnixStream::connect(&path).await?;
///     let (stream, _) = listener.accept().await?;
///     assert_eq!(stream.local_addr()?.as_pathname(), Some(path.as_ref()));
///     std::fs::remove_file(path)
/// }
/// ```
pub struct UnixListener {
    io: PollEvented<mio::net::UnixListener>,
}

socket!(
    UnixListener,
    std::os::unix::net::UnixListener,
    mio::net::UnixListener
);

impl UnixListener {
    /// Binds and listens at a path. On Linux, a path that begins with a zero byte is a name in the abstract namespace.
    ///
    /// # Errors
    /// If the path exists or is too long. Otherwise the system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::UnixListener;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = UnixListener::bind(format!("\0bind-{}", std::process::id()))?;
    ///     assert!(listener.local_addr()?.as_abstract_name().is_some());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixListener>
    where
        P: AsRef<Path>,
    {
        Self::bind_addr(&SocketAddr::of_path(path.as_ref())?)
    }

    /// Registers a [`std::os::unix::net::UnixListener`] with the current runtime.
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
    /// use pointsman::net::UnixListener;
    /// use std::os::linux::net::SocketAddrExt;
    /// use std::os::unix::net::{self, SocketAddr};
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let name = format!("from-{}-{}", std::process::id(), line!());
    ///     let socket = net::UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = UnixListener::from_std(socket)?;
    ///     assert!(socket.local_addr().is_ok());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_std(socket: std::os::unix::net::UnixListener) -> io::Result<Self> {
        crate::net::assert_nonblocking(&socket)?;
        Self::new(mio::net::UnixListener::from_std(socket))
    }

    /// Deregisters the socket and returns it as a [`std::os::unix::net::UnixListener`], in non-blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// use pointsman::net::UnixListener;
    /// use std::os::linux::net::SocketAddrExt;
    /// use std::os::unix::net::{self, SocketAddr};
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let name = format!("from-{}-{}", std::process::id(), line!());
    ///     let socket = net::UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = UnixListener::from_std(socket)?.into_std()?;
    ///     socket.set_nonblocking(false)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixListener> {
        self.io
            .into_inner()
            .map(std::os::unix::net::UnixListener::from)
    }

    /// Binds and listens at an address.
    ///
    /// # Errors
    /// Those of [`bind`](Self::bind).
    ///
    /// # Panics
    /// Those of [`bind`](Self::bind).
    ///
    /// ```
    /// use pointsman::net::UnixListener;
    /// use std::os::linux::net::SocketAddrExt;
    /// use std::os::unix::net::SocketAddr;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let name = format!("bind-addr-{}", std::process::id());
    ///     let address = SocketAddr::from_abstract_name(name)?;
    ///     UnixListener::bind_addr(&address.into())?;
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixListener> {
        Self::new(mio::net::UnixListener::bind_addr(&socket_addr.0)?)
    }

    /// Accepts the next connection, and returns its stream and the peer's address, which usually is unnamed. Any number
    /// of tasks may wait.
    ///
    /// # Errors
    /// The system's, for example if too many descriptors are open; the listener remains usable. If the runtime that the
    /// socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: no connection is lost.
    ///
    /// ```
    /// use pointsman::net::{UnixListener, UnixStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let name = format!("\0accept-{}", std::process::id());
    ///     let listener = UnixListener::bind(&name)?;
    ///     let _client = UnixStream::connect(&name).await?;
    ///     let (_stream, address) = listener.accept().await?;
    ///     assert!(address.is_unnamed());
    ///     Ok(())
    /// }
    /// ```
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let registration = self.io.registration();
        let (stream, addr) = registration
            .async_io(Interest::READABLE, || self.io.accept())
            .await?;
        Ok((UnixStream::accepted(stream)?, addr.into()))
    }

    /// Polls [`accept`](Self::accept). Only the task that polled last is woken.
    ///
    /// ```
    /// use pointsman::net::{UnixListener, UnixStream};
    /// use std::future::poll_fn;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let name = format!("\0poll-accept-{}", std::process::id());
    ///     let listener = UnixListener::bind(&name)?;
    ///     let _client = UnixStream::connect(&name).await?;
    ///     poll_fn(|cx| listener.poll_accept(cx)).await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let registration = self.io.registration();
        let (stream, addr) = ready!(registration.poll_read_io(cx, || self.io.accept()))?;
        Poll::Ready(Ok((UnixStream::accepted(stream)?, addr.into())))
    }

    /// Returns the local address.
    ///
    /// ```
    /// use pointsman::net::UnixListener;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = UnixListener::bind(format!("\0local-addr-{}", std::process::id()))?;
    ///     assert!(!listener.local_addr()?.is_unnamed());
    ///     Ok(())
    /// }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// Returns and clears the socket's pending error (`SO_ERROR`).
    ///
    /// ```
    /// use pointsman::net::UnixListener;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = UnixListener::bind(format!("\0take-error-{}", std::process::id()))?;
    ///     assert!(listener.take_error()?.is_none());
    ///     Ok(())
    /// }
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }
}
