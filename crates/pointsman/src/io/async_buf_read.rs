//! [`AsyncBufRead`], and its implementation for readers of the standard library that have a buffer.

use std::io::{self, BufRead};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::AsyncRead;

/// Reads bytes asynchronously through an internal buffer; the counterpart of [`std::io::BufRead`].
///
/// Programs call the methods of `AsyncBufReadExt` (feature `io-util`), and add a buffer with `BufReader`.
///
/// ```
/// use std::future::poll_fn;
/// use std::pin::Pin;
/// use pointsman::io::AsyncBufRead;
///
/// # futures::executor::block_on(async {
/// let mut source = std::io::Cursor::new("hello");
/// let first = poll_fn(|cx| {
///     Pin::new(&mut source).poll_fill_buf(cx).map_ok(|bytes| bytes[0])
/// })
/// .await
/// .unwrap();
/// assert_eq!(first, b'h');
/// Pin::new(&mut source).consume(1);
/// assert_eq!(source.position(), 1);
/// # });
/// ```
pub trait AsyncBufRead: AsyncRead {
    /// Returns the contents of the buffer, and fills it first if it is empty. An empty slice means the end.
    ///
    /// The same bytes are returned until [`consume`](Self::consume) removes them. If it returns `Poll::Pending`, the
    /// task is woken when it should poll again.
    ///
    /// # Errors
    /// If the reader fails.
    ///
    /// ```
    /// # use std::{future::poll_fn, pin::Pin};
    /// # use pointsman::io::AsyncBufRead;
    /// # futures::executor::block_on(async {
    /// let mut source = &b""[..];
    /// let at_end = poll_fn(|cx| {
    ///     Pin::new(&mut source).poll_fill_buf(cx).map_ok(<[u8]>::is_empty)
    /// })
    /// .await
    /// .unwrap();
    /// assert!(at_end);
    /// # });
    /// ```
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>>;

    /// Marks `amt` bytes of the buffer as read.
    ///
    /// `amt` must not exceed the length of the slice that [`poll_fill_buf`](Self::poll_fill_buf) returned.
    ///
    /// ```
    /// # use std::pin::Pin;
    /// # use pointsman::io::AsyncBufRead;
    /// let mut source = &b"hello"[..];
    /// Pin::new(&mut source).consume(4);
    /// assert_eq!(source, b"o");
    /// ```
    fn consume(self: Pin<&mut Self>, amt: usize);
}

macro_rules! forward_buf_read {
    ($self:ident => $inner:expr) => {
        fn poll_fill_buf($self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
            $inner.poll_fill_buf(cx)
        }

        fn consume($self: Pin<&mut Self>, amt: usize) {
            $inner.consume(amt);
        }
    };
}

#[cfg(feature = "io-util")]
pub(super) use forward_buf_read;

impl<T: ?Sized + AsyncBufRead + Unpin> AsyncBufRead for Box<T> {
    forward_buf_read!(self => Pin::new(&mut **self.get_mut()));
}

impl<T: ?Sized + AsyncBufRead + Unpin> AsyncBufRead for &mut T {
    forward_buf_read!(self => Pin::new(&mut **self.get_mut()));
}

impl<P> AsyncBufRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncBufRead,
{
    forward_buf_read!(self => self.as_deref_mut());
}

impl AsyncBufRead for &[u8] {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(*self))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        BufRead::consume(self.get_mut(), amt);
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncBufRead for io::Cursor<T> {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(self.get_mut().fill_buf())
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        BufRead::consume(self.get_mut(), amt);
    }
}
