//! Descriptors of processes, which can be read once the process has ended.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Child;

use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Registry, Token};

use crate::io::{Interest, PollEvented};

pub(super) type Registered = PollEvented<Pidfd>;

pub(super) struct Pidfd(OwnedFd);

/// Opens the descriptor of a child, which has not been found to have ended, at the current runtime.
///
/// # Errors
/// If the system is older than these descriptors, a sandbox forbids them, there are no more, or the runtime has ended.
pub(super) fn register(child: &Child) -> io::Result<Registered> {
    // SAFETY: it takes two numbers, and gives a descriptor that is the caller's, or -1.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    if descriptor == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as _) };
    PollEvented::new_with_interest(Pidfd(descriptor), Interest::READABLE)
}

impl Source for Pidfd {
    fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interests: mio::Interest,
    ) -> io::Result<()> {
        SourceFd(&self.0.as_raw_fd()).register(registry, token, interests)
    }

    fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interests: mio::Interest,
    ) -> io::Result<()> {
        SourceFd(&self.0.as_raw_fd()).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.0.as_raw_fd()).deregister(registry)
    }
}
