//! A TCP socket that is neither connected nor listening.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};

use crate::net::{TcpListener, TcpStream};

/// A TCP socket that is neither connected nor listening, for options that must be set before.
///
/// ```
/// use pointsman::net::TcpSocket;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let socket = TcpSocket::new_v4()?;
///     socket.set_reuseaddr(true)?;
///     socket.bind("127.0.0.1:0".parse().unwrap())?;
///     let listener = socket.listen(16)?;
///
///     let stream = TcpSocket::new_v4()?.connect(listener.local_addr()?).await?;
///     assert_eq!(stream.peer_addr()?, listener.local_addr()?);
///     Ok(())
/// }
/// ```
pub struct TcpSocket {
    inner: Socket,
}

impl TcpSocket {
    /// Creates a socket for IPv4.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// assert!(TcpSocket::new_v4().is_ok());
    /// ```
    pub fn new_v4() -> io::Result<TcpSocket> {
        Self::new(Domain::IPV4)
    }

    /// Creates a socket for IPv6.
    ///
    /// ```no_run
    /// # use pointsman::net::TcpSocket;
    /// assert!(TcpSocket::new_v6().is_ok());
    /// ```
    pub fn new_v6() -> io::Result<TcpSocket> {
        Self::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<Self> {
        let inner = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        inner.set_nonblocking(true)?;
        Ok(Self { inner })
    }

    fn source(&self) -> &Socket {
        &self.inner
    }

    /// Converts an unconnected socket of the standard library, for example one with options set there. It must be in
    /// non-blocking mode.
    ///
    /// ```
    /// use pointsman::net::TcpSocket;
    /// use socket2::{Domain, Socket, Type};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = TcpSocket::from_std_stream(socket.into());
    ///     socket.bind("127.0.0.1:0".parse().unwrap())
    /// }
    /// ```
    pub fn from_std_stream(std_stream: std::net::TcpStream) -> TcpSocket {
        Self {
            inner: Socket::from(std_stream),
        }
    }

    /// Binds the socket to an address. Port 0 selects a free port.
    ///
    /// # Errors
    /// The system's, for example if the address is in use.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// let socket = TcpSocket::new_v4()?;
    /// socket.bind("127.0.0.1:0".parse().unwrap())?;
    /// assert_ne!(socket.local_addr()?.port(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.inner.bind(&addr.into())
    }

    /// Connects the socket.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call abandons the connection attempt.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpSocket};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     TcpSocket::new_v4()?.connect(listener.local_addr()?).await?;
    ///     Ok(())
    /// }
    /// ```
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        match self.inner.connect(&addr.into()) {
            Err(error) if !is_in_progress(&error) => return Err(error),
            _ => (),
        }
        TcpStream::connecting(mio::net::TcpStream::from_std(self.inner.into())).await
    }

    /// Listens for connections. `backlog` bounds the connections that wait to be accepted; the system may lower it.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::TcpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = TcpSocket::new_v4()?;
    ///     socket.bind("127.0.0.1:0".parse().unwrap())?;
    ///     let listener = socket.listen(16)?;
    ///     assert!(listener.local_addr()?.ip().is_loopback());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.inner
            .listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::new(mio::net::TcpListener::from_std(self.inner.into()))
    }

    /// Returns the local address.
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// let socket = TcpSocket::new_v4()?;
    /// socket.bind("127.0.0.1:0".parse().unwrap())?;
    /// assert!(socket.local_addr()?.ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()?.as_socket().ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "invalid address family (not IPv4 or IPv6)",
            )
        })
    }

    /// Returns and clears the socket's pending error (`SO_ERROR`).
    ///
    /// ```
    /// # use pointsman::net::TcpSocket;
    /// assert!(TcpSocket::new_v4()?.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.inner.take_error()
    }
}

/// Whether the error means that a connection attempt has begun and is in progress.
fn is_in_progress(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(libc::EINPROGRESS);
    #[cfg(not(unix))]
    return error.kind() == io::ErrorKind::WouldBlock;
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

descriptor!(TcpSocket);

#[cfg(unix)]
mod unix {
    use std::os::fd::{FromRawFd, IntoRawFd, RawFd};

    use super::{Socket, TcpSocket};

    impl FromRawFd for TcpSocket {
        /// Takes ownership of a descriptor, which must be a TCP socket in non-blocking mode.
        ///
        /// # Safety
        /// The descriptor is open, and the caller gives up its ownership.
        unsafe fn from_raw_fd(fd: RawFd) -> Self {
            // SAFETY: the caller guarantees that the descriptor or socket is open and gives up its ownership.
            let inner = unsafe { Socket::from_raw_fd(fd) };
            Self { inner }
        }
    }

    impl IntoRawFd for TcpSocket {
        fn into_raw_fd(self) -> RawFd {
            self.inner.into_raw_fd()
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::io::{FromRawSocket, IntoRawSocket, RawSocket};

    use super::{Socket, TcpSocket};

    impl FromRawSocket for TcpSocket {
        /// Takes ownership of a socket, which must be a TCP socket in non-blocking mode.
        ///
        /// # Safety
        /// The socket is open, and the caller gives up its ownership.
        unsafe fn from_raw_socket(socket: RawSocket) -> Self {
            // SAFETY: the caller guarantees that the descriptor or socket is open and gives up its ownership.
            let inner = unsafe { Socket::from_raw_socket(socket) };
            Self { inner }
        }
    }

    impl IntoRawSocket for TcpSocket {
        fn into_raw_socket(self) -> RawSocket {
            self.inner.into_raw_socket()
        }
    }
}
