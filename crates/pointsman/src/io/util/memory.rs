//! In-memory pipes.
//!
//! Invariant: a pipe holds at most its capacity. A waiting reader or writer is woken when there are bytes or space, or
//! when the other side is dropped, and never while the lock of a [`DuplexStream`] is held: a waker may use the pipe.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, BytesMut};

use crate::io::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf, split};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::task::activity::{WaitKind, note_wait};
use crate::task::coop;

/// An in-memory pipe: bytes that are written to it can be read from it.
///
/// [`simplex`] creates one that is split into two halves. At most one reader waits for bytes, and one writer for space.
/// A shutdown closes the pipe: the bytes in it can still be read, then it ends, and writing fails with
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

/// Wakers to use after the pipe is unlocked.
#[derive(Default)]
struct Wakers {
    woken: Option<Waker>,
    /// To drop, which may run user code too.
    _replaced: Option<Waker>,
}

impl Drop for Wakers {
    fn drop(&mut self) {
        if let Some(waker) = self.woken.take() {
            waker.wake();
        }
    }
}

/// Stores the task's waker in `slot`. Returns the previous one.
fn register(slot: &mut Option<Waker>, cx: &Context<'_>) -> Option<Waker> {
    note_wait(WaitKind::Io, std::ptr::from_ref(slot).addr(), cx.waker());
    match slot {
        Some(waker) if waker.will_wake(cx.waker()) => None,
        slot => slot.replace(cx.waker().clone()),
    }
}

impl SimplexStream {
    /// Creates a pipe that holds up to `max_buf_size` bytes, in one piece.
    ///
    /// # Panics
    /// If `max_buf_size` is 0.
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

    /// Reads. The caller drops `wakers` after unlocking.
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

    /// Writes. The caller drops `wakers` after unlocking.
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

    /// Called when the writer is closed.
    fn close_write(&mut self) -> Option<Waker> {
        self.is_closed = true;
        self.reader.take()
    }

    /// Called when the reader is closed.
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

/// Creates an in-memory pipe that holds up to `max_buf_size` bytes, and returns its two ends.
///
/// Dropping an end does not close the pipe; `shutdown` of the writer does.
///
/// # Panics
/// If `max_buf_size` is 0.
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

/// One end of [`duplex`]: bytes that are written to it can be read from the other end.
///
/// After one end is dropped, the other can read the bytes that were written before and then reaches its end. Writing to
/// it fails with [`ErrorKind::BrokenPipe`](io::ErrorKind::BrokenPipe), also if the writer already waits for space.
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

/// Creates two connected in-memory streams, like a pair of sockets. Each direction holds up to `max_buf_size` bytes.
///
/// # Panics
/// If `max_buf_size` is 0.
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
