//! A Unix socket that is neither connected nor listening.

use std::io;
use std::os::fd::{FromRawFd, IntoRawFd, RawFd};
use std::os::unix::net;
use std::path::Path;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::net::{UnixDatagram, UnixListener, UnixStream};

/// A Unix socket that is neither connected nor listening, so that it can be bound before.
///
/// ```
/// use pointsman::net::UnixSocket;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let path = std::env::temp_dir().join(format!("socket-{}", std::process::id()));
///     let socket = UnixSocket::new_stream()?;
///     socket.bind(&path)?;
///     let listener = socket.listen(1024)?;
///     UnixSocket::new_stream()?.connect(&path).await?;
///     listener.accept().await?;
///     std::fs::remove_file(path)
/// }
/// ```
#[derive(Debug)]
pub struct UnixSocket {
    inner: Socket,
}

impl UnixSocket {
    /// Creates a socket for [`datagram`](Self::datagram).
    ///
    /// ```
    /// use pointsman::net::UnixSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UnixSocket::new_datagram()?.datagram()?;
    ///     assert!(socket.local_addr()?.is_unnamed());
    ///     Ok(())
    /// }
    /// ```
    pub fn new_datagram() -> io::Result<UnixSocket> {
        Self::new(Type::DGRAM)
    }

    /// Creates a socket for [`connect`](Self::connect) or [`listen`](Self::listen).
    ///
    /// ```
    /// # use pointsman::net::UnixSocket;
    /// assert!(UnixSocket::new_stream().is_ok());
    /// ```
    pub fn new_stream() -> io::Result<UnixSocket> {
        Self::new(Type::STREAM)
    }

    fn new(kind: Type) -> io::Result<Self> {
        let inner = Socket::new(Domain::UNIX, kind, None)?;
        inner.set_nonblocking(true)?;
        Ok(Self { inner })
    }

    fn source(&self) -> &Socket {
        &self.inner
    }

    /// Fails if the socket is of a type that does not support the operation.
    fn check_not(&self, kind: Type, message: &'static str) -> io::Result<()> {
        match self.inner.r#type()? == kind {
            true => Err(io::Error::other(message)),
            false => Ok(()),
        }
    }

    /// Binds the socket to a path. On Linux, a path that begins with a zero byte is a name in the abstract namespace.
    ///
    /// # Errors
    /// If the path exists or is too long. Otherwise the system's error.
    ///
    /// ```
    /// # use pointsman::net::UnixSocket;
    /// let socket = UnixSocket::new_stream()?;
    /// socket.bind(format!("\0bind-socket-{}", std::process::id()))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.inner.bind(&SockAddr::unix(path)?)
    }

    /// Listens for connections. `backlog` bounds the connections that wait to be accepted; the system may lower it.
    ///
    /// # Errors
    /// If the socket is a datagram socket. Otherwise the system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::UnixSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UnixSocket::new_stream()?;
    ///     socket.bind(format!("\0listen-{}", std::process::id()))?;
    ///     socket.listen(16)?;
    ///     assert!(UnixSocket::new_datagram()?.listen(16).is_err());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        self.check_not(Type::DGRAM, "listen cannot be called on a datagram socket")?;
        self.inner
            .listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        let listener = net::UnixListener::from(self.inner);
        UnixListener::new(mio::net::UnixListener::from_std(listener))
    }

    /// Connects the socket.
    ///
    /// # Errors
    /// If the socket is a datagram socket. Otherwise the system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call abandons the connection attempt.
    ///
    /// ```
    /// use pointsman::net::{UnixListener, UnixSocket};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let name = format!("\0connect-socket-{}", std::process::id());
    ///     let _listener = UnixListener::bind(&name)?;
    ///     UnixSocket::new_stream()?.connect(&name).await?;
    ///     Ok(())
    /// }
    /// ```
    pub async fn connect(self, path: impl AsRef<Path>) -> io::Result<UnixStream> {
        self.check_not(Type::DGRAM, "connect cannot be called on a datagram socket")?;
        match self.inner.connect(&SockAddr::unix(path)?) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => (),
        }
        let stream = net::UnixStream::from(self.inner);
        UnixStream::connecting(mio::net::UnixStream::from_std(stream)).await
    }

    /// Converts the socket to a datagram socket.
    ///
    /// # Errors
    /// If the socket is a stream socket. Otherwise the system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::UnixSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     UnixSocket::new_datagram()?.datagram()?;
    ///     assert!(UnixSocket::new_stream()?.datagram().is_err());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        self.check_not(Type::STREAM, "datagram cannot be called on a stream socket")?;
        let datagram = net::UnixDatagram::from(self.inner);
        let datagram = UnixDatagram::new(mio::net::UnixDatagram::from_std(datagram))?;
        match datagram.take_error()? {
            Some(error) => Err(error),
            None => Ok(datagram),
        }
    }
}

descriptor!(UnixSocket);

impl FromRawFd for UnixSocket {
    /// Takes ownership of a descriptor, which must be a Unix socket in non-blocking mode.
    ///
    /// # Safety
    /// The descriptor is open, and the caller gives up its ownership.
    unsafe fn from_raw_fd(fd: RawFd) -> Self {
        // SAFETY: the caller guarantees that the descriptor or socket is open and gives up its ownership.
        let inner = unsafe { Socket::from_raw_fd(fd) };
        Self { inner }
    }
}

impl IntoRawFd for UnixSocket {
    fn into_raw_fd(self) -> RawFd {
        self.inner.into_raw_fd()
    }
}
