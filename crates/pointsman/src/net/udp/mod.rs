//! A UDP socket.

mod options;
mod packet;
mod peek;
mod readiness;
mod transfer;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use super::addr::{first_of, to_socket_addrs};
use super::datagram::Datagram;
use crate::io::{Interest, PollEvented};
use crate::net::ToSocketAddrs;

/// A UDP socket, which sends datagrams to and receives them from any peer, or the one that it is connected to.
///
/// Any number of tasks may send and receive at once, by `&self` or an [`Arc`](std::sync::Arc): there is no need to
/// split it.
///
/// ```
/// use pointsman::net::UdpSocket;
///
/// #[pointsman::main]
/// async fn main() -> std::io::Result<()> {
///     let server = UdpSocket::bind("127.0.0.1:0").await?;
///     let client = UdpSocket::bind("127.0.0.1:0").await?;
///     client.send_to(b"ping", server.local_addr()?).await?;
///
///     let mut buf = [0; 1500];
///     let (count, sender) = server.recv_from(&mut buf).await?;
///     assert_eq!(&buf[..count], b"ping");
///     assert_eq!(sender, client.local_addr()?);
///     Ok(())
/// }
/// ```
pub struct UdpSocket {
    io: PollEvented<mio::net::UdpSocket>,
}

socket!(UdpSocket, std::net::UdpSocket, mio::net::UdpSocket);

// SAFETY: `recv` and `recv_from` are one system call, which only writes to the buffer and returns how much it wrote.
unsafe impl Datagram for mio::net::UdpSocket {
    type Address = SocketAddr;

    /// An error event reports that an earlier datagram could not be delivered.
    const RECEIVE: Interest = Interest::READABLE.add(Interest::ERROR);

    fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.send(buf)
    }

    fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.recv(buf)
    }

    fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.recv_from(buf)
    }
}

impl UdpSocket {
    /// Binds a socket to the first address that can be bound. Port 0 selects a free port.
    ///
    /// # Errors
    /// That of the last address; `InvalidInput` if there is no address.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one without I/O.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     assert_ne!(socket.local_addr()?.port(), 0);
    ///     Ok(())
    /// }
    /// ```
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        first_of(addr, |addr| Self::new(mio::net::UdpSocket::bind(addr)?)).await
    }

    /// Registers a [`std::net::UdpSocket`] with the current runtime.
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
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = UdpSocket::from_std(socket)?;
    ///     assert!(socket.local_addr().is_ok());
    ///     Ok(())
    /// }
    /// ```
    #[track_caller]
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<Self> {
        crate::net::assert_nonblocking(&socket)?;
        Self::new(mio::net::UdpSocket::from_std(socket))
    }

    /// Deregisters the socket and returns it as a [`std::net::UdpSocket`], in non-blocking mode.
    ///
    /// # Errors
    /// If the system refuses to deregister it.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    ///     socket.set_nonblocking(true)?;
    ///     let socket = UdpSocket::from_std(socket)?.into_std()?;
    ///     socket.set_nonblocking(false)?;
    ///     Ok(())
    /// }
    /// ```
    pub fn into_std(self) -> io::Result<std::net::UdpSocket> {
        self.io.into_inner().map(std::net::UdpSocket::from)
    }

    /// Connects the socket to the first address that can be connected: [`send`](Self::send) sends to that peer, and
    /// datagrams from others are discarded.
    ///
    /// # Errors
    /// That of the last address; `InvalidInput` if there is no address.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let server = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let client = UdpSocket::bind("127.0.0.1:0").await?;
    ///     client.connect(server.local_addr()?).await?;
    ///     assert_eq!(client.peer_addr()?, server.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        first_of(addr, |addr| self.io.connect(addr)).await
    }

    /// Sends one datagram to the first address, and returns its length.
    ///
    /// # Errors
    /// `InvalidInput` if there is no address. The system's, for example if the datagram is too long. If the runtime
    /// that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call has sent nothing.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let server = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let client = UdpSocket::bind("127.0.0.1:0").await?;
    ///     assert_eq!(client.send_to(b"ping", server.local_addr()?).await?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let Some(target) = to_socket_addrs(addr).await?.next() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no addresses to send data to",
            ));
        };
        let registration = self.io.registration();
        let send = || self.io.send_to(buf, target);
        registration.async_io(Interest::WRITABLE, send).await
    }

    /// Polls [`send_to`](Self::send_to). Only the task that polled for sending last is woken.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    /// use std::future::poll_fn;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let server = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let client = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let target = server.local_addr()?;
    ///     poll_fn(|cx| client.poll_send_to(cx, b"ping", target)).await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        let registration = self.io.registration();
        registration.poll_write_io(cx, || self.io.send_to(buf, target))
    }

    /// Like [`send_to`](Self::send_to), but does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if the system accepts no datagram, or the socket is not known to be writable: await
    /// [`writable`](Self::writable) first. Otherwise those of [`send_to`](Self::send_to).
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let server = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let client = UdpSocket::bind("127.0.0.1:0").await?;
    ///     client.writable().await?;
    ///     assert_eq!(client.try_send_to(b"ping", server.local_addr()?)?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        let registration = self.io.registration();
        registration.try_io(Interest::WRITABLE, || self.io.send_to(buf, target))
    }

    /// Returns the local address.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     assert!(socket.local_addr()?.ip().is_loopback());
    ///     Ok(())
    /// }
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Returns the address of the connected peer.
    ///
    /// # Errors
    /// `NotConnected` if the socket is not connected.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ///     assert!(socket.peer_addr().is_err());
    ///     Ok(())
    /// }
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
    }
}
