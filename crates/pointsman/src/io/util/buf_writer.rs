//! A buffered writer.
//!
//! Invariant: `buf[written..]` was accepted from the caller and not yet by the inner writer; no later byte is written
//! before it.

use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::BUFFER;
use super::operation::uninterrupted;
use crate::io::async_buf_read::forward_buf_read;
use crate::io::async_read::forward_read;
use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

pin_project! {
    /// Adds a buffer to a writer: it writes large chunks to the inner writer, so that many small writes are cheap.
    ///
    /// Dropping it discards the buffer. [`flush`](crate::io::AsyncWriteExt::flush),
    /// [`shutdown`](crate::io::AsyncWriteExt::shutdown) and a seek write the buffer.
    ///
    /// It does not help with few or large writes, or with a writer that is in memory.
    ///
    /// ```
    /// use pointsman::io::{AsyncWriteExt, BufWriter};
    ///
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"hello, ").await?;
    /// writer.write_all(b"world").await?;
    /// writer.flush().await?;
    /// assert_eq!(writer.into_inner(), b"hello, world");
    /// # Ok(())
    /// # }
    /// ```
    pub struct BufWriter<W> {
        #[pin]
        pub(super) inner: W,
        pub(super) buf: Vec<u8>,
        pub(super) written: usize,
        pub(super) seek: Seek,
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    None,
    Start(SeekFrom),
    Moving,
}

impl<W: AsyncWrite> BufWriter<W> {
    /// Creates a writer with a buffer of 8 kB.
    ///
    /// ```
    /// # use pointsman::io::BufWriter;
    /// assert!(BufWriter::new(Vec::new()).buffer().is_empty());
    /// ```
    pub fn new(inner: W) -> Self {
        Self::with_capacity(BUFFER, inner)
    }

    /// Creates a writer with a buffer of `capacity` bytes. With 0, each write goes to the inner writer.
    ///
    /// ```
    /// # use pointsman::io::{AsyncWriteExt, BufWriter};
    /// # futures::executor::block_on(async {
    /// let mut writer = BufWriter::with_capacity(3, Vec::new());
    /// writer.write_all(b"hello").await.unwrap();
    /// assert_eq!(writer.get_ref(), b"hello");
    /// # });
    /// ```
    pub fn with_capacity(cap: usize, inner: W) -> Self {
        Self {
            inner,
            buf: Vec::with_capacity(cap),
            written: 0,
            seek: Seek::None,
        }
    }

    /// Returns the inner writer.
    ///
    /// ```
    /// # use pointsman::io::BufWriter;
    /// assert!(BufWriter::new(Vec::new()).get_ref().is_empty());
    /// ```
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// Returns the inner writer, mutably. Bytes that are written to it directly precede those in the buffer.
    ///
    /// ```
    /// # use pointsman::io::{AsyncWriteExt, BufWriter};
    /// # futures::executor::block_on(async {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"world").await.unwrap();
    /// writer.get_mut().extend_from_slice(b"hello, ");
    /// writer.flush().await.unwrap();
    /// assert_eq!(writer.get_ref(), b"hello, world");
    /// # });
    /// ```
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Returns the inner writer, pinned and mutable.
    ///
    /// ```
    /// # use std::pin::Pin;
    /// # use pointsman::io::BufWriter;
    /// let mut writer = BufWriter::new(Vec::new());
    /// assert!(Pin::new(&mut writer).get_pin_mut().is_empty());
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }

    /// Returns the inner writer. The buffer is discarded.
    ///
    /// ```
    /// # use pointsman::io::BufWriter;
    /// assert!(BufWriter::new(Vec::new()).into_inner().is_empty());
    /// ```
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// Returns the contents of the buffer.
    ///
    /// ```
    /// # use pointsman::io::{AsyncWriteExt, BufWriter};
    /// # futures::executor::block_on(async {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"hello").await.unwrap();
    /// assert_eq!(writer.buffer(), b"hello");
    /// # });
    /// ```
    pub fn buffer(&self) -> &[u8] {
        &self.buf
    }

    /// Writes the buffer. On an error it keeps the bytes that were not accepted.
    fn poll_empty(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut writer = self.project();
        let mut result = Ok(());
        while *writer.written < writer.buf.len() && result.is_ok() {
            let rest = &writer.buf[*writer.written..];
            match ready!(uninterrupted(|| writer
                .inner
                .as_mut()
                .poll_write(cx, rest)))
            {
                Ok(0) => {
                    let error = "failed to write the buffered data";
                    result = Err(io::Error::new(io::ErrorKind::WriteZero, error));
                }
                Ok(written) => *writer.written += written,
                Err(error) => result = Err(error),
            }
        }
        writer.buf.drain(..*writer.written);
        *writer.written = 0;
        Poll::Ready(result)
    }

    /// Writes the buffer if `len` more bytes do not fit.
    fn poll_room(self: Pin<&mut Self>, cx: &mut Context<'_>, len: usize) -> Poll<io::Result<()>> {
        if len > self.buf.capacity() - self.buf.len() {
            self.poll_empty(cx)
        } else {
            Poll::Ready(Ok(()))
        }
    }
}

