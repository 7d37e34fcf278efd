//! [`AsyncWrite`], and what of the standard library writes without waiting.
//!
//! Invariant: as of [`AsyncRead`](super::AsyncRead): what forwards adds nothing, and leaves out nothing.

use std::io::{self, IoSlice, Write};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Writes bytes without blocking the thread: [`std::io::Write`] for tasks.
///
/// Programs call the methods of `AsyncWriteExt`, of the feature `io-util`. This trait is what a sink of
/// bytes implements.
///
/// ```
/// use std::future::poll_fn;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
/// use pointsman::io::{self, AsyncWrite};
///
/// /// Counts what is written.
/// struct Count(usize);
///
/// impl AsyncWrite for Count {
///     fn poll_write(
///         mut self: Pin<&mut Self>,
///         _: &mut Context<'_>,
///         buf: &[u8],
///     ) -> Poll<io::Result<usize>> {
///         self.0 += buf.len();
///         Poll::Ready(Ok(buf.len()))
///     }
///
///     fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Poll::Ready(Ok(()))
///     }
///
///     fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
///         self.poll_flush(cx)
///     }
/// }
///
/// # futures::executor::block_on(async {
/// let mut count = Count(0);
/// poll_fn(|cx| Pin::new(&mut count).poll_write(cx, b"hello")).await.unwrap();
/// assert_eq!(count.0, 5);
/// # });
/// ```
pub trait AsyncWrite {
    /// Writes the beginning of `buf`, and returns how many bytes of it were taken.
    ///
    /// Zero of a buffer that is not empty means that no more can be taken, now or ever. If this is pending,
    /// nothing was taken, and the task is woken when it should try again.
    ///
    /// # Errors
    /// Those of the sink; then nothing was taken. [`io::ErrorKind::WouldBlock`] must be pending instead, and
    /// [`io::ErrorKind::Interrupted`] another attempt.
    ///
    /// ```
    /// # use std::{future::poll_fn, io::Cursor, pin::Pin};
    /// # use pointsman::io::AsyncWrite;
    /// # futures::executor::block_on(async {
    /// let mut bytes = [0; 3];
    /// let mut sink = Cursor::new(&mut bytes[..]);
    /// let taken = poll_fn(|cx| Pin::new(&mut sink).poll_write(cx, b"hello")).await;
    /// assert_eq!(taken.unwrap(), 3);
    /// assert_eq!(&bytes, b"hel");
    /// # });
    /// ```
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>;

    /// Waits until what was written has left every buffer on its way.
    ///
    /// If this is pending, the task is woken when it should try again.
    ///
    /// # Errors
    /// Those of the sink.
    ///
    /// ```
    /// # use std::{future::poll_fn, pin::Pin};
    /// # use pointsman::io::AsyncWrite;
    /// # futures::executor::block_on(async {
    /// let mut sink = Vec::new();
    /// poll_fn(|cx| Pin::new(&mut sink).poll_flush(cx)).await.unwrap();
    /// # });
    /// ```
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Ends the stream: flushes it, and tells the other side, where there is one, that nothing follows.
    ///
    /// A protocol may exchange messages for this, so it can wait; if it is pending, the task is woken when
    /// it should try again. When it is ready, the sink can be dropped without loss. What is written after
    /// it was called may fail.
    ///
    /// # Errors
    /// Those of the sink. It should be dropped then.
    ///
    /// ```
    /// # use std::{future::poll_fn, pin::Pin};
    /// # use pointsman::io::AsyncWrite;
    /// # futures::executor::block_on(async {
    /// let mut sink = Vec::new();
    /// poll_fn(|cx| Pin::new(&mut sink).poll_shutdown(cx)).await.unwrap();
    /// # });
    /// ```
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// As [`poll_write`](Self::poll_write), from many buffers as if they were one. Unless it is
    /// overridden, it writes from the first that is not empty.
    ///
    /// # Errors
    /// As [`poll_write`](Self::poll_write).
    ///
    /// ```
    /// # use std::{future::poll_fn, io::IoSlice, pin::Pin};
    /// # use pointsman::io::AsyncWrite;
    /// # futures::executor::block_on(async {
    /// let mut sink = Vec::new();
    /// let parts = [IoSlice::new(b"hello, "), IoSlice::new(b"world")];
    /// poll_fn(|cx| Pin::new(&mut sink).poll_write_vectored(cx, &parts)).await.unwrap();
    /// assert_eq!(sink, b"hello, world");
    /// # });
    /// ```
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| buf))
    }

    /// Whether [`poll_write_vectored`](Self::poll_write_vectored) takes from more than one buffer. If not,
    /// a caller may do better to join them itself.
    ///
    /// ```
    /// # use pointsman::io::AsyncWrite;
    /// assert!(Vec::new().is_write_vectored());
    /// ```
    fn is_write_vectored(&self) -> bool {
        false
    }
}

/// The methods, by those of the stream within.
macro_rules! forward_write {
    ($self:ident => $inner:expr, $shared:expr) => {
        fn poll_write(
            $self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            $inner.poll_write(cx, buf)
        }

        fn poll_write_vectored(
            $self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            $inner.poll_write_vectored(cx, bufs)
        }

        fn is_write_vectored(&$self) -> bool {
            ($shared).is_write_vectored()
        }

        fn poll_flush($self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            $inner.poll_flush(cx)
        }

        fn poll_shutdown($self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            $inner.poll_shutdown(cx)
        }
    };
}

#[cfg(feature = "io-util")]
pub(super) use forward_write;

impl<T: ?Sized + AsyncWrite + Unpin> AsyncWrite for Box<T> {
    forward_write!(self => Pin::new(&mut **self.get_mut()), **self);
}

impl<T: ?Sized + AsyncWrite + Unpin> AsyncWrite for &mut T {
    forward_write!(self => Pin::new(&mut **self.get_mut()), **self);
}

impl<P> AsyncWrite for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncWrite,
{
    forward_write!(self => self.as_deref_mut(), **self);
}

/// What the standard library writes into memory.
macro_rules! memory {
    ($($sink:ty),*) => {$(
        impl AsyncWrite for $sink {
            #[inline]
            fn poll_write(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(self.get_mut().write(buf))
            }

            #[inline]
            fn poll_write_vectored(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(self.get_mut().write_vectored(bufs))
            }

            #[inline]
            fn is_write_vectored(&self) -> bool {
                true
            }

            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            #[inline]
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
        }
    )*};
}

memory!(
    Vec<u8>,
    io::Cursor<&mut [u8]>,
    io::Cursor<&mut Vec<u8>>,
    io::Cursor<Vec<u8>>,
    io::Cursor<Box<[u8]>>
);
