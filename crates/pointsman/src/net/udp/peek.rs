//! Datagrams that are looked at and stay.
//!
//! Windows gives an error where the buffer is too small for the whole datagram.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use super::{RECEIVING, UdpSocket, fill};
use crate::io::{Interest, ReadBuf};

impl UdpSocket {
    /// Receives the next datagram and leaves it there: how many bytes of it there are. What does not fit into the buffer
    /// is left out.
    ///
    /// # Errors
    /// The system's; if the runtime that it belongs to ends.
    ///
    /// # Cancellation
    /// Giving up is safe.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     assert_eq!(reader.peek(&mut [0; 8]).await?, 4);
    ///     assert_eq!(reader.recv(&mut [0; 8]).await?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let registration = self.io.registration();
        registration.async_io(RECEIVING, || self.io.peek(buf)).await
    }

    /// As [`peek`](Self::peek), for futures that are written by hand. Of all that poll for receiving only the last one is
    /// woken.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    /// use pointsman::io::ReadBuf;
    /// use std::future::poll_fn;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     let mut bytes = [0; 8];
    ///     let mut buf = ReadBuf::new(&mut bytes);
    ///     poll_fn(|cx| reader.poll_peek(cx, &mut buf)).await?;
    ///     assert_eq!(buf.filled(), b"ping");
    ///     Ok(())
    /// }
    /// ```
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let peeked = ready!(self.io.registration().poll_read_io(cx, || {
            // SAFETY: the system writes, does not read, and counts right.
            unsafe { fill(buf, |free| self.io.peek(free).map(|count| (count, ()))) }
        }));
        Poll::Ready(peeked.map(drop))
    }

    /// As [`peek`](Self::peek), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, or it is not yet known: wait by [`readable`](Self::readable) first. Otherwise the
    /// system's.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     reader.readable().await?;
    ///     assert_eq!(reader.try_peek(&mut [0; 8])?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let registration = self.io.registration();
        registration.try_io(Interest::READABLE, || self.io.peek(buf))
    }

    /// As [`peek`](Self::peek), with the address of who has sent it.
    ///
    /// # Errors
    /// The system's; if the runtime that it belongs to ends.
    ///
    /// # Cancellation
    /// Giving up is safe.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     let (count, sender) = reader.peek_from(&mut [0; 8]).await?;
    ///     assert_eq!((count, sender), (4, writer.local_addr()?));
    ///     Ok(())
    /// }
    /// ```
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let registration = self.io.registration();
        let peek = || self.io.peek_from(buf);
        registration.async_io(RECEIVING, peek).await
    }

    /// As [`peek_from`](Self::peek_from), for futures that are written by hand. Of all that poll for receiving only the
    /// last one is woken.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    /// use pointsman::io::ReadBuf;
    /// use std::future::poll_fn;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     let mut bytes = [0; 8];
    ///     let mut buf = ReadBuf::new(&mut bytes);
    ///     let sender = poll_fn(|cx| reader.poll_peek_from(cx, &mut buf)).await?;
    ///     assert_eq!(sender, writer.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let peeked = ready!(self.io.registration().poll_read_io(cx, || {
            // SAFETY: the system writes, does not read, and counts right.
            unsafe { fill(buf, |free| self.io.peek_from(free)) }
        }));
        Poll::Ready(peeked.map(|(_, sender)| sender))
    }

    /// As [`peek_from`](Self::peek_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, or it is not yet known: wait by [`readable`](Self::readable) first. Otherwise the
    /// system's.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     reader.readable().await?;
    ///     assert_eq!(reader.try_peek_from(&mut [0; 8])?.0, 4);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let registration = self.io.registration();
        registration.try_io(Interest::READABLE, || self.io.peek_from(buf))
    }

    /// The address of who has sent the next datagram, which stays.
    ///
    /// # Errors
    /// The system's; if the runtime that it belongs to ends.
    ///
    /// # Cancellation
    /// Giving up is safe.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     assert_eq!(reader.peek_sender().await?, writer.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        let registration = self.io.registration();
        registration.async_io(RECEIVING, || self.sender()).await
    }

    /// As [`peek_sender`](Self::peek_sender), for futures that are written by hand. Of all that poll for receiving only
    /// the last one is woken.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    /// use std::future::poll_fn;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     let sender = poll_fn(|cx| reader.poll_peek_sender(cx)).await?;
    ///     assert_eq!(sender, writer.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        let registration = self.io.registration();
        registration.poll_read_io(cx, || self.sender())
    }

    /// As [`peek_sender`](Self::peek_sender), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, or it is not yet known: wait by [`readable`](Self::readable) first. Otherwise the
    /// system's.
    ///
    /// ```
    /// use pointsman::net::UdpSocket;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let reader = UdpSocket::bind("127.0.0.1:0").await?;
    ///     let writer = UdpSocket::bind("127.0.0.1:0").await?;
    ///     writer.send_to(b"ping", reader.local_addr()?).await?;
    ///     reader.readable().await?;
    ///     assert_eq!(reader.try_peek_sender()?, writer.local_addr()?);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        let registration = self.io.registration();
        registration.try_io(Interest::READABLE, || self.sender())
    }

    fn sender(&self) -> io::Result<SocketAddr> {
        self.io.try_io(|| {
            let sender = socket2::SockRef::from(self).peek_sender()?;
            let address = sender.as_socket();
            address.ok_or_else(|| io::Error::other("sender not available"))
        })
    }
}
