//! A Unix socket that others connect to.

use std::fmt;
use std::io;
use std::path::Path;
use std::task::{Context, Poll, ready};

use super::SocketAddr;
use crate::io::{Interest, PollEvented};
use crate::net::UnixStream;

/// A Unix socket that listens for connections.
///
/// Its path stays when it is dropped: who listens there again has to remove it first.
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

socket! {
    UnixListener, std::os::unix::net::UnixListener, mio::net::UnixListener,
    "use pointsman::net::UnixListener;\nuse std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};",
    "    let address = SocketAddr::from_abstract_name(format!(\"from-{}-{}\", std::process::id(), line!()))?;
    let socket = std::os::unix::net::UnixListener::bind_addr(&address)?;"
}

impl UnixListener {
    /// Listens at a path, or on Linux at the abstract name that follows a zero byte.
    ///
    /// # Errors
    /// If the path is there already, or too long, or as the system says.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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

    /// Listens at an address.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    /// As [`bind`](Self::bind).
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

    /// Waits for the next connection: the stream, and the peer's address, which mostly has no name. Any number of tasks
    /// may wait.
    ///
    /// # Errors
    /// The system's, such as when no more descriptors may be open: the listener lives on, and may be asked again. If
    /// the runtime that it belongs to ends.
    ///
    /// # Cancellation
    /// Giving up is safe: no connection is lost.
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

    /// As [`accept`](Self::accept), for futures that are written by hand. Of all that poll only the last one is woken.
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

    /// The address that it listens at.
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

    /// Takes out the error that the system has noted since somebody asked last (`SO_ERROR`).
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
