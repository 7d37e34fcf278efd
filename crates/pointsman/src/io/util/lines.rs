//! The lines of a reader.
//!
//! Invariant: the bytes of an incomplete line stay here, even if the future is dropped.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::read_until::poll_read_until;
use crate::io::AsyncBufRead;

pin_project! {
    /// The lines of a reader, returned by [`AsyncBufReadExt::lines`](crate::io::AsyncBufReadExt::lines).
    ///
    /// ```
    /// # use pointsman::io::{AsyncBufReadExt, Lines};
    /// # futures::executor::block_on(async {
    /// let mut lines: Lines<&[u8]> = b"hello\nworld".lines();
    /// while let Some(line) = lines.next_line().await.unwrap() {
    ///     assert_eq!(line.len(), 5);
    /// }
    /// # });
    /// ```
    #[must_use = "no line is read unless `next_line` is called"]
    #[derive(Debug)]
    pub struct Lines<R> {
        #[pin]
        reader: R,
        line: Vec<u8>,
    }
}

impl<R: AsyncBufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            line: Vec::new(),
        }
    }

    /// Polls for the next line; see [`next_line`](Self::next_line). If it returns `Poll::Pending`, the task that polled
    /// last is woken when it should poll again.
    ///
    /// # Errors
    /// As for [`next_line`](Self::next_line).
    ///
    /// ```
    /// # use std::{future::poll_fn, pin::Pin};
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut lines = b"hello\nworld".lines();
    /// let line = poll_fn(|cx| Pin::new(&mut lines).poll_next_line(cx)).await;
    /// assert_eq!(line.unwrap().as_deref(), Some("hello"));
    /// # });
    /// ```
    pub fn poll_next_line(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<String>>> {
        let lines = self.project();
        ready!(poll_read_until(lines.reader, cx, b'\n', lines.line))?;
        let mut line = mem::take(lines.line);
        if line.is_empty() {
            return Poll::Ready(Ok(None));
        }
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        let line = String::from_utf8(line);
        Poll::Ready(line.map_or_else(
            |error| Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            |line| Ok(Some(line)),
        ))
    }
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Returns the next line without its `\n` or `\r\n`, or `None` at the end.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`](io::ErrorKind::InvalidData) if the line is not UTF-8; the inner
    /// [`FromUtf8Error`](std::string::FromUtf8Error) contains the bytes, and the following lines can be read. If the
    /// reader fails; interrupted reads are retried.
    ///
    /// # Cancel safety
    /// Cancel safe: the bytes of an incomplete line are kept.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut lines = b"hello\nworld".lines();
    /// assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("hello"));
    /// # });
    /// ```
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_line(cx)).await
    }

    /// Returns the inner reader, mutably. Reading from it changes the next line.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut lines = b"hello\nworld".lines();
    /// AsyncBufReadExt::consume(lines.get_mut(), 4);
    /// assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("o"));
    /// # });
    /// ```
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns the inner reader.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut lines = b"hello\nworld".lines();
    /// lines.next_line().await.unwrap();
    /// assert_eq!(lines.get_ref(), b"world");
    /// # });
    /// ```
    pub fn get_ref(&mut self) -> &R {
        &self.reader
    }

    /// Returns the inner reader. The bytes of an incomplete line are discarded.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut lines = b"hello\nworld".lines();
    /// lines.next_line().await.unwrap();
    /// assert_eq!(lines.into_inner(), b"world");
    /// # });
    /// ```
    pub fn into_inner(self) -> R {
        self.reader
    }
}
