//! A Unix datagram socket.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::path::Path;
use std::task::{Context, Poll};

use super::super::SocketAddr;
use crate::io::{Interest, PollEvented, Ready};
use crate::net::datagram::Datagram;

/// A Unix datagram socket. Datagrams arrive whole, in order and without loss.
///
/// Any number of tasks may send and receive at once, by `&self`.
///
/// ```
/// use pointsman::net::UnixDatagram;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let (one, other) = UnixDatagram::pair()?;
///     one.send(b"ping").await?;
///     let mut buf = [0; 8];
///     let count = other.recv(&mut buf).await?;
///     assert_eq!(&buf[..count], b"ping");
///     Ok(())
/// }
/// ```
pub struct UnixDatagram {
    io: PollEvented<mio::net::UnixDatagram>,
}

socket!(
    UnixDatagram,
    std::os::unix::net::UnixDatagram,
    mio::net::UnixDatagram
);

// SAFETY: `recv` and `recv_from` are one system call, which only writes to the buffer and returns how much it wrote.
unsafe impl Datagram for mio::net::UnixDatagram {
    type Address = SocketAddr;

    const RECEIVE: Interest = Interest::READABLE;

    fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.send(buf)
    }

    fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.recv(buf)
    }

    fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (count, address) = self.recv_from(buf)?;
        Ok((count, SocketAddr(address)))
    }
}

impl UnixDatagram {
    /// Binds a socket to a path. Dropping the socket does not remove the path.
    ///
    /// # Errors
    /// If the path exists or is too long. Otherwise the system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let path = std::env::temp_dir().join(format!("datagram-{}", std::process::id()));
    ///     let socket = UnixDatagram::bind(&path)?;
    ///     assert_eq!(socket.local_addr()?.as_pathname(), Some(path.as_ref()));
    ///     std::fs::remove_file(path)
    /// }
    /// ```
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixDatagram>
    where
        P: AsRef<Path>,
    {
        Self::new(mio::net::UnixDatagram::bind(path)?)
    }

    /// Registers a [`std::os::unix::net::UnixDatagram`] with the current runtime.
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
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let (socket, _other) = std::os::unix::net::UnixDatagram::pair()?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = UnixDatagram::from_std(socket)?;
    ///     assert!(socket.local_addr().is_ok());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_std(socket: std::os::unix::net::UnixDatagram) -> io::Result<Self> {
        crate::net::assert_nonblocking(&socket)?;
        Self::new(mio::net::UnixDatagram::from_std(socket))
    }

    /// Deregisters the socket and returns it as a [`std::os::unix::net::UnixDatagram`], in non-blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let (socket, _other) = std::os::unix::net::UnixDatagram::pair()?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = UnixDatagram::from_std(socket)?.into_std()?;
    ///     socket.set_nonblocking(false)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixDatagram> {
        self.io
            .into_inner()
            .map(std::os::unix::net::UnixDatagram::from)
    }

    /// Creates a pair of unnamed, connected sockets.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixDatagram::pair()?;
    ///     assert_eq!(one.send(b"ping").await?, 4);
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (one, other) = mio::net::UnixDatagram::pair()?;
        let (one, other) = (Self::new(one)?, Self::new(other)?);
        one.io.registration().assume_ready(Ready::WRITABLE);
        other.io.registration().assume_ready(Ready::WRITABLE);
        Ok((one, other))
    }

    /// Creates an unnamed socket. It can send, and can receive from a peer that is connected to it.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     assert!(UnixDatagram::unbound()?.local_addr()?.is_unnamed());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn unbound() -> io::Result<UnixDatagram> {
        Self::new(mio::net::UnixDatagram::unbound()?)
    }

    /// Connects the socket to a path: [`send`](Self::send) sends to that peer, and only its datagrams are received.
    ///
    /// # Errors
    /// The system's, for example if no socket is bound to the path.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let path = std::env::temp_dir().join(format!("connect-{}", std::process::id()));
    ///     let receiver = UnixDatagram::bind(&path)?;
    ///     let sender = UnixDatagram::unbound()?;
    ///     sender.connect(&path)?;
    ///     sender.send(b"ping").await?;
    ///     assert_eq!(receiver.recv(&mut [0; 8]).await?, 4);
    ///     std::fs::remove_file(path)
    /// }
    /// ```
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.io.connect(path)
    }

    /// Sends one datagram to a path, and returns its length.
    ///
    /// # Errors
    /// The system's, for example if no socket is bound to the path. If the runtime that the socket belongs to shuts
    /// down.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call has sent nothing.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let path = std::env::temp_dir().join(format!("send-to-{}", std::process::id()));
    ///     let receiver = UnixDatagram::bind(&path)?;
    ///     UnixDatagram::unbound()?.send_to(b"ping", &path).await?;
    ///     assert_eq!(receiver.recv(&mut [0; 8]).await?, 4);
    ///     std::fs::remove_file(path)
    /// }
    /// ```
    pub async fn send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        let registration = self.io.registration();
        let send = || self.io.send_to(buf, target.as_ref());
        registration.async_io(Interest::WRITABLE, send).await
    }

    /// Polls [`send_to`](Self::send_to). Only the task that polled for sending last is woken.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    /// use std::future::poll_fn;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let path = std::env::temp_dir().join(format!("poll-send-to-{}", std::process::id()));
    ///     let _receiver = UnixDatagram::bind(&path)?;
    ///     let sender = UnixDatagram::unbound()?;
    ///     poll_fn(|cx| sender.poll_send_to(cx, b"ping", &path)).await?;
    ///     std::fs::remove_file(path)
    /// }
    /// ```
    pub fn poll_send_to<P>(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: P,
    ) -> Poll<io::Result<usize>>
    where
        P: AsRef<Path>,
    {
        let registration = self.io.registration();
        registration.poll_write_io(cx, || self.io.send_to(buf, target.as_ref()))
    }

    /// Like [`send_to`](Self::send_to), but does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if the system accepts no datagram, or the socket is not known to be writable: await
    /// [`writable`](Self::writable) first. Otherwise those of [`send_to`](Self::send_to).
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let path = std::env::temp_dir().join(format!("try-send-to-{}", std::process::id()));
    ///     let _receiver = UnixDatagram::bind(&path)?;
    ///     let sender = UnixDatagram::unbound()?;
    ///     sender.writable().await?;
    ///     assert_eq!(sender.try_send_to(b"ping", &path)?, 4);
    ///     std::fs::remove_file(path)
    /// }
    /// ```
    pub fn try_send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        let registration = self.io.registration();
        registration.try_io(Interest::WRITABLE, || self.io.send_to(buf, target))
    }

    /// Returns the local address.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixDatagram::pair()?;
    ///     assert!(one.local_addr()?.is_unnamed());
    ///     Ok(())
    /// }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// Returns the address of the connected peer.
    ///
    /// # Errors
    /// If the socket is not connected.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, _other) = UnixDatagram::pair()?;
    ///     assert!(one.peer_addr()?.is_unnamed());
    ///     assert!(UnixDatagram::unbound()?.peer_addr().is_err());
    ///     Ok(())
    /// }
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr)
    }

    /// Shuts down receiving, sending or both.
    ///
    /// # Errors
    /// The system's error.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    /// use std::net::Shutdown;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (one, other) = UnixDatagram::pair()?;
    ///     one.shutdown(Shutdown::Both)?;
    ///     assert!(other.send(b"ping").await.is_err());
    ///     Ok(())
    /// }
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
    }
}
