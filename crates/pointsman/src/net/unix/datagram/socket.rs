//! A Unix socket of datagrams.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::path::Path;
use std::task::{Context, Poll, ready};

use super::super::SocketAddr;
use crate::io::{Interest, PollEvented, ReadBuf, Ready};
use crate::net::fill::fill;
#[cfg(feature = "io-util")]
use crate::net::fill::fill_buf;

/// A Unix socket that sends and receives datagrams, which arrive whole, in order, and all.
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

socket! {
    UnixDatagram, std::os::unix::net::UnixDatagram, mio::net::UnixDatagram,
    "use pointsman::net::UnixDatagram;",
    "    let (socket, _other) = std::os::unix::net::UnixDatagram::pair()?;"
}

impl UnixDatagram {
    /// A socket at a path, which others send to. The path stays when it is dropped.
    ///
    /// # Errors
    /// If the path is there already, or too long, or as the system says.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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

    /// Two sockets without names that are connected to each other.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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

    /// A socket without a name, which can send, and receive once it is connected and the peer knows it.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Panics
    /// Outside of a runtime, or in one without I/O.
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

    /// Sets whom [`send`](Self::send) sends to, and receives from nobody else from now on.
    ///
    /// # Errors
    /// The system's, such as that nobody is there.
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

    datagram_methods! {
        SocketAddr, Interest::READABLE,
        "use pointsman::net::UnixDatagram;",
        "    let (reader, writer) = UnixDatagram::pair()?;"
    }

    custom_io_methods! {
        "use pointsman::net::UnixDatagram;\nuse socket2::SockRef;",
        "    let (reader, writer) = UnixDatagram::pair()?;",
        "SockRef::from(&writer).send(b\"ping\")"
    }

    /// Sends one datagram to a path, and says how many bytes that was: all.
    ///
    /// # Errors
    /// The system's, such as that nobody is there; if the runtime that it belongs to ends.
    ///
    /// # Cancellation
    /// Giving up is safe: the datagram was not sent then.
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

    /// As [`send_to`](Self::send_to), for futures that are written by hand. Of all that poll for sending only the last
    /// one is woken.
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

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, or it is not yet known: wait by [`writable`](Self::writable) first. Otherwise
    /// as [`send_to`](Self::send_to).
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

    /// Its own address.
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

    /// The address of the peer that it is connected to.
    ///
    /// # Errors
    /// If it is not connected.
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

    /// Ends the receiving, the sending or both.
    ///
    /// # Errors
    /// The system's.
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
