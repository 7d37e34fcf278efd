//! Pipe ends registered with a runtime.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::task::{Context, Poll};

use mio::unix::pipe;

use crate::io::{Interest, PollEvented, ReadBuf};

#[derive(Debug)]
pub(in crate::process) struct Writer(PollEvented<pipe::Sender>);

#[derive(Debug)]
pub(in crate::process) struct Reader(PollEvented<pipe::Receiver>);

macro_rules! ends {
    ($($type:ident, $end:ident, $interest:ident;)*) => {$(
        impl $type {
            #[track_caller]
            pub(in crate::process) fn new(pipe: impl Into<pipe::$end>) -> io::Result<Self> {
                let pipe = pipe.into();
                pipe.set_nonblocking(true)?;
                PollEvented::new_with_interest(pipe, Interest::$interest).map(Self)
            }

            /// Returns the descriptor, in blocking mode, as programs expect of their standard streams.
            pub(in crate::process) fn into_owned(self) -> io::Result<OwnedFd> {
                let pipe = self.0.into_inner()?;
                pipe.set_nonblocking(false)?;
                Ok(pipe.into())
            }

            pub(in crate::process) fn as_raw(&self) -> RawFd {
                self.0.as_raw_fd()
            }
        }
    )*};
}

ends! {
    Writer, Sender, WRITABLE;
    Reader, Receiver, READABLE;
}

impl Writer {
    pub(in crate::process) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, buf)
    }

    pub(in crate::process) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write_vectored(cx, bufs)
    }

    /// Does nothing: writes are not buffered.
    pub(in crate::process) fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Reader {
    pub(in crate::process) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: mio reads a pipe by one system call, which only writes to the buffer and returns how much it wrote.
        unsafe { self.0.poll_read(cx, buf) }
    }
}
