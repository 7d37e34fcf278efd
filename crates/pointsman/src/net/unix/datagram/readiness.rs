//! Readiness of a Unix datagram socket, and system calls of the caller's.

use std::io;
use std::task::{Context, Poll};

use super::socket::UnixDatagram;
use crate::io::{Interest, Ready};

impl UnixDatagram {
    /// Waits until the socket is ready for one of the given interests, and returns which.
    ///
    /// Readiness is a hint: the operation may still fail with `WouldBlock`, which clears the readiness if a `try_` method
    /// returned it.
    ///
    /// # Errors
    /// If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: the readiness is kept for the next call.
    ///
    /// ```
    /// use pointsman::io::Interest;
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (_reader, writer) = UnixDatagram::pair()?;
    ///     let ready = writer.ready(Interest::WRITABLE).await?;
    ///     assert!(ready.is_writable());
    ///     Ok(())
    /// }
    /// ```
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.source().ready(interest).await
    }

    /// Waits until the socket is readable, usually to call [`try_recv`](Self::try_recv) next.
    ///
    /// The call may still fail with `WouldBlock`; then wait again.
    ///
    /// # Errors
    /// If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: the readiness is kept for the next call.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (reader, writer) = UnixDatagram::pair()?;
    ///     writer.send(b"ping").await?;
    ///     let mut buf = [0; 16];
    ///     let count = loop {
    ///         reader.readable().await?;
    ///         match reader.try_recv(&mut buf) {
    ///             Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
    ///             result => break result?,
    ///         }
    ///     };
    ///     assert_eq!(&buf[..count], b"ping");
    ///     Ok(())
    /// }
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.source().readable().await
    }

    /// Waits until the socket is writable, usually to call [`try_send`](Self::try_send) next.
    ///
    /// The call may still fail with `WouldBlock`; then wait again.
    ///
    /// # Errors
    /// If the runtime that the socket belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: the readiness is kept for the next call.
    ///
    /// ```
    /// use pointsman::net::UnixDatagram;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (_reader, writer) = UnixDatagram::pair()?;
    ///     writer.writable().await?;
    ///     assert_eq!(writer.try_send(b"ping")?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.source().writable().await
    }

    /// Polls for readability.
    ///
    /// Only the task that polled last is woken; [`readable`](Self::readable) supports any number of tasks.
    ///
    /// # Errors
    /// If the runtime that the socket belongs to shuts down.
    pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source().poll_readable(cx)
    }

    /// Polls for writability.
    ///
    /// Only the task that polled last is woken; [`writable`](Self::writable) supports any number of tasks.
    ///
    /// # Errors
    /// If the runtime that the socket belongs to shuts down.
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source().poll_writable(cx)
    }

    /// Runs a system call of the caller's if the socket is known to be ready for it.
    ///
    /// The call must not block and must be on this descriptor and of this interest. If it returns `WouldBlock`, the
    /// readiness is cleared; returning that for another reason makes other tasks wait in vain.
    ///
    /// # Errors
    /// `WouldBlock` without calling `f` if the socket is not known to be ready. Otherwise the error of `f`.
    ///
    /// ```
    /// use pointsman::io::Interest;
    /// use pointsman::net::UnixDatagram;
    /// use socket2::SockRef;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (_reader, writer) = UnixDatagram::pair()?;
    ///     writer.writable().await?;
    ///     let send = || SockRef::from(&writer).send(b"ping");
    ///     assert_eq!(writer.try_io(Interest::WRITABLE, send)?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let io = self.source();
        io.registration().try_io(interest, || io.try_io(f))
    }

    /// Runs a system call of the caller's each time the socket is ready for it, until the call returns anything but
    /// `WouldBlock`.
    ///
    /// The call must not block and must be on this descriptor and of this interest. Any number of tasks may wait.
    ///
    /// # Errors
    /// If the runtime that the socket belongs to shuts down. Otherwise the error of `f`.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call runs `f` no more.
    ///
    /// ```
    /// use pointsman::io::Interest;
    /// use pointsman::net::UnixDatagram;
    /// use socket2::SockRef;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let (_reader, writer) = UnixDatagram::pair()?;
    ///     let send = || SockRef::from(&writer).send(b"ping");
    ///     assert_eq!(writer.async_io(Interest::WRITABLE, send).await?, 4);
    ///     Ok(())
    /// }
    /// ```
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let io = self.source();
        let result = io.registration().async_io(interest, || io.try_io(&mut f));
        result.await
    }
}
