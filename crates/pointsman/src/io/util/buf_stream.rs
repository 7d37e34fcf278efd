//! A buffered stream.
//!
//! Invariant: it behaves as a [`BufReader`] around a [`BufWriter`].

use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::buf_reader::BufReader;
use super::buf_writer::BufWriter;
use crate::io::async_buf_read::forward_buf_read;
use crate::io::async_read::forward_read;
use crate::io::async_seek::forward_seek;
use crate::io::async_write::forward_write;
use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

pin_project! {
    /// Adds buffers to a stream for reading and writing; see [`BufReader`] and [`BufWriter`].
    ///
    /// Dropping it discards the buffers. [`flush`](crate::io::AsyncWriteExt::flush),
    /// [`shutdown`](crate::io::AsyncWriteExt::shutdown) and a seek write the write buffer. A seek discards the read buffer.
    ///
    /// ```
    /// use pointsman::io::{AsyncBufReadExt, AsyncWriteExt, BufStream, duplex};
    ///
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
    /// let (client, server) = duplex(64);
    /// let (mut client, mut server) = (BufStream::new(client), BufStream::new(server));
    /// client.write_all(b"hello\n").await?;
    /// client.flush().await?;
    ///
    /// let mut line = String::new();
    /// server.read_line(&mut line).await?;
    /// assert_eq!(line, "hello\n");
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct BufStream<RW> {
        #[pin]
        inner: BufReader<BufWriter<RW>>,
    }
}

impl<RW: AsyncRead + AsyncWrite> BufStream<RW> {
    /// Creates a stream with buffers of 8 kB.
    ///
    /// ```
    /// # use pointsman::io::{BufStream, empty};
    /// let stream = BufStream::new(empty());
    /// # drop(stream);
    /// ```
    pub fn new(stream: RW) -> BufStream<RW> {
        BufReader::new(BufWriter::new(stream)).into()
    }

    /// Creates a stream with buffers of these sizes, in bytes.
    ///
    /// # Panics
    /// If `reader_capacity` is 0.
    ///
    /// ```
    /// # use pointsman::io::{BufStream, empty};
    /// let stream = BufStream::with_capacity(1024, 64, empty());
    /// # drop(stream);
    /// ```
    #[track_caller]
    pub fn with_capacity(
        reader_capacity: usize,
        writer_capacity: usize,
        stream: RW,
    ) -> BufStream<RW> {
        let writer = BufWriter::with_capacity(writer_capacity, stream);
        BufReader::with_capacity(reader_capacity, writer).into()
    }

    /// Returns the inner stream.
    ///
    /// ```
    /// # use pointsman::io::BufStream;
    /// let stream = BufStream::new(std::io::Cursor::new(vec![7]));
    /// assert_eq!(stream.get_ref().position(), 0);
    /// ```
    pub fn get_ref(&self) -> &RW {
        self.inner.get_ref().get_ref()
    }

    /// Returns the inner stream, mutably. Operations on it bypass the buffers.
    ///
    /// ```
    /// # use pointsman::io::BufStream;
    /// let mut stream = BufStream::new(std::io::Cursor::new(vec![7]));
    /// stream.get_mut().set_position(1);
    /// assert_eq!(stream.get_ref().position(), 1);
    /// ```
    pub fn get_mut(&mut self) -> &mut RW {
        self.inner.get_mut().get_mut()
    }

    /// Returns the inner stream, pinned and mutable.
    ///
    /// ```
    /// # use std::pin::Pin;
    /// # use pointsman::io::BufStream;
    /// let mut stream = BufStream::new(std::io::Cursor::new(vec![7]));
    /// assert_eq!(Pin::new(&mut stream).get_pin_mut().position(), 0);
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut RW> {
        self.project().inner.get_pin_mut().get_pin_mut()
    }

    /// Returns the inner stream. The buffers are discarded.
    ///
    /// ```
    /// # use pointsman::io::BufStream;
    /// let stream = BufStream::new(std::io::Cursor::new(vec![7]));
    /// assert_eq!(stream.into_inner().into_inner(), [7]);
    /// ```
    pub fn into_inner(self) -> RW {
        self.inner.into_inner().into_inner()
    }
}

impl<RW> From<BufReader<BufWriter<RW>>> for BufStream<RW> {
    fn from(inner: BufReader<BufWriter<RW>>) -> Self {
        Self { inner }
    }
}

/// Converts from a `BufWriter` around a `BufReader`. Keeps the contents of the buffers.
impl<RW> From<BufWriter<BufReader<RW>>> for BufStream<RW> {
    fn from(writer: BufWriter<BufReader<RW>>) -> Self {
        let reader = writer.inner;
        let writer = BufWriter {
            inner: reader.inner,
            buf: writer.buf,
            written: writer.written,
            seek: writer.seek,
        };
        let reader = BufReader {
            inner: writer,
            buf: reader.buf,
            pos: reader.pos,
            cap: reader.cap,
            seek: reader.seek,
        };
        reader.into()
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncRead for BufStream<RW> {
    forward_read!(self => self.project().inner);
}

impl<RW: AsyncRead + AsyncWrite> AsyncBufRead for BufStream<RW> {
    forward_buf_read!(self => self.project().inner);
}

impl<RW: AsyncRead + AsyncWrite> AsyncWrite for BufStream<RW> {
    forward_write!(self => self.project().inner, self.inner);
}

impl<RW: AsyncRead + AsyncWrite + AsyncSeek> AsyncSeek for BufStream<RW> {
    forward_seek!(self => self.project().inner);
}
