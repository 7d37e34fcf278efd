//! A UDP socket.

mod options;
mod peek;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use super::addr::{first_of, to_socket_addrs};
use super::fill::fill;
#[cfg(feature = "io-util")]
use super::fill::fill_buf;
use crate::io::{Interest, PollEvented, ReadBuf, Ready};
use crate::net::ToSocketAddrs;

/// A UDP socket, which sends and receives datagrams: to and from anybody, or a peer that it is connected to.
///
/// Any number of tasks may send and receive at once, by `&self` or an [`Arc`](std::sync::Arc): there is nothing to
/// split.
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

socket! {
    UdpSocket, std::net::UdpSocket, mio::net::UdpSocket,
    "use pointsman::net::UdpSocket;",
    "    let socket = std::net::UdpSocket::bind(\"127.0.0.1:0\")?;"
}

/// What ends a wait for a datagram: also that an earlier one could not be delivered.
const RECEIVING: Interest = Interest::READABLE.add(Interest::ERROR);

impl UdpSocket {
    /// A socket at the first of the addresses that can be bound. Port 0 takes one that is free.
    ///
    /// # Errors
    /// That of the last address; `InvalidInput` if there is none.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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

    /// Sets whom [`send`](Self::send) sends to, and receives from nobody else from now on. Takes the first of the
    /// addresses that is possible.
    ///
    /// # Errors
    /// That of the last address; `InvalidInput` if there is none.
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

    datagram_methods! {
        SocketAddr, RECEIVING,
        "use pointsman::net::UdpSocket;",
        "    let (reader, writer) = (UdpSocket::bind(\"127.0.0.1:0\").await?, UdpSocket::bind(\"127.0.0.1:0\").await?);
    writer.connect(reader.local_addr()?).await?;"
    }

    custom_io_methods! {
        "use pointsman::net::UdpSocket;\nuse socket2::SockRef;",
        "    let (reader, writer) = (UdpSocket::bind(\"127.0.0.1:0\").await?, UdpSocket::bind(\"127.0.0.1:0\").await?);
    writer.connect(reader.local_addr()?).await?;",
        "SockRef::from(&writer).send(b\"ping\")"
    }

    /// Sends one datagram to the first of the addresses, and says how many bytes that was: all.
    ///
    /// # Errors
    /// `InvalidInput` if there is no address. The system's, such as that the datagram is too long; if the runtime that
    /// it belongs to ends.
    ///
    /// # Cancellation
    /// Giving up is safe: the datagram was not sent then.
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

    /// As [`send_to`](Self::send_to), for futures that are written by hand. Of all that poll for sending only the last
    /// one is woken.
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

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, or it is not yet known: wait by [`writable`](Self::writable) first. Otherwise
    /// as [`send_to`](Self::send_to).
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

    /// Its own address.
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

    /// The address of the peer that it is connected to.
    ///
    /// # Errors
    /// `NotConnected` if it is not.
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

    ttl_methods! {
        "use pointsman::net::UdpSocket;",
        "    let socket = UdpSocket::bind(\"127.0.0.1:0\").await?;"
    }

    packet_methods! {
        "use pointsman::net::UdpSocket;",
        "    let socket = UdpSocket::bind(\"127.0.0.1:0\").await?;",
        "    let socket = UdpSocket::bind(\"[::1]:0\").await?;"
    }
}
