//! A buffered reader.
//!
//! Invariant: `buf[pos..cap]` was read from the inner reader and not yet by the caller. A seek of the inner reader
//! discards it.

use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::BUFFER;
use crate::io::async_write::forward_write;
use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

pin_project! {
    /// Adds a buffer to a reader: it reads large chunks from the inner reader, so that many small reads are cheap.
    ///
    /// It does not help with few or large reads, or with a reader that is in memory. Dropping it discards the buffer.
    ///
    /// A seek discards the buffer. If the distance does not fit into one `i64`, it uses two seeks; if the second one
    /// fails, the position is unchanged for the caller.
    ///
    /// ```
    /// use pointsman::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
    ///
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> pointsman::io::Result<()> {
    /// let mut reader = BufReader::new(&b"hello\nworld"[..]);
    /// let mut line = String::new();
    /// reader.read_line(&mut line).await?;
    /// assert_eq!(line, "hello\n");
    /// assert_eq!(reader.buffer(), b"world");
    /// # Ok(())
    /// # }
    /// ```
    pub struct BufReader<R> {
        #[pin]
        pub(super) inner: R,
        pub(super) buf: Box<[u8]>,
        pub(super) pos: usize,
        pub(super) cap: usize,
        pub(super) seek: Seek,
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    None,
    Start(SeekFrom),
    /// The inner reader seeks to the caller's position, and then by this offset.
    Back(i64),
    Moving,
}

impl<R: AsyncRead> BufReader<R> {
    /// Creates a reader with a buffer of 8 kB.
    ///
    /// ```
    /// # use pointsman::io::BufReader;
    /// assert!(BufReader::new(&b"hello"[..]).buffer().is_empty());
    /// ```
    pub fn new(inner: R) -> Self {
        Self::with_capacity(BUFFER, inner)
    }

    /// Creates a reader with a buffer of `capacity` bytes.
    ///
    /// # Panics
    /// If `capacity` is 0.
    ///
    /// ```
    /// # use pointsman::io::{AsyncBufReadExt, BufReader};
    /// # futures::executor::block_on(async {
    /// let mut reader = BufReader::with_capacity(3, &b"hello"[..]);
    /// assert_eq!(reader.fill_buf().await.unwrap(), b"hel");
    /// # });
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize, inner: R) -> Self {
        assert!(capacity > 0, "capacity must be greater than zero");
        Self {
            inner,
            buf: vec![0; capacity].into_boxed_slice(),
            pos: 0,
            cap: 0,
            seek: Seek::None,
        }
    }

    /// Returns the inner reader.
    ///
    /// ```
    /// # use pointsman::io::BufReader;
    /// assert_eq!(BufReader::new(&b"hello"[..]).get_ref(), b"hello");
    /// ```
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns the inner reader, mutably. Reading from it directly skips the buffer, which holds earlier bytes.
    ///
    /// ```
    /// # use pointsman::io::BufReader;
    /// let mut reader = BufReader::new(&b"hello"[..]);
    /// *reader.get_mut() = b"world";
    /// assert_eq!(reader.get_ref(), b"world");
    /// ```
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns the inner reader, pinned and mutable.
    ///
    /// ```
    /// # use std::pin::Pin;
    /// # use pointsman::io::BufReader;
    /// let mut reader = BufReader::new(&b"hello"[..]);
    /// assert_eq!(*Pin::new(&mut reader).get_pin_mut(), b"hello");
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Returns the inner reader. The buffer is discarded.
    ///
    /// ```
    /// # use pointsman::io::BufReader;
    /// assert_eq!(BufReader::new(&b"hello"[..]).into_inner(), b"hello");
    /// ```
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// Returns the contents of the buffer, without filling it.
    ///
    /// ```
    /// # use pointsman::io::{AsyncReadExt, BufReader};
    /// # futures::executor::block_on(async {
    /// let mut reader = BufReader::new(&b"hello"[..]);
    /// reader.read_u8().await.unwrap();
    /// assert_eq!(reader.buffer(), b"ello");
    /// # });
    /// ```
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.pos..self.cap]
    }
}

impl<R: AsyncRead> AsyncRead for BufReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A read as large as the buffer bypasses it.
        if self.pos == self.cap && buf.remaining() >= self.buf.len() {
            return self.project().inner.poll_read(cx, buf);
        }
        let bytes = ready!(self.as_mut().poll_fill_buf(cx))?;
        let len = bytes.len().min(buf.remaining());
        buf.put_slice(&bytes[..len]);
        *self.project().pos += len;
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead> AsyncBufRead for BufReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let reader = self.project();
        if *reader.pos == *reader.cap {
            let mut buf = ReadBuf::new(reader.buf);
            ready!(reader.inner.poll_read(cx, &mut buf))?;
            (*reader.pos, *reader.cap) = (0, buf.filled().len());
        }
        Poll::Ready(Ok(&reader.buf[*reader.pos..*reader.cap]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let reader = self.project();
        *reader.pos = reader.pos.saturating_add(amt).min(*reader.cap);
    }
}

impl<R: AsyncRead + AsyncSeek> AsyncSeek for BufReader<R> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seek = Seek::Start(position);
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let mut reader = self.project();
        loop {
            match *reader.seek {
                Seek::None => return reader.inner.poll_complete(cx),
                Seek::Start(position) => {
                    // The caller's position is behind the inner reader's by the length of the buffer.
                    let ahead = (*reader.cap - *reader.pos) as i64;
                    let (position, next) = match position {
                        SeekFrom::Current(offset) => match offset.checked_sub(ahead) {
                            Some(offset) => (SeekFrom::Current(offset), Seek::Moving),
                            None => (SeekFrom::Current(-ahead), Seek::Back(offset)),
                        },
                        absolute => (absolute, Seek::Moving),
                    };
                    *reader.seek = Seek::None;
                    reader.inner.as_mut().start_seek(position)?;
                    *reader.seek = next;
                }
                Seek::Back(_) | Seek::Moving => {
                    let result = ready!(reader.inner.as_mut().poll_complete(cx));
                    let seek = std::mem::replace(reader.seek, Seek::None);
                    let position = result?;
                    (*reader.pos, *reader.cap) = (0, 0);
                    let Seek::Back(offset) = seek else {
                        return Poll::Ready(Ok(position));
                    };
                    *reader.seek = Seek::Start(SeekFrom::Current(offset));
                }
            }
        }
    }
}

impl<R: AsyncRead + AsyncWrite> AsyncWrite for BufReader<R> {
    forward_write!(self => self.get_pin_mut(), self.inner);
}

impl<R: fmt::Debug> fmt::Debug for BufReader<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (filled, room) = (self.cap - self.pos, self.buf.len());
        formatter
            .debug_struct("BufReader")
            .field("reader", &self.inner)
            .field("buffer", &format_args!("{filled}/{room}"))
            .finish()
    }
}
