//! Pidfds: descriptors that become readable when their process exits.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Child;

use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Registry, Token};

use crate::io::{Interest, PollEvented};

pub(super) type Registered = PollEvented<Pidfd>;

pub(super) struct Pidfd(OwnedFd);

/// Opens a pidfd of a child that is not yet reaped, and registers it with the current runtime.
///
/// # Errors
/// If the kernel lacks pidfds, a sandbox forbids them, too many descriptors are open, or the runtime has shut down.
pub(super) fn register(child: &Child) -> io::Result<Registered> {
    // SAFETY: the call takes two integers and no pointer.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    if descriptor == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded, so the descriptor is open and no other code owns it.
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
