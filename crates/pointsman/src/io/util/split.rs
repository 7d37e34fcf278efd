//! The segments of a reader between delimiters.
//!
//! Invariant: the bytes of an incomplete segment stay here, even if the future is dropped.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::read_until::poll_read_until;
use crate::io::AsyncBufRead;

pin_project! {
    /// The segments of a reader, returned by [`AsyncBufReadExt::split`](crate::io::AsyncBufReadExt::split).
    ///
    /// ```
    /// # use std::io::Cursor;
    /// # use pointsman::io::{AsyncBufReadExt, Split};
    /// # futures::executor::block_on(async {
    /// let mut fields: Split<Cursor<&str>> = Cursor::new("a,b").split(b',');
    /// while let Some(field) = fields.next_segment().await.unwrap() {
    ///     assert_eq!(field.len(), 1);
    /// }
    /// # });
    /// ```
    #[must_use = "no segment is read unless `next_segment` is called"]
    #[derive(Debug)]
    pub struct Split<R> {
        #[pin]
        reader: R,
        segment: Vec<u8>,
        delimiter: u8,
    }
}

impl<R: AsyncBufRead> Split<R> {
    pub(super) fn new(reader: R, delimiter: u8) -> Self {
        Self {
            reader,
            segment: Vec::new(),
            delimiter,
        }
    }

    /// Polls for the next segment; see [`next_segment`](Self::next_segment). If it returns `Poll::Pending`, the task
    /// that polled last is woken when it should poll again.
    ///
    /// # Errors
    /// As for [`next_segment`](Self::next_segment).
    ///
    /// ```
    /// # use std::{future::poll_fn, pin::Pin};
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut fields = std::io::Cursor::new("a,b").split(b',');
    /// let field = poll_fn(|cx| Pin::new(&mut fields).poll_next_segment(cx)).await;
    /// assert_eq!(field.unwrap().unwrap(), b"a");
    /// # });
    /// ```
    pub fn poll_next_segment(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        let split = self.project();
        ready!(poll_read_until(
            split.reader,
            cx,
            *split.delimiter,
            split.segment
        ))?;
        let mut segment = mem::take(split.segment);
        if segment.is_empty() {
            return Poll::Ready(Ok(None));
        }
        if segment.last() == Some(split.delimiter) {
            segment.pop();
        }
        Poll::Ready(Ok(Some(segment)))
    }
}

impl<R: AsyncBufRead + Unpin> Split<R> {
    /// Returns the next segment without its delimiter, or `None` at the end.
    ///
    /// # Errors
    /// If the reader fails; interrupted reads are retried.
    ///
    /// # Cancel safety
    /// Cancel safe: the bytes of an incomplete segment are kept.
    ///
    /// ```
    /// # use pointsman::io::AsyncBufReadExt;
    /// # futures::executor::block_on(async {
    /// let mut fields = std::io::Cursor::new("a,,b").split(b',');
    /// assert_eq!(fields.next_segment().await.unwrap().unwrap(), b"a");
    /// assert_eq!(fields.next_segment().await.unwrap().unwrap(), b"");
    /// # });
    /// ```
    pub async fn next_segment(&mut self) -> io::Result<Option<Vec<u8>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_segment(cx)).await
    }
}
