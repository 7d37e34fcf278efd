//! What the sockets and pipes do with their registered source: wait for readiness, and try to read and write.
//!
//! The public methods of each type forward to these. None of them blocks: each tries one system call, and a
//! `WouldBlock` clears the readiness that it was based on.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::task::{Context, Poll};

use mio::event::Source;

#[cfg(feature = "io-util")]
use super::fill::fill_buf;
use crate::io::{Interest, PollEvented, Ready};

impl<E: Source> PollEvented<E> {
    pub(super) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        let event = self.registration().readiness(interest).await?;
        Ok(event.ready)
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await.map(drop)
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(drop)
    }

    pub(super) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration().poll_read_ready(cx).map_ok(drop)
    }

    pub(super) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration().poll_write_ready(cx).map_ok(drop)
    }
}

impl<E: Source> PollEvented<E>
where
    for<'a> &'a E: Read,
{
    pub(super) fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.registration()
            .try_io(Interest::READABLE, || (&**self).read(buf))
    }

    pub(super) fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.registration()
            .try_io(Interest::READABLE, || (&**self).read_vectored(bufs))
    }

    /// # Safety
    /// The source's `read` writes to its buffer without reading it, and returns the number of bytes written.
    #[cfg(feature = "io-util")]
    pub(super) unsafe fn try_read_buf(&self, buf: &mut impl bytes::BufMut) -> io::Result<usize> {
        let result = self.registration().try_io(Interest::READABLE, || {
            // SAFETY: `fill_buf` asks of `read` what the caller guarantees.
            unsafe { fill_buf(buf, |free| (&**self).read(free).map(|count| (count, ()))) }
        });
        result.map(|(count, ())| count)
    }
}

impl<E: Source> PollEvented<E>
where
    for<'a> &'a E: Write,
{
    pub(super) fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.registration()
            .try_io(Interest::WRITABLE, || (&**self).write(buf))
    }

    pub(super) fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.registration()
            .try_io(Interest::WRITABLE, || (&**self).write_vectored(bufs))
    }
}
