//! Receiving datagrams without removing them from the queue.
//!
//! Windows returns an error if the buffer is too small for the whole datagram.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use super::UdpSocket;
use crate::io::{Interest, ReadBuf};
use crate::net::datagram::Datagram;
use crate::net::fill::fill;

const RECEIVE: Interest = <mio::net::UdpSocket as Datagram>::RECEIVE;

impl UdpSocket {
    /// Receives the next datagram without removing it from the queue, and returns the number of bytes that it put into
    /// `buf`. The rest of a longer datagram is omitted.
    ///
    /// # Errors
    /// The system's. If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe.
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
        registration.async_io(RECEIVE, || self.io.peek(buf)).await
    }

    /// Polls [`peek`](Self::peek). Only the task that polled for receiving last is woken.
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
            // SAFETY: mio peeks by one system call, which only writes to the buffer and returns how much it wrote.
            unsafe { fill(buf, |free| self.io.peek(free).map(|count| (count, ()))) }
        }));
        Poll::Ready(peeked.map(drop))
    }

    /// Like [`peek`](Self::peek), but does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is no datagram, or the socket is not known to be readable: await
    /// [`readable`](Self::readable) first. Otherwise the system's error.
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

    /// Like [`peek`](Self::peek), but also returns the sender's address.
    ///
    /// # Errors
    /// The system's. If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe.
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
        registration.async_io(RECEIVE, peek).await
    }

    /// Polls [`peek_from`](Self::peek_from). Only the task that polled for receiving last is woken.
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
            // SAFETY: mio peeks by one system call, which only writes to the buffer and returns how much it wrote.
            unsafe { fill(buf, |free| self.io.peek_from(free)) }
        }));
        Poll::Ready(peeked.map(|(_, sender)| sender))
    }

    /// Like [`peek_from`](Self::peek_from), but does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is no datagram, or the socket is not known to be readable: await
    /// [`readable`](Self::readable) first. Otherwise the system's error.
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

    /// Returns the sender's address of the next datagram, which stays in the queue.
    ///
    /// # Errors
    /// The system's. If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe.
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
        registration.async_io(RECEIVE, || self.sender()).await
    }

    /// Polls [`peek_sender`](Self::peek_sender). Only the task that polled for receiving last is woken.
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

    /// Like [`peek_sender`](Self::peek_sender), but does not wait.
    ///
    /// # Errors
    /// `WouldBlock` if there is no datagram, or the socket is not known to be readable: await
    /// [`readable`](Self::readable) first. Otherwise the system's error.
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
