//! [`AsyncRead`], and what of the standard library reads without waiting.
//!
//! Invariant: what forwards adds nothing: the reader behind a reference, a box or a pin sees each poll as is.

use std::io::{self, BufRead};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::ReadBuf;

/// Reads bytes without blocking the thread: [`std::io::Read`] for tasks.
///
/// Programs call the methods of `AsyncReadExt`, of the feature `io-util`. This trait is what a source of
/// bytes implements.
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
    /// Reads into the unfilled part of `buf`.
    ///
    /// If it is ready without an error, `buf` has been advanced by what was read. If it was not advanced
    /// although it had room, the source is at its end. If it is pending, nothing was read, and the task is
    /// woken when it should try again.
    ///
    /// An implementation must not fill more than `buf` has room for, nor take back what is filled.
    ///
    /// # Errors
    /// Those of the source. [`io::ErrorKind::WouldBlock`] must be pending instead, and
    /// [`io::ErrorKind::Interrupted`] another attempt.
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

/// The methods, by those of the stream within.
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

/// Moves as much as fits.
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
