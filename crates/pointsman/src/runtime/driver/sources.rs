//! The place of one source at the reactor of a runtime.
//!
//! Invariant: the place is the source's from its registration until this is dropped, and the reactor lives as long.

use std::io;

use mio::event::Source;

use super::super::handle::Handle;
use super::Reactor;
use super::readiness::Readiness;
use crate::io::Interest;

pub(crate) struct Place {
    handle: Handle,
    index: u32,
}

impl Place {
    /// Registers a source at the runtime that is the current one.
    ///
    /// # Errors
    /// If the runtime is ending, or the system refuses the source.
    ///
    /// # Panics
    /// If there is no current runtime, or it has no I/O.
    #[track_caller]
    pub(crate) fn new(source: &mut impl Source, interest: Interest) -> io::Result<Self> {
        let handle = Handle::current();
        let shared = handle.shared();
        let reactor = reactor_of(&handle);
        let (index, is_first) = reactor.register(source, interest, shared.worker_index())?;
        if is_first {
            shared.tell_driver();
        }
        Ok(Self { handle, index })
    }

    pub(crate) fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.reactor().deregister(source)
    }

    pub(crate) fn readiness(&self) -> &Readiness {
        self.reactor().readiness(self.index)
    }

    fn reactor(&self) -> &Reactor {
        let reactor = self.handle.shared().reactor();
        reactor.expect("it has registered a source")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.reactor().release(self.index);
    }
}

#[track_caller]
fn reactor_of(handle: &Handle) -> &Reactor {
    let Some(reactor) = handle.shared().reactor() else {
        panic!(
            "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime \
             builder to enable IO. (The runtime is that of pointsman.)"
        );
    };
    reactor
}

/// The runtime calls `deliver` when there is something to read in what tells of signals, from now on. The source has to
/// outlive all runtimes, and be the same each time.
///
/// # Errors
/// If the runtime has ended, or the system refuses the source.
///
/// # Panics
/// If the runtime has no I/O.
#[cfg(all(unix, any(feature = "process", feature = "signal")))]
#[track_caller]
pub(crate) fn watch_signals(
    handle: &Handle,
    source: &mut impl Source,
    deliver: fn(),
) -> io::Result<()> {
    if reactor_of(handle).watch_signals(source, deliver)? {
        handle.shared().tell_driver();
    }
    Ok(())
}
