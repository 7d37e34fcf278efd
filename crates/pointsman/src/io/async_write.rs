//! [`AsyncWrite`], and its implementations for in-memory writers of the standard library.
//!
//! Invariant: the implementations for references, boxes and pins forward every method.

use std::io::{self, IoSlice, Write};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Writes bytes asynchronously; the counterpart of [`std::io::Write`].
///
/// Types that accept bytes implement this trait; programs call the methods of `AsyncWriteExt` (feature `io-util`).
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
    /// Attempts to write bytes from the start of `buf`. Returns how many were accepted.
    ///
    /// 0 for a buffer that is not empty means that the writer accepts no more bytes. If it returns `Poll::Pending`,
    /// nothing was accepted, and the task is woken when it should poll again.
    ///
    /// # Errors
    /// If the writer fails; no byte was accepted then. An implementation returns `Poll::Pending` instead of
    /// [`io::ErrorKind::WouldBlock`], and retries or waits after [`io::ErrorKind::Interrupted`].
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

    /// Attempts to flush all buffered bytes to their destination.
    ///
    /// If it returns `Poll::Pending`, the task is woken when it should poll again.
    ///
    /// # Errors
    /// If the writer fails.
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

    /// Attempts to shut down the writer: flushes it and signals the end to the other side, if there is one.
    ///
    /// A protocol may exchange messages for this, so it may return `Poll::Pending`; the task is then woken when it
    /// should poll again. Once it is ready, the writer can be dropped without losing data. A write after the first call
    /// may fail.
    ///
    /// # Errors
    /// If the writer fails. It should be dropped then.
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

    /// As [`poll_write`](Self::poll_write), from several buffers as if they were one. The default implementation writes
    /// from the first one that is not empty.
    ///
    /// # Errors
    /// If [`poll_write`](Self::poll_write) fails.
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

    /// Returns true if [`poll_write_vectored`](Self::poll_write_vectored) accepts bytes from more than one buffer. If
    /// not, the caller may prefer to concatenate the buffers.
    ///
    /// ```
    /// # use pointsman::io::AsyncWrite;
    /// assert!(Vec::new().is_write_vectored());
    /// ```
    fn is_write_vectored(&self) -> bool {
        false
    }
}

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

/// Implements the trait for writers of the standard library that write to memory.
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