impl<W: AsyncWrite> AsyncWrite for BufWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.as_mut().poll_room(cx, buf.len()))?;
        let writer = self.project();
        if buf.len() >= writer.buf.capacity() {
            return writer.inner.poll_write(cx, buf);
        }
        writer.buf.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.inner.is_write_vectored() {
            let len = bufs
                .iter()
                .fold(0, |len: usize, buf| len.saturating_add(buf.len()));
            ready!(self.as_mut().poll_room(cx, len))?;
            let writer = self.project();
            if len >= writer.buf.capacity() {
                return writer.inner.poll_write_vectored(cx, bufs);
            }
            for buf in bufs {
                writer.buf.extend_from_slice(buf);
            }
            return Poll::Ready(Ok(len));
        }
        // The inner writer accepts one buffer at a time; this buffer takes as many as fit.
        let mut taken = 0;
        for buf in bufs.iter().filter(|buf| !buf.is_empty()) {
            if taken == 0 {
                taken = ready!(self.as_mut().poll_write(cx, buf))?;
                if self.buf.is_empty() {
                    break;
                }
            } else if buf.len() <= self.buf.capacity() - self.buf.len() {
                self.as_mut().project().buf.extend_from_slice(buf);
                taken += buf.len();
            } else {
                break;
            }
        }
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_empty(cx))?;
        self.get_pin_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_empty(cx))?;
        self.get_pin_mut().poll_shutdown(cx)
    }
}

impl<W: AsyncWrite + AsyncSeek> AsyncSeek for BufWriter<W> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seek = Seek::Start(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Seek::Start(position) = self.seek {
            ready!(self.as_mut().poll_empty(cx))?;
            let mut writer = self.as_mut().project();
            // Completes an earlier seek whose caller was cancelled.
            ready!(writer.inner.as_mut().poll_complete(cx))?;
            *writer.seek = Seek::None;
            writer.inner.start_seek(position)?;
            *self.as_mut().project().seek = Seek::Moving;
        }
        let writer = self.project();
        let result = ready!(writer.inner.poll_complete(cx));
        *writer.seek = Seek::None;
        Poll::Ready(result)
    }
}

impl<W: AsyncWrite + AsyncRead> AsyncRead for BufWriter<W> {
    forward_read!(self => self.get_pin_mut());
}

impl<W: AsyncWrite + AsyncBufRead> AsyncBufRead for BufWriter<W> {
    forward_buf_read!(self => self.get_pin_mut());
}

impl<W: fmt::Debug> fmt::Debug for BufWriter<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (filled, room) = (self.buf.len(), self.buf.capacity());
        formatter
            .debug_struct("BufWriter")
            .field("writer", &self.inner)
            .field("buffer", &format_args!("{filled}/{room}"))
            .field("written", &self.written)
            .finish()
    }
}
