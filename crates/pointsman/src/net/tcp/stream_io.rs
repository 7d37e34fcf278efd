//! Readiness of a TCP stream, and reading and writing without waiting.

use std::io::{self, IoSlice, IoSliceMut};
use std::task::{Context, Poll};

use super::stream::TcpStream;
use crate::io::{Interest, Ready};

impl TcpStream {
    /// Waits until the stream is ready for one of the given interests, and returns which.
    ///
    /// Readiness is a hint: the operation may still fail with `WouldBlock`, which clears the readiness if a `try_` method
    /// returned it.
    ///
    /// # Errors
    /// If the runtime that the stream belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: the readiness is kept for the next call.
    ///
    /// ```
    /// use pointsman::io::Interest;
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let writer = TcpStream::connect(listener.local_addr()?).await?;
    ///     let ready = writer.ready(Interest::WRITABLE).await?;
    ///     assert!(ready.is_writable());
    ///     Ok(())
    /// }
    /// ```
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.source().ready(interest).await
    }

    /// Waits until the stream is readable, usually to call [`try_read`](Self::try_read) next.
    ///
    /// The call may still fail with `WouldBlock`; then wait again.
    ///
    /// # Errors
    /// If the runtime that the stream belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: the readiness is kept for the next call.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let writer = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (reader, _) = listener.accept().await?;
    ///     writer.try_write(b"ping")?;
    ///     let mut buf = [0; 16];
    ///     let count = loop {
    ///         reader.readable().await?;
    ///         match reader.try_read(&mut buf) {
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

    /// Waits until the stream is writable, usually to call [`try_write`](Self::try_write) next.
    ///
    /// The call may still fail with `WouldBlock`; then wait again.
    ///
    /// # Errors
    /// If the runtime that the stream belongs to shuts down.
    ///
    /// # Cancel safety
    /// Cancel safe: the readiness is kept for the next call.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let writer = TcpStream::connect(listener.local_addr()?).await?;
    ///     writer.writable().await?;
    ///     assert_eq!(writer.try_write(b"ping")?, 4);
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
    /// If the runtime that the stream belongs to shuts down.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source().poll_readable(cx)
    }

    /// Polls for writability.
    ///
    /// Only the task that polled last is woken; [`writable`](Self::writable) supports any number of tasks.
    ///
    /// # Errors
    /// If the runtime that the stream belongs to shuts down.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source().poll_writable(cx)
    }

    /// Reads the bytes that are available, without waiting, and returns their number. `Ok(0)` means the end of the stream, or
    /// an empty buffer.
    ///
    /// # Errors
    /// `WouldBlock` if there are none, or the stream is not known to be readable: await [`readable`](Self::readable) first.
    /// Otherwise the system's error.
    ///
    /// ```
    /// use pointsman::net::{TcpListener, TcpStream};
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let writer = TcpStream::connect(listener.local_addr()?).await?;
    ///     let (reader, _) = listener.accept().await?;
    ///     writer.try_write(b"ping")?;
    ///     reader.readable().await?;
    ///     let mut buf = [0; 4];
    ///     assert_eq!(reader.try_read(&mut buf)?, 4);
    ///     assert_eq!(&buf, b"ping");
    ///     Ok(())
    /// }
    /// ```
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.source().try_read(buf)
    }

    /// Like [`try_read`](Self::try_read), but fills several buffers in order.
    ///
    /// # Errors
    /// Those of [`try_read`](Self::try_read).
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.source().try_read_vectored(bufs)
    }

    /// Like [`try_read`](Self::try_read), but appends to the spare capacity of `buf` and advances it.
    ///
    /// # Errors
    /// Those of [`try_read`](Self::try_read).
    #[cfg(feature = "io-util")]
    pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        // SAFETY: mio's stream reads by one system call, which only writes to the buffer and returns how much it wrote.
        unsafe { self.source().try_read_buf(buf) }
    }

    /// Writes as many bytes as the system accepts, without waiting, and returns their number.
    ///
    /// # Errors
    /// `WouldBlock` if it accepts none, or the stream is not known to be writable: await [`writable`](Self::writable) first.
    /// Otherwise the system's error.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.source().try_write(buf)
    }

    /// Like [`try_write`](Self::try_write), but writes several buffers in order.
    ///
    /// # Errors
    /// Those of [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.source().try_write_vectored(bufs)
    }

    /// Runs a system call of the caller's if the stream is known to be ready for it.
    ///
    /// The call must not block and must be on this descriptor and of this interest. If it returns `WouldBlock`, the
    /// readiness is cleared; returning that for another reason makes other tasks wait in vain.
    ///
    /// # Errors
    /// `WouldBlock` without calling `f` if the stream is not known to be ready. Otherwise the error of `f`.
    ///
    /// ```
    /// use pointsman::io::Interest;
    /// use pointsman::net::{TcpListener, TcpStream};
    /// use socket2::SockRef;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let writer = TcpStream::connect(listener.local_addr()?).await?;
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

    /// Runs a system call of the caller's each time the stream is ready for it, until the call returns anything but
    /// `WouldBlock`.
    ///
    /// The call must not block and must be on this descriptor and of this interest. Any number of tasks may wait.
    ///
    /// # Errors
    /// If the runtime that the stream belongs to shuts down. Otherwise the error of `f`.
    ///
    /// # Cancel safety
    /// Cancel safe: a cancelled call runs `f` no more.
    ///
    /// ```
    /// use pointsman::io::Interest;
    /// use pointsman::net::{TcpListener, TcpStream};
    /// use socket2::SockRef;
    ///
    /// #[pointsman::main]
    /// async fn main() -> std::io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let writer = TcpStream::connect(listener.local_addr()?).await?;
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
