//! A Unix socket that is neither connected nor listens yet.

use std::io;
use std::os::fd::{FromRawFd, IntoRawFd, RawFd};
use std::os::unix::net;
use std::path::Path;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::net::{UnixDatagram, UnixListener, UnixStream};

/// A Unix socket that is neither connected nor listens yet, so that it can be bound before.
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
    /// A socket for [`datagram`](Self::datagram).
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

    /// A socket for [`connect`](Self::connect) or [`listen`](Self::listen).
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

    /// Fails if it is of the kind that has no such method.
    fn check_not(&self, kind: Type, message: &'static str) -> io::Result<()> {
        match self.inner.r#type()? == kind {
            true => Err(io::Error::other(message)),
            false => Ok(()),
        }
    }

    /// Binds it to a path, or on Linux to the abstract name that follows a zero byte.
    ///
    /// # Errors
    /// If the path is there already, or too long, or as the system says.
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

    /// Listens. `backlog` is how many connections may wait to be accepted; the system may allow fewer.
    ///
    /// # Errors
    /// If it is a socket of datagrams, or as the system says.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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

    /// Connects it.
    ///
    /// # Errors
    /// If it is a socket of datagrams, or as the system says.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
    ///
    /// # Cancellation
    /// Giving up is safe: the connection is given up too.
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

    /// Makes it a socket that sends and receives.
    ///
    /// # Errors
    /// If it is a socket of streams, or as the system says.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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
    /// Takes over a descriptor, which has to be of a Unix socket in non-blocking mode.
    ///
    /// # Safety
    /// The descriptor is open, and nobody else's.
    unsafe fn from_raw_fd(fd: RawFd) -> Self {
        // SAFETY: the caller has promised it.
        let inner = unsafe { Socket::from_raw_fd(fd) };
        Self { inner }
    }
}

impl IntoRawFd for UnixSocket {
    fn into_raw_fd(self) -> RawFd {
        self.inner.into_raw_fd()
    }
}
