//! Reading text: into a string, that is valid whatever happens.
//!
//! Invariant: while bytes are read the string is empty, and its memory is the vector that they are read
//! into. Only what was checked goes back into it.

use std::io;
use std::mem;
use std::pin::Pin;
use std::str;
use std::task::{Context, Poll, ready};

use super::operation::{Operation, Step};
use super::read_to_end::Filling;
use super::read_until::poll_read_until;
use crate::io::{AsyncBufRead, AsyncRead};

/// Makes `bytes` the string again, with what was read behind `start` if that is text. If it is not, or on
/// another error where `or_nothing`, the string becomes what it was.
fn finish(
    string: &mut String,
    mut bytes: Vec<u8>,
    start: usize,
    result: io::Result<()>,
    or_nothing: bool,
) -> io::Result<usize> {
    let read = bytes.len() - start;
    let result = match str::from_utf8(&bytes[start..]) {
        Ok(_) => {
            if or_nothing && result.is_err() {
                bytes.truncate(start);
            }
            result
        }
        Err(_) => {
            // Once more, since the error says where the whole string ceases to be valid.
            let result = result.and_then(|()| {
                let error = str::from_utf8(&bytes).map(drop);
                error.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
            });
            bytes.truncate(start);
            result
        }
    };
    // SAFETY: up to `start` the bytes were a string's, and the rest was checked or is gone.
    *string = unsafe { String::from_utf8_unchecked(bytes) };
    result.map(|()| read)
}

/// Step of `read_line`.
#[derive(Debug)]
pub struct ReadLine<'a> {
    string: &'a mut String,
    bytes: Vec<u8>,
    start: usize,
}

impl<R: AsyncBufRead + ?Sized> Step<R> for ReadLine<'_> {
    type Output = usize;

    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let result = ready!(poll_read_until(reader, cx, b'\n', &mut self.bytes));
        let start = mem::take(&mut self.start);
        let bytes = mem::take(&mut self.bytes);
        Poll::Ready(finish(self.string, bytes, start, result, false))
    }
}

pub(super) fn read_line<'a, R: AsyncBufRead + Unpin + ?Sized>(
    reader: &'a mut R,
    string: &'a mut String,
) -> Operation<'a, R, ReadLine<'a>> {
    let bytes = mem::take(string).into_bytes();
    let step = ReadLine {
        start: bytes.len(),
        string,
        bytes,
    };
    Operation::new(reader, step)
}

/// Step of `read_to_string`.
#[derive(Debug)]
pub struct ReadToString<'a> {
    string: &'a mut String,
    bytes: Vec<u8>,
    start: usize,
    filling: Filling,
}

impl<R: AsyncRead + ?Sized> Step<R> for ReadToString<'_> {
    type Output = usize;

    fn step(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // SAFETY: nobody else has the vector, and where it is taken away there is a new one for the next.
        let result = ready!(unsafe { self.filling.poll(&mut self.bytes, reader, cx) });
        let start = mem::take(&mut self.start);
        let bytes = mem::take(&mut self.bytes);
        self.filling = Filling::new(&self.bytes);
        Poll::Ready(finish(self.string, bytes, start, result.map(drop), true))
    }
}

pub(super) fn read_to_string<'a, R: AsyncRead + Unpin + ?Sized>(
    reader: &'a mut R,
    string: &'a mut String,
) -> Operation<'a, R, ReadToString<'a>> {
    let bytes = mem::take(string).into_bytes();
    let step = ReadToString {
        start: bytes.len(),
        filling: Filling::new(&bytes),
        string,
        bytes,
    };
    Operation::new(reader, step)
}
