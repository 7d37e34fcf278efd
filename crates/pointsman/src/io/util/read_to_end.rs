//! Reads until the end into a growing vector.
//!
//! Invariant: the reader sees only the spare capacity of the vector. The number of initialized bytes is kept between
//! polls, so that no byte is zeroed twice. A vector with enough capacity does not grow to detect the end.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::operation::{Operation, Step, uninterrupted};
use crate::io::{AsyncRead, ReadBuf};

/// The minimum spare capacity for a read into the vector, and the size of the buffer of a probe.
const ROOM: usize = 32;

/// Appends the bytes of a reader to a vector.
#[derive(Debug)]
pub(super) struct Filling {
    start: usize,
    capacity: usize,
    /// The number of bytes of the vector's memory, from its start, that are initialized.
    initialized: usize,
}

impl Filling {
    pub(super) fn new(vec: &Vec<u8>) -> Self {
        Self {
            start: vec.len(),
            capacity: vec.capacity(),
            initialized: vec.len(),
        }
    }

    /// Reads until the end. Returns the number of bytes read in all polls.
    ///
    /// # Safety
    /// `vec` must be the vector that this was created for, and nothing else may have changed it since.
    pub(super) unsafe fn poll<R: AsyncRead + ?Sized>(
        &mut self,
        vec: &mut Vec<u8>,
        mut reader: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let read = uninterrupted(|| {
                let is_short = vec.capacity() - vec.len() < ROOM;
                if is_short && vec.capacity() == self.capacity && self.capacity >= ROOM {
                    self.probe(vec, reader.as_mut(), cx)
                } else {
                    self.read(vec, reader.as_mut(), cx)
                }
            });
            if ready!(read)? == 0 {
                return Poll::Ready(Ok(vec.len() - self.start));
            }
        }
    }

    fn read<R: AsyncRead + ?Sized>(
        &mut self,
        vec: &mut Vec<u8>,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if vec.capacity() - vec.len() < ROOM {
            vec.reserve(ROOM);
            self.initialized = vec.len();
        }
        let len = vec.len();
        let mut buf = ReadBuf::uninit(vec.spare_capacity_mut());
        // SAFETY: these bytes of the same allocation were initialized by an earlier read: growing resets the number.
        unsafe { buf.assume_init(self.initialized - len) };
        let start = buf.filled().as_ptr();
        let result = reader.poll_read(cx, &mut buf);
        // A reader could have replaced the buffer by another.
        assert_eq!(start, buf.filled().as_ptr());
        let read = buf.filled().len();
        self.initialized = len + buf.initialized().len();
        ready!(result)?;
        // SAFETY: the buffer is the spare capacity of the vector, and its filled bytes are initialized; the assertion
        // above checks that it is this buffer.
        unsafe { vec.set_len(len + read) };
        Poll::Ready(Ok(read))
    }

    /// Reads a few bytes into a buffer on the stack, since the full vector may already contain all bytes.
    fn probe<R: AsyncRead + ?Sized>(
        &mut self,
        vec: &mut Vec<u8>,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut memory = [MaybeUninit::uninit(); ROOM];
        let mut buf = ReadBuf::uninit(&mut memory);
        ready!(reader.poll_read(cx, &mut buf))?;
        vec.extend_from_slice(buf.filled());
        self.initialized = vec.len();
        Poll::Ready(Ok(buf.filled().len()))
    }
}

#[derive(Debug)]
pub struct ReadToEnd<'a> {
    vec: &'a mut Vec<u8>,
    filling: Filling,
}

impl<R: AsyncRead + ?Sized> Step<R> for ReadToEnd<'_> {
    type Output = usize;

    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // SAFETY: this step borrows the vector that it was created for as long as it lives.
        unsafe { self.filling.poll(self.vec, reader, cx) }
    }
}

/// Appends all bytes of `reader` to `vec`. Returns their number.
pub(crate) fn read_to_end<'a, R: AsyncRead + Unpin + ?Sized>(
    reader: &'a mut R,
    vec: &'a mut Vec<u8>,
) -> Operation<'a, R, ReadToEnd<'a>> {
    let filling = Filling::new(vec);
    Operation::new(reader, ReadToEnd { vec, filling })
}
