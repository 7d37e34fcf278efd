//! Two readers in sequence.
//!
//! Invariant: the second reader is not read before the first has reached its end, and the first is not read afterwards.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::io::{AsyncBufRead, AsyncRead, ReadBuf};

pin_project! {
    /// A reader that reads two readers in sequence, created by [`AsyncReadExt::chain`](crate::io::AsyncReadExt::chain).
    ///
    /// ```
    /// # use pointsman::io::{AsyncReadExt, Chain};
    /// # futures::executor::block_on(async {
    /// let mut greeting: Chain<&[u8], &[u8]> = b"hello, ".chain(&b"world"[..]);
    /// let mut text = String::new();
    /// greeting.read_to_string(&mut text).await.unwrap();
    /// assert_eq!(text, "hello, world");
    /// # });
    /// ```
    #[must_use = "readers do nothing unless they are read"]
    #[derive(Debug)]
    pub struct Chain<T, U> {
        #[pin]
        first: T,
        #[pin]
        second: U,
        is_second: bool,
    }
}

impl<T: AsyncRead, U: AsyncRead> Chain<T, U> {
    pub(super) fn new(first: T, second: U) -> Self {
        Self {
            first,
            second,
            is_second: false,
        }
    }

    /// Returns both readers.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// let chain = b"a".chain(&b"b"[..]);
    /// assert_eq!(chain.get_ref(), (&&b"a"[..], &&b"b"[..]));
    /// ```
    pub fn get_ref(&self) -> (&T, &U) {
        (&self.first, &self.second)
    }

    /// Returns both readers, mutably. Reading from them changes what the chain reads.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// let mut chain = b"a".chain(&b"b"[..]);
    /// *chain.get_mut().1 = b"c";
    /// assert_eq!(chain.into_inner().1, b"c");
    /// ```
    pub fn get_mut(&mut self) -> (&mut T, &mut U) {
        (&mut self.first, &mut self.second)
    }

    /// Returns both readers, pinned and mutable.
    ///
    /// ```
    /// # use std::pin::Pin;
    /// # use pointsman::io::AsyncReadExt;
    /// let mut chain = b"a".chain(&b"b"[..]);
    /// assert_eq!(*Pin::new(&mut chain).get_pin_mut().0, b"a");
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> (Pin<&mut T>, Pin<&mut U>) {
        let chain = self.project();
        (chain.first, chain.second)
    }

    /// Returns both readers.
    ///
    /// ```
    /// # use pointsman::io::AsyncReadExt;
    /// let chain = b"a".chain(&b"b"[..]);
    /// assert_eq!(chain.into_inner(), (&b"a"[..], &b"b"[..]));
    /// ```
    pub fn into_inner(self) -> (T, U) {
        (self.first, self.second)
    }
}

impl<T: AsyncRead, U: AsyncRead> AsyncRead for Chain<T, U> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let chain = self.project();
        if !*chain.is_second {
            let room = buf.remaining();
            ready!(chain.first.poll_read(cx, buf))?;
            // An empty read into an empty buffer is not the end.
            if room == 0 || buf.remaining() != room {
                return Poll::Ready(Ok(()));
            }
            *chain.is_second = true;
        }
        chain.second.poll_read(cx, buf)
    }
}

impl<T: AsyncBufRead, U: AsyncBufRead> AsyncBufRead for Chain<T, U> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let chain = self.project();
        if !*chain.is_second {
            let bytes = ready!(chain.first.poll_fill_buf(cx))?;
            if !bytes.is_empty() {
                return Poll::Ready(Ok(bytes));
            }
            *chain.is_second = true;
        }
        chain.second.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let chain = self.project();
        if *chain.is_second {
            chain.second.consume(amt);
        } else {
            chain.first.consume(amt);
        }
    }
}
