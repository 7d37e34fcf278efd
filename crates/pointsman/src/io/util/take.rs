//! A reader with a limit.
//!
//! Invariant: the inner reader is never asked for more bytes than the remaining limit, and not at all when it is 0.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::io::{AsyncBufRead, AsyncRead, ReadBuf};

pin_project! {
    /// A reader with a limit, created by [`AsyncReadExt::take`](crate::io::AsyncReadExt::take).
    ///
    /// ```
    /// # use pointsman::io::{AsyncReadExt, Take};
    /// # futures::executor::block_on(async {
    /// let mut first: Take<&[u8]> = b"hello, world".take(5);
    /// let mut text = String::new();
    /// first.read_to_string(&mut text).await.unwrap();
    /// assert_eq!(text, "hello");
    /// # });
    /// ```
    #[must_use = "readers do nothing unless they are read"]
    #[derive(Debug)]
    pub struct Take<R> {
        #[pin]
        inner: R,
        left: u64,
    }
}

impl<R: AsyncRead> Take<R> {
    pub(super) fn new(inner: R, limit: u64) -> Self {
        Self { inner, left: limit }
    }

    /// Returns the number of bytes that can be read before this reader ends. The inner reader may end before.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// # futures::executor::block_on(async {
    /// let mut first = b"hello".take(4);
    /// first.read_u8().await.unwrap();
    /// assert_eq!(first.limit(), 3);
    /// # });
    /// ```
    pub fn limit(&self) -> u64 {
        self.left
    }

    /// Sets the number of bytes that can be read from now on.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// let mut first = b"hello".take(4);
    /// first.set_limit(1);
    /// assert_eq!(first.limit(), 1);
    /// ```
    pub fn set_limit(&mut self, limit: u64) {
        self.left = limit;
    }

    /// Returns the inner reader.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// assert_eq!(b"hello".take(4).get_ref(), b"hello");
    /// ```
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns the inner reader, mutably. Bytes that are read from it directly do not count.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// # futures::executor::block_on(async {
    /// let mut first = b"hello".take(4);
    /// first.get_mut().read_u8().await.unwrap();
    /// assert_eq!(first.limit(), 4);
    /// # });
    /// ```
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns the inner reader, pinned and mutable.
    ///
    /// ```
    /// # use std::pin::Pin;
    /// # use pointsman::io::AsyncReadExt;
    /// let mut first = b"hello".take(4);
    /// assert_eq!(*Pin::new(&mut first).get_pin_mut(), b"hello");
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Returns the inner reader.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// # futures::executor::block_on(async {
    /// let mut first = b"hello".take(4);
    /// first.read_u8().await.unwrap();
    /// assert_eq!(first.into_inner(), b"ello");
    /// # });
    /// ```
    pub fn into_inner(self) -> R {
        self.inner
    }
}

impl<R: AsyncRead> AsyncRead for Take<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let take = self.project();
        if *take.left == 0 {
            return Poll::Ready(Ok(()));
        }
        let known = buf.initialized().len() - buf.filled().len();
        let mut part = buf.take(usize::try_from(*take.left).unwrap_or(usize::MAX));
        // SAFETY: the slice is a part of the unfilled part of `buf`, and the methods of `ReadBuf` do not uninitialize a
        // byte.
        unsafe { part.assume_init(known.min(part.capacity())) };
        let start = part.filled().as_ptr();
        ready!(take.inner.poll_read(cx, &mut part))?;
        // A reader could have replaced the buffer by another.
        assert_eq!(start, part.filled().as_ptr());
        let (read, initialized) = (part.filled().len(), part.initialized().len());
        // SAFETY: these bytes are a part of `buf`'s memory and are initialized; the assertion above checks that it is
        // this memory.
        unsafe { buf.assume_init(initialized) };
        buf.advance(read);
        *take.left -= read as u64;
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncBufRead> AsyncBufRead for Take<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let take = self.project();
        if *take.left == 0 {
            return Poll::Ready(Ok(&[]));
        }
        let bytes = ready!(take.inner.poll_fill_buf(cx))?;
        let len = usize::try_from(*take.left).map_or(bytes.len(), |left| left.min(bytes.len()));
        Poll::Ready(Ok(&bytes[..len]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let take = self.project();
        // A larger `amt` violates the contract of `consume`, but must not exceed the limit.
        let amt = usize::try_from(*take.left).map_or(amt, |left| left.min(amt));
        *take.left -= amt as u64;
        take.inner.consume(amt);
    }
}
