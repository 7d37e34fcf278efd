//! A reader without bytes, and writers that discard all bytes.
//!
//! Invariant: each call that is ready costs one unit of the task's budget, so that a loop over these does not starve
//! other tasks.

use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::task::coop;

/// Takes one unit of the budget, for a call that always makes progress.
pub(super) fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    ready!(coop::poll_proceed(cx)).made_progress();
    Poll::Ready(())
}

/// A reader at its end and a writer that discards all bytes, created by [`empty`].
///
/// ```
/// # use pointsman::io::{AsyncReadExt, Empty, empty};
/// # futures::executor::block_on(async {
/// let mut nothing: Empty = empty();
/// assert_eq!(nothing.read(&mut [0; 8]).await.unwrap(), 0);
/// # });
/// ```
pub struct Empty(());

/// Creates a reader that is always at its end and a writer that discards all bytes.
///
/// ```
/// use pointsman::io::{AsyncReadExt, AsyncWriteExt, empty};
///
/// # futures::executor::block_on(async {
/// let mut text = String::new();
/// empty().read_to_string(&mut text).await.unwrap();
/// assert_eq!(text, "");
/// assert_eq!(empty().write(b"hello").await.unwrap(), 5);
/// # });
/// ```
pub fn empty() -> Empty {
    Empty(())
}

/// A writer that discards all bytes, created by [`sink`].
///
/// ```
/// # use pointsman::io::{AsyncWriteExt, Sink, sink};
/// # futures::executor::block_on(async {
/// let mut nowhere: Sink = sink();
/// nowhere.write_all(b"hello").await.unwrap();
/// # });
/// ```
pub struct Sink(());

/// Creates a writer that discards all bytes.
///
/// ```
/// use pointsman::io::{AsyncWriteExt, sink};
///
/// # futures::executor::block_on(async {
/// assert_eq!(sink().write(b"hello").await.unwrap(), 5);
/// # });
/// ```
pub fn sink() -> Sink {
    Sink(())
}

macro_rules! forgetful {
    ($($type:ident)*) => {$(
        impl AsyncWrite for $type {
            #[inline]
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                poll_proceed(cx).map(|()| Ok(buf.len()))
            }

            #[inline]
            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                poll_proceed(cx).map(|()| Ok(bufs.iter().map(|buf| buf.len()).sum()))
            }

            #[inline]
            fn is_write_vectored(&self) -> bool {
                true
            }

            #[inline]
            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                poll_proceed(cx).map(Ok)
            }

            #[inline]
            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                poll_proceed(cx).map(Ok)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}

forgetful!(Empty Sink);

impl AsyncRead for Empty {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        poll_proceed(cx).map(Ok)
    }
}

impl AsyncBufRead for Empty {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        poll_proceed(cx).map(|()| Ok(&[][..]))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, _: usize) {}
}

impl AsyncSeek for Empty {
    #[inline]
    fn start_seek(self: Pin<&mut Self>, _: SeekFrom) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        poll_proceed(cx).map(|()| Ok(0))
    }
}
