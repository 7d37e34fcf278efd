//! Reads until a delimiter, and `fill_buf`.
//!
//! Invariant: bytes that are consumed from the reader are in the caller's vector, even if the future is dropped.

use std::io::{self, BufRead};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::operation::{Operation, Step, uninterrupted};
use crate::io::AsyncBufRead;

/// Appends the bytes until `delimiter`, which is included, or until the end.
pub(super) fn poll_read_until<R: AsyncBufRead + ?Sized>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    delimiter: u8,
    vec: &mut Vec<u8>,
) -> Poll<io::Result<()>> {
    loop {
        let read = uninterrupted(|| {
            let mut buffered = ready!(reader.as_mut().poll_fill_buf(cx))?;
            // The standard library's search is optimized.
            Poll::Ready(buffered.read_until(delimiter, vec))
        });
        let read = ready!(read)?;
        reader.as_mut().consume(read);
        if read == 0 || vec.last() == Some(&delimiter) {
            return Poll::Ready(Ok(()));
        }
    }
}

#[derive(Debug)]
pub struct ReadUntil<'a> {
    delimiter: u8,
    vec: &'a mut Vec<u8>,
    start: usize,
}

impl<R: AsyncBufRead + ?Sized> Step<R> for ReadUntil<'_> {
    type Output = usize;

    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        ready!(poll_read_until(reader, cx, self.delimiter, self.vec))?;
        Poll::Ready(Ok(self.vec.len() - self.start))
    }
}

pub(super) fn read_until<'a, R: AsyncBufRead + Unpin + ?Sized>(
    reader: &'a mut R,
    delimiter: u8,
    vec: &'a mut Vec<u8>,
) -> Operation<'a, R, ReadUntil<'a>> {
    let step = ReadUntil {
        delimiter,
        start: vec.len(),
        vec,
    };
    Operation::new(reader, step)
}

pin_project! {
    /// The future of `fill_buf`. It is not an `Operation`, since its output borrows from the stream.
    #[must_use = "futures do nothing unless they are awaited"]
    #[derive(Debug)]
    pub struct FillBuf<'a, R: ?Sized> {
        // `None` after it has returned.
        reader: Option<&'a mut R>,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> FillBuf<'a, R> {
    pub(super) fn new(reader: &'a mut R) -> Self {
        Self {
            reader: Some(reader),
            _pinned: PhantomPinned,
        }
    }
}

impl<'a, R: AsyncBufRead + Unpin + ?Sized> Future for FillBuf<'a, R> {
    type Output = io::Result<&'a [u8]>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = self.project().reader;
        let reader = slot.take().expect("`fill_buf` polled after completion");
        match Pin::new(&mut *reader).poll_fill_buf(cx) {
            Poll::Ready(result) => Poll::Ready(result.map(|bytes| {
                let bytes = std::ptr::from_ref(bytes);
                // SAFETY: the bytes live as long as the borrow of the reader, `'a`, and no other reference to the
                // reader exists, since it was taken out of the future. The compiler does not see that it is put back
                // only if nothing is returned.
                unsafe { &*bytes }
            })),
            Poll::Pending => {
                *slot = Some(reader);
                Poll::Pending
            }
        }
    }
}
