//! A source of I/O that is used as soon as it is ready.
//!
//! Invariant: the source is registered as long as it is here, and is not closed before that has ended.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::task::{Context, Poll, ready};

use mio::event::Source;

use super::{Interest, ReadBuf, Ready, Registration};

/// See the module. It is used by `&self`: who owns it sees that one task reads at a time, and one writes.
pub(crate) struct PollEvented<E: Source> {
    /// `None` once it was taken out.
    io: Option<E>,
    registration: Registration,
}

impl<E: Source> PollEvented<E> {
    /// Registers a source, to be read and written, at the runtime that is the current one.
    ///
    /// # Errors
    /// If the runtime is ending, or the system refuses the source.
    ///
    /// # Panics
    /// If there is no current runtime, or it has no I/O.
    #[track_caller]
    pub(crate) fn new(io: E) -> io::Result<Self> {
        Self::new_with_interest(io, Interest::READABLE | Interest::WRITABLE)
    }

    /// As [`new`](Self::new), for this interest alone.
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

    /// Takes the source out. It is not registered any more.
    pub(crate) fn into_inner(mut self) -> io::Result<E> {
        let mut io = self.io.take().expect("it is taken out once");
        self.registration.deregister(&mut io)?;
        Ok(io)
    }

    /// Reads into the buffer as soon as there is something.
    ///
    /// # Safety
    /// The source does not read what is in the buffer, and has written as much as it says.
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
            // SAFETY: what is in there may be uninitialized: the caller has promised that it is not read.
            let unfilled = unsafe { &mut *(ptr::from_mut(buf.unfilled_mut()) as *mut [u8]) };
            let room = unfilled.len();
            let mut io: &'a E = self;
            match io.read(unfilled) {
                Ok(count) => {
                    // A source that had less than was asked for has no more: the next read would only be told to wait.
                    if 0 < count && count < room && LESS_IS_ALL {
                        self.registration
                            .clear_readiness(event.with_ready(Ready::READABLE));
                    }
                    // SAFETY: the source has written so many, the caller has promised.
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

    /// Writes as much as there is room for, as soon as there is some.
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
                    // What took less than it was given has no more room.
                    if 0 < count && count < length && LESS_IS_ALL {
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

/// Where the system tells of each change of a stream, so that a short read or write says as much as `WouldBlock`. With
/// IOCP and `poll` mio tells only after a `WouldBlock`.
const LESS_IS_ALL: bool = cfg!(any(
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
        self.io.as_ref().expect("it is there until it is taken out")
    }
}

impl<E: Source> Drop for PollEvented<E> {
    fn drop(&mut self) {
        if let Some(mut io) = self.io.take() {
            // It is closed next, whatever the system says.
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
