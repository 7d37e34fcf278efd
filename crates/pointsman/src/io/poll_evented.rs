//! An I/O source with its registration.
//!
//! Invariant: the source is registered while it is in here, and is deregistered before it is closed.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::task::{Context, Poll, ready};

use mio::event::Source;

use super::{Interest, ReadBuf, Ready, Registration};

/// The methods take `&self`; the owner ensures that at most one task reads and one writes at a time.
pub(crate) struct PollEvented<E: Source> {
    /// `None` after `into_inner`.
    io: Option<E>,
    registration: Registration,
}

impl<E: Source> PollEvented<E> {
    /// Registers a source for reading and writing; see [`Registration::new`].
    #[track_caller]
    pub(crate) fn new(io: E) -> io::Result<Self> {
        Self::new_with_interest(io, Interest::READABLE | Interest::WRITABLE)
    }

    #[track_caller]
    pub(crate) fn new_with_interest(mut io: E, interest: Interest) -> io::Result<Self> {
        let registration = Registration::new(&mut io, interest)?;
        Ok(Self {
            io: Some(io),
            registration,
        })
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    pub(crate) fn into_inner(mut self) -> io::Result<E> {
        let mut io = self.io.take().expect("`into_inner` consumes it");
        self.registration.deregister(&mut io)?;
        Ok(io)
    }

    /// Reads into the buffer once the source is readable.
    ///
    /// # Safety
    /// `read` of the source does not read from the buffer, and has written as many bytes as it returns.
    pub(crate) unsafe fn poll_read<'a>(
        &'a self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>
    where
        &'a E: Read,
    {
        loop {
            let event = ready!(self.registration.poll_read_ready(cx))?;
            // SAFETY: the slice may be uninitialized. The caller promises that the source only writes to it.
            let unfilled = unsafe { &mut *(ptr::from_mut(buf.unfilled_mut()) as *mut [u8]) };
            let room = unfilled.len();
            let mut io: &'a E = self;
            match io.read(unfilled) {
                Ok(count) => {
                    // After a short read the source is empty, so the next read would return `WouldBlock`.
                    if 0 < count && count < room && SHORT_MEANS_BLOCKED {
                        self.registration
                            .clear_readiness(event.with_ready(Ready::READABLE));
                    }
                    // SAFETY: the caller promises that the source has written `count` bytes.
                    unsafe { buf.assume_init(count) };
                    buf.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.registration.clear_readiness(event);
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    pub(crate) fn poll_write<'a>(
        &'a self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>
    where
        &'a E: Write,
    {
        self.poll_write_by(cx, buf.len(), |mut io| io.write(buf))
    }

    /// As [`poll_write`](Self::poll_write), from several buffers.
    pub(crate) fn poll_write_vectored<'a>(
        &'a self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>
    where
        &'a E: Write,
    {
        let length = bufs.iter().map(|buf| buf.len()).sum();
        self.poll_write_by(cx, length, |mut io| io.write_vectored(bufs))
    }

    fn poll_write_by<'a>(
        &'a self,
        cx: &mut Context<'_>,
        length: usize,
        mut write: impl FnMut(&'a E) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let event = ready!(self.registration.poll_write_ready(cx))?;
            match write(self) {
                Ok(count) => {
                    // After a short write the source is full.
                    if 0 < count && count < length && SHORT_MEANS_BLOCKED {
                        self.registration
                            .clear_readiness(event.with_ready(Ready::WRITABLE));
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.registration.clear_readiness(event);
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// Whether the system reports each change of a stream, so that a short read or write says as much as `WouldBlock`. With
/// IOCP and `poll`, mio reports a change only after a `WouldBlock`.
const SHORT_MEANS_BLOCKED: bool = cfg!(any(
    target_os = "android",
    target_os = "illumos",
    target_os = "linux",
    target_os = "redox",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "ios",
    target_os = "macos",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "tvos",
    target_os = "visionos",
    target_os = "watchos",
));

impl<E: Source> Deref for PollEvented<E> {
    type Target = E;

    fn deref(&self) -> &E {
        self.io.as_ref().expect("present until `into_inner`")
    }
}

impl<E: Source> Drop for PollEvented<E> {
    fn drop(&mut self) {
        if let Some(mut io) = self.io.take() {
            // The source is closed next, so an error does not matter.
            let _ = self.registration.deregister(&mut io);
        }
    }
}

impl<E: Source + fmt::Debug> fmt::Debug for PollEvented<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollEvented").field("io", &self.io).finish()
    }
}

impl<E: Source> UnwindSafe for PollEvented<E> {}
impl<E: Source> RefUnwindSafe for PollEvented<E> {}
