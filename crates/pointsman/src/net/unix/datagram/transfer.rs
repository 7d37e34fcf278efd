//! Sending and receiving the datagrams of a connected Unix socket, and receiving from any sender.

use std::io;
use std::task::{Context, Poll};

use super::super::SocketAddr;
use super::socket::UnixDatagram;
use crate::io::ReadBuf;

impl UnixDatagram {
    /// Sends one datagram to the connected peer and returns its length.
    ///
    /// # Errors
    /// The system's, for example if the datagram is too long or the peer has gone. If the runtime that the socket belongs to
    /// shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call has sent nothing.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (reader, writer) = UnixDatagram::pair()?;
    ///     assert_eq!(writer.send(b"ping").await?, 4);
    ///     assert_eq!(reader.recv(&mut [0; 8]).await?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.source().send(buf).await
    }

    /// Polls [`send`](Self::send). Only the task that polled for sending last is woken.
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.source().poll_send(cx, buf)
    }

    /// Like [`send`](Self::send), but does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if the system accepts no datagram, or the socket is not known to be writable: await
    /// [`writable`](Self::writable) first. Otherwise those of [`send`](Self::send).
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.source().try_send(buf)
    }

    /// Receives one datagram and returns the number of bytes that it put into `buf`. The rest of a longer datagram is
    /// discarded.
    ///
    /// # Errors
    /// The system's. If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: no datagram is lost.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (reader, writer) = UnixDatagram::pair()?;
    ///     writer.send(b"ping").await?;
    ///     let mut buf = [0; 8];
    ///     let count = reader.recv(&mut buf).await?;
    ///     assert_eq!(&buf[..count], b"ping");
    ///     Ok(())
    /// }
    /// ```
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.source().recv(buf).await
    }

    /// Polls [`recv`](Self::recv). Only the task that polled for receiving last is woken.
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.source().poll_recv(cx, buf)
    }

    /// Like [`recv`](Self::recv), but does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is no datagram, or the socket is not known to be readable: await [`readable`](Self::readable)
    /// first. Otherwise those of [`recv`](Self::recv).
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (reader, writer) = UnixDatagram::pair()?;
    ///     writer.send(b"ping").await?;
    ///     reader.readable().await?;
    ///     assert_eq!(reader.try_recv(&mut [0; 8])?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.source().try_recv(buf)
    }

    /// Like [`recv`](Self::recv), but appends to the spare capacity of `buf` and advances it.
    #[cfg(feature = "io-util")]
    pub async fn recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.source().recv_buf(buf).await
    }

    /// Like [`try_recv`](Self::try_recv), but appends to the spare capacity of `buf` and advances it.
    #[cfg(feature = "io-util")]
    pub fn try_recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.source().try_recv_buf(buf)
    }

    /// Like [`recv`](Self::recv), but also returns the sender's address. The socket need not be connected.
    ///
    /// # Errors
    /// Those of [`recv`](Self::recv).
    ///
    /// # Cancel safety
    /// Cancel safe: no datagram is lost.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (reader, writer) = UnixDatagram::pair()?;
    ///     writer.send(b"ping").await?;
    ///     let (count, sender) = reader.recv_from(&mut [0; 8]).await?;
    ///     println!("{count} bytes from {sender:?}");
    ///     Ok(())
    /// }
    /// ```
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source().recv_from(buf).await
    }

    /// Polls [`recv_from`](Self::recv_from). Only the task that polled for receiving last is woken.
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        self.source().poll_recv_from(cx, buf)
    }

    /// Like [`recv_from`](Self::recv_from), but does not wait.
    ///
    /// # Errors
    /// Those of [`try_recv`](Self::try_recv).
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (reader, writer) = UnixDatagram::pair()?;
    ///     writer.send(b"ping").await?;
    ///     reader.readable().await?;
    ///     let (count, _sender) = reader.try_recv_from(&mut [0; 8])?;
    ///     assert_eq!(count, 4);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source().try_recv_from(buf)
    }

    /// Like [`recv_from`](Self::recv_from), but appends to the spare capacity of `buf` and advances it.
    #[cfg(feature = "io-util")]
    pub async fn recv_buf_from<B: bytes::BufMut>(
        &self,
        buf: &mut B,
    ) -> io::Result<(usize, SocketAddr)> {
        self.source().recv_buf_from(buf).await
    }

    /// Like [`try_recv_from`](Self::try_recv_from), but appends to the spare capacity of `buf` and advances it.
    #[cfg(feature = "io-util")]
    pub fn try_recv_buf_from<B: bytes::BufMut>(
        &self,
        buf: &mut B,
    ) -> io::Result<(usize, SocketAddr)> {
        self.source().try_recv_buf_from(buf)
    }

    /// Returns and clears the pending error of the socket (`SO_ERROR`).
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (_reader, writer) = UnixDatagram::pair()?;
    ///     assert!(writer.take_error()?.is_none());
    ///     Ok(())
    /// }
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.source().take_error()
    }
}
