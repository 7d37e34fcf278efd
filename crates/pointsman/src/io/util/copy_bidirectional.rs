//! Copies between two streams in both directions.
//!
//! Invariant: when one direction has ended, its writer is shut down and the other direction continues.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::BUFFER;
use super::copy::CopyBuffer;
use crate::io::{AsyncRead, AsyncWrite};

/// One direction: its copy, and then its result.
enum Direction {
    Copying(CopyBuffer),
    ShuttingDown(u64),
    Done(u64),
}

impl Direction {
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut R,
        writer: &mut W,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        loop {
            *self = match self {
                Self::Copying(buffer) => {
                    let (reader, writer) = (Pin::new(&mut *reader), Pin::new(&mut *writer));
                    Self::ShuttingDown(ready!(buffer.poll(cx, reader, writer))?)
                }
                Self::ShuttingDown(copied) => {
                    ready!(Pin::new(&mut *writer).poll_shutdown(cx))?;
                    Self::Done(*copied)
                }
                Self::Done(copied) => return Poll::Ready(Ok(*copied)),
            };
        }
    }
}

/// Copies all bytes from `a` to `b` and from `b` to `a` concurrently. Returns both numbers of bytes, in this order.
///
/// When one stream ends, the other is shut down for writing; the future is ready when both have ended. Each direction
/// uses a buffer of 8 kB; see [`copy_bidirectional_with_sizes`].
///
/// # Errors
/// The first error of either direction; interrupted operations are retried. Bytes that were read and not written are
/// lost.
///
/// # Cancel safety
/// Not cancel safe: bytes that were read and not written are lost.
///
/// ```
/// use pointsman::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let (mut client, mut a) = io::duplex(64);
/// let (mut b, mut server) = io::duplex(64);
/// let proxy = pointsman::spawn(async move { io::copy_bidirectional(&mut a, &mut b).await });
///
/// client.write_all(b"hello").await?;
/// client.shutdown().await?;
/// let mut request = String::new();
/// server.read_to_string(&mut request).await?;
/// assert_eq!(request, "hello");
///
/// server.write_all(b"bye").await?;
/// server.shutdown().await?;
/// assert_eq!(proxy.await.unwrap()?, (5, 3));
/// # Ok(())
/// # }
/// ```
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    copy_bidirectional_with_sizes(a, b, BUFFER, BUFFER).await
}

/// As [`copy_bidirectional`], with buffers of these sizes, in bytes.
///
/// # Errors
/// As for [`copy_bidirectional`].
///
/// # Panics
/// If a size is 0.
///
/// # Cancel safety
/// As for [`copy_bidirectional`].
///
/// ```
/// use pointsman::io;
///
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
/// let (mut a, mut b) = (io::empty(), io::empty());
/// assert_eq!(io::copy_bidirectional_with_sizes(&mut a, &mut b, 1024, 64).await?, (0, 0));
/// # Ok(())
/// # }
/// ```
pub async fn copy_bidirectional_with_sizes<A, B>(
    a: &mut A,
    b: &mut B,
    a_to_b_buf_size: usize,
    b_to_a_buf_size: usize,
) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    assert!(
        a_to_b_buf_size > 0,
        "`a_to_b_buf_size` must be greater than 0"
    );
    assert!(
        b_to_a_buf_size > 0,
        "`b_to_a_buf_size` must be greater than 0"
    );
    let mut a_to_b = Direction::Copying(CopyBuffer::new(a_to_b_buf_size));
    let mut b_to_a = Direction::Copying(CopyBuffer::new(b_to_a_buf_size));
    poll_fn(|cx| {
        // Polls both each time, so that an error of one does not wait for the other.
        let there = a_to_b.poll(cx, a, b)?;
        let back = b_to_a.poll(cx, b, a)?;
        Poll::Ready(Ok((ready!(there), ready!(back))))
    })
    .await
}
