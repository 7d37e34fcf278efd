//! [`AsyncRead`], and its implementations for in-memory readers of the standard library.
//!
//! Invariant: the reader behind a reference, a box or a pin sees each poll unchanged.

use std::io::{self, BufRead};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::ReadBuf;

/// Reads bytes asynchronously; the counterpart of [`std::io::Read`].
///
/// Types that provide bytes implement this trait; programs call the methods of `AsyncReadExt` (feature `io-util`).
///
/// ```
/// use std::future::poll_fn;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
/// use pointsman::io::{self, AsyncRead, ReadBuf};
///
/// /// Counts up for ever.
/// struct Count(u8);
///
/// impl AsyncRead for Count {
///     fn poll_read(
///         mut self: Pin<&mut Self>,
///         _: &mut Context<'_>,
///         buf: &mut ReadBuf<'_>,
///     ) -> Poll<io::Result<()>> {
///         while buf.remaining() > 0 {
///             buf.put_slice(&[self.0]);
///             self.0 = self.0.wrapping_add(1);
///         }
///         Poll::Ready(Ok(()))
///     }
/// }
///
/// # futures::executor::block_on(async {
/// let (mut count, mut bytes) = (Count(1), [0; 3]);
/// let mut buf = ReadBuf::new(&mut bytes);
/// poll_fn(|cx| Pin::new(&mut count).poll_read(cx, &mut buf)).await.unwrap();
/// assert_eq!(buf.filled(), [1, 2, 3]);
/// # });
/// ```
pub trait AsyncRead {
    /// Attempts to read into the unfilled part of `buf`.
    ///
    /// Returns `Poll::Ready(Ok(()))` and advances `buf` by the bytes that were read. If `buf` is not advanced although
    /// it has space, the reader has reached its end. Returns `Poll::Pending` if no bytes are available; nothing was
    /// read then, and the task is woken when it should poll again.
    ///
    /// An implementation must not fill more than the remaining space of `buf`, and must not unfill any part.
    ///
    /// # Errors
    /// If the reader fails. An implementation returns `Poll::Pending` instead of [`io::ErrorKind::WouldBlock`], and
    /// retries or waits after [`io::ErrorKind::Interrupted`].
    ///
    /// ```
    /// # use std::{future::poll_fn, pin::Pin};
    /// # use pointsman::io::{AsyncRead, ReadBuf};
    /// # futures::executor::block_on(async {
    /// let (mut source, mut bytes) = (&b"hello"[..], [0; 3]);
    /// let mut buf = ReadBuf::new(&mut bytes);
    /// poll_fn(|cx| Pin::new(&mut source).poll_read(cx, &mut buf)).await.unwrap();
    /// assert_eq!(buf.filled(), b"hel");
    /// assert_eq!(source, b"lo");
    /// # });
    /// ```
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;
}

macro_rules! forward_read {
    ($self:ident => $inner:expr) => {
        fn poll_read(
            $self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            $inner.poll_read(cx, buf)
        }
    };
}

#[cfg(feature = "io-util")]
pub(super) use forward_read;

impl<T: ?Sized + AsyncRead + Unpin> AsyncRead for Box<T> {
    forward_read!(self => Pin::new(&mut **self.get_mut()));
}

impl<T: ?Sized + AsyncRead + Unpin> AsyncRead for &mut T {
    forward_read!(self => Pin::new(&mut **self.get_mut()));
}

impl<P> AsyncRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncRead,
{
    forward_read!(self => self.as_deref_mut());
}

fn read(from: &mut impl BufRead, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    let rest = from.fill_buf()?;
    let len = rest.len().min(buf.remaining());
    buf.put_slice(&rest[..len]);
    from.consume(len);
    Poll::Ready(Ok(()))
}

impl AsyncRead for &[u8] {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        read(self.get_mut(), buf)
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncRead for io::Cursor<T> {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        read(self.get_mut(), buf)
    }
}
