//! Copies from a buffered reader to a writer.
//!
//! Invariant: exactly the bytes that the writer has accepted are consumed from the reader.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};

use super::operation::uninterrupted;
use crate::io::{AsyncBufRead, AsyncWrite};
use crate::task::coop;

/// As [`copy`](crate::io::copy), through the reader's own buffer.
///
/// # Errors
/// If the reader or the writer fails; interrupted operations are retried.
/// [`ErrorKind::WriteZero`](io::ErrorKind::WriteZero) if the writer accepts no more bytes. Bytes that were not written
/// stay in the reader.
///
/// # Cancel safety
/// Cancel safe: bytes that were not written stay in the reader, and another call continues. Its count starts at 0.
///
/// ```
/// use pointsman::io;
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let (mut reader, mut writer) = (&b"hello"[..], Vec::new());
/// assert_eq!(io::copy_buf(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # Ok(())
/// # }
/// ```
pub async fn copy_buf<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncBufRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let (mut reader, mut writer) = (Pin::new(reader), Pin::new(writer));
    let (mut copied, mut must_flush) = (0, false);
    poll_fn(|cx| {
        let budget = ready!(coop::poll_proceed(cx));
        loop {
            let Poll::Ready(bytes) = reader.as_mut().poll_fill_buf(cx) else {
                // The reader may wait for a reply to bytes that the writer has buffered.
                if must_flush {
                    ready!(writer.as_mut().poll_flush(cx))?;
                    must_flush = false;
                }
                return Poll::Pending;
            };
            budget.made_progress();
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Poll::Ready(Err(error)),
            };
            if bytes.is_empty() {
                return writer.as_mut().poll_flush(cx).map_ok(|()| copied);
            }
            let written = ready!(uninterrupted(|| writer.as_mut().poll_write(cx, bytes)))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            reader.as_mut().consume(written);
            copied += written as u64;
            must_flush = true;
        }
    })
    .await
}
