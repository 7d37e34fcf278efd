//! [`AsyncSeek`], and its implementation for the standard library's cursor.

use std::io::{self, Seek, SeekFrom};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Seeks within a stream asynchronously, in two steps; the counterpart of [`std::io::Seek`].
///
/// Programs call the methods of `AsyncSeekExt` (feature `io-util`).
///
/// ```
/// use std::future::poll_fn;
/// use std::io::Cursor;
/// use std::pin::Pin;
/// use pointsman::io::{AsyncSeek, SeekFrom};
///
/// # futures::executor::block_on(async {
/// let mut file = Cursor::new("hello");
/// Pin::new(&mut file).start_seek(SeekFrom::End(-2)).unwrap();
/// let at = poll_fn(|cx| Pin::new(&mut file).poll_complete(cx)).await;
/// assert_eq!(at.unwrap(), 3);
/// # });
/// ```
pub trait AsyncSeek {
    /// Starts a seek to `position`. [`poll_complete`](Self::poll_complete) waits until it is done.
    ///
    /// A position beyond the end is allowed; its meaning depends on the implementation.
    ///
    /// # Errors
    /// If the seek cannot start, for example while another operation is in progress. Call
    /// [`poll_complete`](Self::poll_complete) first to wait for it.
    ///
    /// ```
    /// # use std::{io::Cursor, pin::Pin};
    /// # use pointsman::io::{AsyncSeek, ErrorKind, SeekFrom};
    /// let mut file = Cursor::new("hello");
    /// let before_its_start = Pin::new(&mut file).start_seek(SeekFrom::Current(-1));
    /// assert_eq!(before_its_start.unwrap_err().kind(), ErrorKind::InvalidInput);
    /// ```
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()>;

    /// Waits for the seek in progress and returns the new position, in bytes from the start. If no seek is in progress,
    /// the returned position is unspecified.
    ///
    /// If it returns `Poll::Pending`, the task is woken when it should poll again.
    ///
    /// # Errors
    /// If the seek fails.
    ///
    /// ```
    /// # use std::{future::poll_fn, io::Cursor, pin::Pin};
    /// # use pointsman::io::{AsyncSeek, SeekFrom};
    /// # futures::executor::block_on(async {
    /// let mut file = Cursor::new("hello");
    /// Pin::new(&mut file).start_seek(SeekFrom::Start(2)).unwrap();
    /// let at = poll_fn(|cx| Pin::new(&mut file).poll_complete(cx)).await;
    /// assert_eq!(at.unwrap(), 2);
    /// # });
    /// ```
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>>;
}

macro_rules! forward_seek {
    ($self:ident => $inner:expr) => {
        fn start_seek($self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
            $inner.start_seek(position)
        }

        fn poll_complete($self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
            $inner.poll_complete(cx)
        }
    };
}

#[cfg(feature = "io-util")]
pub(super) use forward_seek;

impl<T: ?Sized + AsyncSeek + Unpin> AsyncSeek for Box<T> {
    forward_seek!(self => Pin::new(&mut **self.get_mut()));
}

impl<T: ?Sized + AsyncSeek + Unpin> AsyncSeek for &mut T {
    forward_seek!(self => Pin::new(&mut **self.get_mut()));
}

impl<P> AsyncSeek for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncSeek,
{
    forward_seek!(self => self.as_deref_mut());
}

impl<T: AsRef<[u8]> + Unpin> AsyncSeek for io::Cursor<T> {
    #[inline]
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.get_mut().seek(position).map(drop)
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position()))
    }
}
