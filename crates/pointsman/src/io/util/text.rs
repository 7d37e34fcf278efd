//! Reads text into a string, which is valid UTF-8 at all times.
//!
//! Invariant: during a read the string is empty, and the bytes are read into its memory as a vector. Only checked bytes
//! go back into the string.

use std::io;
use std::mem;
use std::pin::Pin;
use std::str;
use std::task::{Context, Poll, ready};

use super::operation::{Operation, Step};
use super::read_to_end::Filling;
use super::read_until::poll_read_until;
use crate::io::{AsyncBufRead, AsyncRead};

/// Puts `bytes` back into the string, with the bytes after `start` if they are UTF-8. If not, or on another error if
/// `or_nothing`, the string keeps its previous contents.
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
            // Checks the whole string, since the error reports a position in it.
            let result = result.and_then(|()| {
                let error = str::from_utf8(&bytes).map(drop);
                error.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
            });
            bytes.truncate(start);
            result
        }
    };
    // SAFETY: the bytes up to `start` were a string, and those after it were checked or removed.
    *string = unsafe { String::from_utf8_unchecked(bytes) };
    result.map(|()| read)
}

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
        // SAFETY: this step owns the vector, and replaces it by a new one when it takes it.
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
