//! Reading all there is into a vector that grows.
//!
//! Invariant: the reader sees only the spare capacity of the vector, and what it was told to be initialized
//! stays known between polls, so that nothing is zeroed twice. A vector that has room for everything does
//! not grow only to find the end.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::operation::{Operation, Step, uninterrupted};
use crate::io::{AsyncRead, ReadBuf};

/// Room that each read has at least, in bytes.
const ROOM: usize = 32;

/// Appends what a reader has to a vector, and remembers between polls what is known of its memory.
#[derive(Debug)]
pub(super) struct Filling {
    /// Bytes that the vector had before.
    start: usize,
    /// Its capacity then.
    capacity: usize,
    /// Bytes of its memory that are known to be initialized, from its start.
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

    /// Reads until there is no more, and returns how much it was, in all polls together.
    ///
    /// # Safety
    /// `vec` must be the vector that this was made for, and nothing else may have changed it meanwhile.
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

    /// Reads into the vector's own memory.
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
        // SAFETY: that many bytes of the same memory were initialized: the vector has not grown since.
        unsafe { buf.assume_init(self.initialized - len) };
        let start = buf.filled().as_ptr();
        let result = reader.poll_read(cx, &mut buf);
        // A reader could have put another buffer in its place.
        assert_eq!(start, buf.filled().as_ptr());
        let read = buf.filled().len();
        self.initialized = len + buf.initialized().len();
        ready!(result)?;
        // SAFETY: the buffer is the vector's, and has filled that many bytes behind its end.
        unsafe { vec.set_len(len + read) };
        Poll::Ready(Ok(read))
    }

    /// Reads a little into other memory: what fills the vector may have been all.
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

/// Step of `read_to_end`.
#[derive(Debug)]
pub struct ReadToEnd<'a> {
    vec: &'a mut Vec<u8>,
    filling: Filling,
}

impl<R: AsyncRead + ?Sized> Step<R> for ReadToEnd<'_> {
    type Output = usize;

    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // SAFETY: the vector is borrowed as long as this lives.
        unsafe { self.filling.poll(self.vec, reader, cx) }
    }
}

/// Appends all that `reader` has to `vec`, and returns how much it was.
pub(crate) fn read_to_end<'a, R: AsyncRead + Unpin + ?Sized>(
    reader: &'a mut R,
    vec: &'a mut Vec<u8>,
) -> Operation<'a, R, ReadToEnd<'a>> {
    let filling = Filling::new(vec);
    Operation::new(reader, ReadToEnd { vec, filling })
}
