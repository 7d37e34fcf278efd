//! Copies from a reader to a writer through a buffer.
//!
//! Invariant: `start..end` of the buffer was read and not yet written. A poll is pending only if the reader or the
//! writer is; each is polled while the other waits.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::BUFFER;
use super::operation::uninterrupted;
use crate::io::{AsyncRead, AsyncWrite, ReadBuf};
use crate::task::coop;

#[derive(Debug)]
pub(super) struct CopyBuffer {
    memory: Box<[u8]>,
    start: usize,
    end: usize,
    copied: u64,
    is_at_end: bool,
    must_flush: bool,
}

impl CopyBuffer {
    pub(super) fn new(size: usize) -> Self {
        Self {
            memory: vec![0; size].into_boxed_slice(),
            start: 0,
            end: 0,
            copied: 0,
            is_at_end: false,
            must_flush: false,
        }
    }

    fn can_read(&self) -> bool {
        !self.is_at_end && self.end < self.memory.len()
    }

    fn poll_fill<R: AsyncRead + ?Sized>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
    ) -> Poll<io::Result<()>> {
        let mut buf = ReadBuf::new(&mut self.memory);
        buf.set_filled(self.end);
        ready!(uninterrupted(|| reader.as_mut().poll_read(cx, &mut buf)))?;
        let end = buf.filled().len();
        self.is_at_end = end == self.end;
        self.end = end;
        Poll::Ready(Ok(()))
    }

    /// Continues the copy. Returns the total number of bytes once the reader has reached its end and the writer is
    /// flushed. Costs one unit of the budget.
    pub(super) fn poll<R: AsyncRead + ?Sized, W: AsyncWrite + ?Sized>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>> {
        let budget = ready!(coop::poll_proceed(cx));
        loop {
            // Even if there are bytes to write: more of them make one larger write.
            if self.can_read() {
                match self.poll_fill(cx, reader.as_mut()) {
                    Poll::Ready(result) => {
                        budget.made_progress();
                        result?;
                    }
                    Poll::Pending if self.start == self.end => {
                        // The reader may wait for a reply to bytes that the writer has buffered.
                        if self.must_flush {
                            ready!(writer.as_mut().poll_flush(cx))?;
                            budget.made_progress();
                            self.must_flush = false;
                        }
                        return Poll::Pending;
                    }
                    Poll::Pending => {}
                }
            }

            while self.start < self.end {
                let rest = &self.memory[self.start..self.end];
                let written = match uninterrupted(|| writer.as_mut().poll_write(cx, rest)) {
                    Poll::Ready(result) => result?,
                    Poll::Pending => {
                        if self.can_read() {
                            ready!(self.poll_fill(cx, reader))?;
                        }
                        return Poll::Pending;
                    }
                };
                budget.made_progress();
                if written == 0 {
                    let error = "write zero byte into writer";
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::WriteZero, error)));
                }
                assert!(
                    written <= rest.len(),
                    "writer returned length larger than input slice"
                );
                self.start += written;
                self.copied += written as u64;
                self.must_flush = true;
            }
            (self.start, self.end) = (0, 0);

            if self.is_at_end {
                ready!(writer.as_mut().poll_flush(cx))?;
                budget.made_progress();
                return Poll::Ready(Ok(self.copied));
            }
        }
    }
}

/// Copies all bytes from `reader` to `writer` and flushes it. Returns the number of bytes.
///
/// The copy uses a buffer of 8 kB. [`copy_buf`](crate::io::copy_buf) uses the reader's own buffer instead. The writer
/// is flushed while the reader is pending, so that the other side can reply to what was written.
///
/// # Errors
/// If the reader or the writer fails; interrupted operations are retried.
/// [`ErrorKind::WriteZero`](io::ErrorKind::WriteZero) if the writer accepts no more bytes. Bytes that were read and not
/// written are lost.
///
/// # Cancel safety
/// Not cancel safe: bytes that were read and not written are lost.
///
/// ```
/// use pointsman::io;
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let (mut reader, mut writer) = (&b"hello"[..], Vec::new());
/// assert_eq!(io::copy(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # Ok(())
/// # }
/// ```
pub async fn copy<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut buffer = CopyBuffer::new(BUFFER);
    poll_fn(|cx| buffer.poll(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}
