//! Pipes in memory, in one direction and in both.
//!
//! Invariant: a pipe never holds more than it was made for. Who waits for room or for bytes is woken once
//! there are some, or once the other side is gone, and never while the pipe of a [`DuplexStream`] is locked:
//! what a waker does may use the pipe.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, BytesMut};

use crate::io::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf, split};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::task::coop;

/// A pipe in memory: what is written to it is read from it.
///
/// [`simplex`] makes one in two halves. A reader waits for bytes, and a writer for room; one of each can.
/// Shutdown closes it: what is in it can still be read, then it is at its end, and writing fails with
/// [`ErrorKind::BrokenPipe`](io::ErrorKind::BrokenPipe).
///
/// ```
/// use pointsman::io::{AsyncReadExt, AsyncWriteExt, SimplexStream};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
/// let mut pipe = SimplexStream::new_unsplit(64);
/// pipe.write_all(b"hello").await?;
/// pipe.shutdown().await?;
///
/// let mut text = String::new();
/// pipe.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SimplexStream {
    bytes: BytesMut,
    limit: usize,
    is_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Wakers that have left a pipe, until it is not locked any more.
#[derive(Default)]
struct Wakers {
    /// To be woken.
    woken: Option<Waker>,
    /// Only to be dropped, which may run anything, too.
    _replaced: Option<Waker>,
}

impl Drop for Wakers {
    fn drop(&mut self) {
        if let Some(waker) = self.woken.take() {
            waker.wake();
        }
    }
}

/// Puts the task's waker into `slot`, and returns what was there.
fn register(slot: &mut Option<Waker>, cx: &Context<'_>) -> Option<Waker> {
    match slot {
        Some(waker) if waker.will_wake(cx.waker()) => None,
        slot => slot.replace(cx.waker().clone()),
    }
}

impl SimplexStream {
    /// A pipe that holds up to `max_buf_size` bytes, in one piece.
    ///
    /// # Panics
    /// If that is zero.
    ///
    /// ```
    /// # use pointsman::io::{AsyncWriteExt, SimplexStream};
    /// # futures::executor::block_on(async {
    /// let mut pipe = SimplexStream::new_unsplit(3);
    /// assert_eq!(pipe.write(b"hello").await.unwrap(), 3);
    /// # });
    /// ```
    #[track_caller]
    pub fn new_unsplit(max_buf_size: usize) -> SimplexStream {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        SimplexStream {
            bytes: BytesMut::new(),
            limit: max_buf_size,
            is_closed: false,
            reader: None,
            writer: None,
        }
    }

    /// Reads, and leaves it to the caller to drop `wakers`.
    fn read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        wakers: &mut Wakers,
    ) -> Poll<io::Result<()>> {
        let budget = ready!(coop::poll_proceed(cx));
        let len = self.bytes.len().min(buf.remaining());
        if len > 0 {
            buf.put_slice(&self.bytes[..len]);
            self.bytes.advance(len);
            wakers.woken = self.writer.take();
        } else if buf.remaining() > 0 && !self.is_closed {
            wakers._replaced = register(&mut self.reader, cx);
            return Poll::Pending;
        }
        budget.made_progress();
        Poll::Ready(Ok(()))
    }

    /// Writes, and leaves it to the caller to drop `wakers`.
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        wakers: &mut Wakers,
    ) -> Poll<io::Result<usize>> {
        let budget = ready!(coop::poll_proceed(cx));
        let before = self.bytes.len();
        if self.is_closed {
            budget.made_progress();
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        for buf in bufs {
            let len = buf.len().min(self.limit - self.bytes.len());
            self.bytes.extend_from_slice(&buf[..len]);
        }
        let written = self.bytes.len() - before;
        if written > 0 {
            wakers.woken = self.reader.take();
        } else if bufs.iter().any(|buf| !buf.is_empty()) {
            wakers._replaced = register(&mut self.writer, cx);
            return Poll::Pending;
        }
        budget.made_progress();
        Poll::Ready(Ok(written))
    }

    /// Nothing more is written.
    fn close_write(&mut self) -> Option<Waker> {
        self.is_closed = true;
        self.reader.take()
    }

    /// Nothing more is read.
    fn close_read(&mut self) -> Option<Waker> {
        self.is_closed = true;
        self.writer.take()
    }
}

impl AsyncRead for SimplexStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.read(cx, buf, &mut Wakers::default())
    }
}

impl AsyncWrite for SimplexStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, &[IoSlice::new(buf)], &mut Wakers::default())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, bufs, &mut Wakers::default())
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(reader) = self.close_write() {
            reader.wake();
        }
        Poll::Ready(Ok(()))
    }
}

/// A pipe in memory that holds up to `max_buf_size` bytes, and its two ends.
///
/// Dropping one end does not close it: the writer shuts it down.
///
/// # Panics
/// If `max_buf_size` is zero.
///
/// ```
/// use pointsman::io::{AsyncReadExt, AsyncWriteExt, simplex};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
/// let (mut reader, mut writer) = simplex(64);
/// writer.write_all(b"hello").await?;
/// writer.shutdown().await?;
///
/// let mut text = String::new();
/// reader.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn simplex(max_buf_size: usize) -> (ReadHalf<SimplexStream>, WriteHalf<SimplexStream>) {
    split(SimplexStream::new_unsplit(max_buf_size))
}

/// One of two ends of [`duplex`]: what is written to it is read from the other.
///
/// When one is dropped, the other one can read what was written before; then it is at its end. Writing to it
/// fails with [`ErrorKind::BrokenPipe`](io::ErrorKind::BrokenPipe) at once, also for who waits for room.
///
/// ```
/// use pointsman::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
/// let (mut client, mut server): (DuplexStream, DuplexStream) = duplex(64);
/// client.write_all(b"ping").await?;
///
/// let mut message = [0; 4];
/// server.read_exact(&mut message).await?;
/// assert_eq!(&message, b"ping");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DuplexStream {
    read: Arc<Mutex<SimplexStream>>,
    write: Arc<Mutex<SimplexStream>>,
}

/// Two streams in memory that are connected as two sockets are. Each direction holds up to `max_buf_size`
/// bytes.
///
/// # Panics
/// If `max_buf_size` is zero.
///
/// ```
/// use pointsman::io::{AsyncReadExt, AsyncWriteExt, duplex};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
/// let (mut client, server) = duplex(64);
/// drop(server);
/// assert!(client.write(b"ping").await.is_err());
/// assert_eq!(client.read(&mut [0; 4]).await?, 0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn duplex(max_buf_size: usize) -> (DuplexStream, DuplexStream) {
    let one = Arc::new(Mutex::new(SimplexStream::new_unsplit(max_buf_size)));
    let two = Arc::new(Mutex::new(SimplexStream::new_unsplit(max_buf_size)));
    let (read, write) = (Arc::clone(&two), Arc::clone(&one));
    (
        DuplexStream {
            read: one,
            write: two,
        },
        DuplexStream { read, write },
    )
}

impl AsyncRead for DuplexStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut wakers = Wakers::default();
        lock(&self.read).read(cx, buf, &mut wakers)
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut wakers = Wakers::default();
        lock(&self.write).write(cx, bufs, &mut wakers)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let reader = lock(&self.write).close_write();
        if let Some(reader) = reader {
            reader.wake();
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for DuplexStream {
    fn drop(&mut self) {
        let reader = lock(&self.write).close_write();
        let writer = lock(&self.read).close_read();
        for waker in [reader, writer].into_iter().flatten() {
            waker.wake();
        }
    }
}
