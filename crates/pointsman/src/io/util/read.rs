//! Reads once, or an exact number of bytes.
//!
//! Invariant: a single read that is dropped has read no bytes; an exact read keeps the bytes that it has until it is
//! complete.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BufMut;

use super::operation::{Step, uninterrupted};
use crate::io::{AsyncRead, ReadBuf};

#[derive(Debug)]
pub struct Read<'a>(pub(super) &'a mut [u8]);

impl<R: AsyncRead + ?Sized> Step<R> for Read<'_> {
    type Output = usize;

    #[inline]
    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(self.0);
        ready!(reader.poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

#[derive(Debug)]
pub struct ReadInto<'a, B: ?Sized>(pub(super) &'a mut B);

impl<R: AsyncRead + ?Sized, B: BufMut + ?Sized> Step<R> for ReadInto<'_, B> {
    type Output = usize;

    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.0.has_remaining_mut() {
            return Poll::Ready(Ok(0));
        }
        let chunk = self.0.chunk_mut();
        // SAFETY: the methods of `ReadBuf` do not uninitialize a byte.
        let mut buf = ReadBuf::uninit(unsafe { chunk.as_uninit_slice_mut() });
        let start = buf.filled().as_ptr();
        ready!(reader.poll_read(cx, &mut buf))?;
        // A reader could have replaced the buffer by another.
        assert_eq!(start, buf.filled().as_ptr());
        let read = buf.filled().len();
        // SAFETY: `read` bytes of `buf` are filled, and so initialized. The assertion above checks that `buf` is still
        // this chunk.
        unsafe { self.0.advance_mut(read) };
        Poll::Ready(Ok(read))
    }
}

/// Reads until `buf` is full or the reader ends. Returns whether it is full.
fn poll_fill<R: AsyncRead + ?Sized>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<bool>> {
    while buf.remaining() > 0 {
        let remaining = buf.remaining();
        ready!(uninterrupted(|| reader.as_mut().poll_read(cx, buf)))?;
        if buf.remaining() == remaining {
            return Poll::Ready(Ok(false));
        }
    }
    Poll::Ready(Ok(true))
}

#[derive(Debug)]
pub struct ReadExact<'a>(pub(super) ReadBuf<'a>);

impl<R: AsyncRead + ?Sized> Step<R> for ReadExact<'_> {
    type Output = usize;

    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if ready!(poll_fill(reader, cx, &mut self.0))? {
            Poll::Ready(Ok(self.0.capacity()))
        } else {
            let error = io::Error::new(io::ErrorKind::UnexpectedEof, "early eof");
            Poll::Ready(Err(error))
        }
    }
}

#[derive(Debug)]
pub struct ReadNumber<N, const LEN: usize> {
    bytes: [u8; LEN],
    read: usize,
    decode: fn([u8; LEN]) -> N,
}

impl<N, const LEN: usize> ReadNumber<N, LEN> {
    #[inline]
    pub(super) fn new(decode: fn([u8; LEN]) -> N) -> Self {
        Self {
            bytes: [0; LEN],
            read: 0,
            decode,
        }
    }
}

impl<R: AsyncRead + ?Sized, N, const LEN: usize> Step<R> for ReadNumber<N, LEN> {
    type Output = N;

    #[inline]
    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<N>> {
        let mut buf = ReadBuf::new(&mut self.bytes);
        buf.set_filled(self.read);
        let result = poll_fill(reader, cx, &mut buf);
        self.read = buf.filled().len();
        if ready!(result)? {
            Poll::Ready(Ok((self.decode)(self.bytes)))
        } else {
            Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
        }
    }
}
