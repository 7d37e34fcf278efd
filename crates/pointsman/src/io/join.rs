//! Joins a reader and a writer into one stream.
//!
//! Invariant: each method is forwarded unchanged to the reader or the writer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::async_buf_read::forward_buf_read;
use super::async_read::forward_read;
use super::async_write::forward_write;
use super::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

/// Joins a reader and a writer into one stream.
///
/// ```
/// use pointsman::io::{AsyncReadExt, AsyncWriteExt, join};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
/// let mut stream = join(&b"ping"[..], Vec::new());
/// let mut message = [0; 4];
/// stream.read_exact(&mut message).await?;
/// stream.write_all(b"pong").await?;
/// assert_eq!(stream.writer(), b"pong");
/// # Ok(())
/// # }
/// ```
pub fn join<R, W>(reader: R, writer: W) -> Join<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    Join { reader, writer }
}

pin_project! {
    /// A reader and a writer as one stream, created by [`join`].
    ///
    /// ```
    /// # use pointsman::io::{Empty, Join, Sink, empty, join, sink};
    /// let stream: Join<Empty, Sink> = join(empty(), sink());
    /// # drop(stream);
    /// ```
    #[derive(Debug)]
    pub struct Join<R, W> {
        #[pin]
        reader: R,
        #[pin]
        writer: W,
    }
}

impl<R, W> Join<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    /// Returns the reader and the writer.
    ///
    /// ```
    /// # use pointsman::io::join;
    /// let (reader, writer) = join(&b"ping"[..], Vec::new()).into_inner();
    /// assert_eq!((reader, writer), (&b"ping"[..], vec![]));
    /// ```
    pub fn into_inner(self) -> (R, W) {
        (self.reader, self.writer)
    }

    /// Returns the reader.
    ///
    /// ```
    /// # use pointsman::io::{join, sink};
    /// assert_eq!(join(&b"ping"[..], sink()).reader(), b"ping");
    /// ```
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns the writer.
    ///
    /// ```
    /// # use pointsman::io::{empty, join};
    /// assert!(join(empty(), Vec::new()).writer().is_empty());
    /// ```
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Returns the reader.
    ///
    /// ```
    /// # use pointsman::io::{join, sink};
    /// let mut stream = join(&b"ping"[..], sink());
    /// *stream.reader_mut() = b"pong";
    /// assert_eq!(stream.reader(), b"pong");
    /// ```
    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns the writer.
    ///
    /// ```
    /// # use pointsman::io::{empty, join};
    /// let mut stream = join(empty(), Vec::new());
    /// stream.writer_mut().push(7);
    /// assert_eq!(stream.writer(), &[7]);
    /// ```
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Returns the reader, pinned.
    ///
    /// ```
    /// # use std::pin::Pin;
    /// # use pointsman::io::{join, sink};
    /// let mut stream = join(&b"ping"[..], sink());
    /// assert_eq!(*Pin::new(&mut stream).reader_pin_mut(), b"ping");
    /// ```
    pub fn reader_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().reader
    }

    /// Returns the writer, pinned.
    ///
    /// ```
    /// # use std::pin::Pin;
    /// # use pointsman::io::{empty, join};
    /// let mut stream = join(empty(), Vec::new());
    /// assert!(Pin::new(&mut stream).writer_pin_mut().is_empty());
    /// ```
    pub fn writer_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().writer
    }
}

impl<R: AsyncRead, W> AsyncRead for Join<R, W> {
    forward_read!(self => self.project().reader);
}

impl<R: AsyncBufRead, W> AsyncBufRead for Join<R, W> {
    forward_buf_read!(self => self.project().reader);
}

impl<R, W: AsyncWrite> AsyncWrite for Join<R, W> {
    forward_write!(self => self.project().writer, self.writer);
}
