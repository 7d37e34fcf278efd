//! A reader that repeats one byte.
//!
//! Invariant: each read costs one unit of the task's budget, as in `empty`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BufMut;

use super::empty::poll_proceed;
use crate::io::{AsyncRead, ReadBuf};

/// A reader that repeats one byte, created by [`repeat`].
///
/// ```
/// # use pointsman::io::{AsyncReadExt, Repeat, repeat};
/// # futures::executor::block_on(async {
/// let mut sevens: Repeat = repeat(7);
/// assert_eq!(sevens.read_u8().await.unwrap(), 7);
/// # });
/// ```
#[derive(Debug)]
pub struct Repeat {
    byte: u8,
}

/// Creates a reader that repeats `byte` without end.
///
/// ```
/// use pointsman::io::{AsyncReadExt, repeat};
///
/// # futures::executor::block_on(async {
/// let mut bytes = [0; 3];
/// repeat(7).read_exact(&mut bytes).await.unwrap();
/// assert_eq!(bytes, [7, 7, 7]);
/// # });
/// ```
pub fn repeat(byte: u8) -> Repeat {
    Repeat { byte }
}

impl AsyncRead for Repeat {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(poll_proceed(cx));
        buf.put_bytes(self.byte, buf.remaining());
        Poll::Ready(Ok(()))
    }
}
