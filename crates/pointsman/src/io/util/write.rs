//! Writes once or completely, and ends a stream.
//!
//! Invariant: a single write that is dropped has written no bytes; a complete write knows at any time which bytes were
//! accepted.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;

use super::operation::{Step, uninterrupted};
use crate::io::AsyncWrite;

/// The maximum number of chunks of a buffer per call.
const CHUNKS: usize = 64;

#[derive(Debug)]
pub struct Write<'a>(pub(super) &'a [u8]);

impl<W: AsyncWrite + ?Sized> Step<W> for Write<'_> {
    type Output = usize;

    #[inline]
    fn step(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        writer.poll_write(cx, self.0)
    }
}

#[derive(Debug)]
pub struct WriteVectored<'a, 'b>(pub(super) &'a [IoSlice<'b>]);

impl<W: AsyncWrite + ?Sized> Step<W> for WriteVectored<'_, '_> {
    type Output = usize;

    #[inline]
    fn step(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        writer.poll_write_vectored(cx, self.0)
    }
}

/// Writes once and advances the buffer by the accepted bytes.
fn poll_write_buf<W: AsyncWrite + ?Sized>(
    writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    buf: &mut impl Buf,
) -> Poll<io::Result<usize>> {
    let written = if writer.is_write_vectored() {
        let mut chunks = [IoSlice::new(&[]); CHUNKS];
        let count = buf.chunks_vectored(&mut chunks);
        ready!(writer.poll_write_vectored(cx, &chunks[..count]))?
    } else {
        ready!(writer.poll_write(cx, buf.chunk()))?
    };
    buf.advance(written);
    Poll::Ready(Ok(written))
}

#[inline]
fn poll_write_slice<W: AsyncWrite + ?Sized>(
    writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    slice: &mut &[u8],
) -> Poll<io::Result<usize>> {
    let written = ready!(writer.poll_write(cx, slice))?;
    *slice = &slice[written..];
    Poll::Ready(Ok(written))
}

/// Calls `once` until `buf` is empty.
#[inline]
fn poll_write_all<W: AsyncWrite + ?Sized, B: Buf>(
    mut writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    buf: &mut B,
    once: impl Fn(Pin<&mut W>, &mut Context<'_>, &mut B) -> Poll<io::Result<usize>>,
) -> Poll<io::Result<()>> {
    while buf.has_remaining() {
        if ready!(uninterrupted(|| once(writer.as_mut(), cx, buf)))? == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
    }
    Poll::Ready(Ok(()))
}

#[derive(Debug)]
pub struct WriteBuf<'a, B>(pub(super) &'a mut B);

impl<W: AsyncWrite + ?Sized, B: Buf> Step<W> for WriteBuf<'_, B> {
    type Output = usize;

    fn step(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.0.has_remaining() {
            poll_write_buf(writer, cx, self.0)
        } else {
            Poll::Ready(Ok(0))
        }
    }
}

#[derive(Debug)]
pub struct WriteAllBuf<'a, B>(pub(super) &'a mut B);

impl<W: AsyncWrite + ?Sized, B: Buf> Step<W> for WriteAllBuf<'_, B> {
    type Output = ();

    fn step(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_write_all(writer, cx, self.0, poll_write_buf)
    }
}

#[derive(Debug)]
pub struct WriteAll<'a>(pub(super) &'a [u8]);

impl<W: AsyncWrite + ?Sized> Step<W> for WriteAll<'_> {
    type Output = ();

    #[inline]
    fn step(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_write_all(writer, cx, &mut self.0, poll_write_slice)
    }
}

#[derive(Debug)]
pub struct WriteNumber<const LEN: usize> {
    bytes: [u8; LEN],
    written: usize,
}

impl<const LEN: usize> WriteNumber<LEN> {
    #[inline]
    pub(super) fn new(bytes: [u8; LEN]) -> Self {
        Self { bytes, written: 0 }
    }
}

impl<W: AsyncWrite + ?Sized, const LEN: usize> Step<W> for WriteNumber<LEN> {
    type Output = ();

    #[inline]
    fn step(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut rest = &self.bytes[self.written..];
        let result = poll_write_all(writer, cx, &mut rest, poll_write_slice);
        self.written = LEN - rest.len();
        result
    }
}

#[derive(Debug)]
pub struct Flush;

impl<W: AsyncWrite + ?Sized> Step<W> for Flush {
    type Output = ();

    #[inline]
    fn step(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        writer.poll_flush(cx)
    }
}

#[derive(Debug)]
pub struct Shutdown;

impl<W: AsyncWrite + ?Sized> Step<W> for Shutdown {
    type Output = ();

    #[inline]
    fn step(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        writer.poll_shutdown(cx)
    }
}
