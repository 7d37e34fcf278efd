//! A source that is registered with a reactor.
//!
//! Invariant: the entry belongs to the source until the [`RegisteredSource`] is dropped. It lives as long as the reactor,
//! which the `RegisteredSource` keeps alive.

use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use mio::event::Source;

use super::reactor::Reactor;
use super::registrations::Entry;
use super::scheduled_io::ScheduledIo;

/// Dereferences to the source's [`ScheduledIo`], so that a poll goes there directly.
pub(crate) struct RegisteredSource {
    reactor: Arc<Reactor>,
    entry: NonNull<Entry>,
}

// SAFETY: `Entry` and `Reactor` are `Send` and `Sync`, as checked below, and the entry is only used by shared reference.
unsafe impl Send for RegisteredSource {}
// SAFETY: a shared `RegisteredSource` gives only shared references to `Entry` and `Reactor`, which are `Sync`.
unsafe impl Sync for RegisteredSource {}

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Entry>();
    is_send_and_sync::<Reactor>();
};

impl RegisteredSource {
    /// # Safety
    /// `entry` was acquired from the registrations of `reactor`, and is released only by this value's drop.
    pub(super) unsafe fn new(reactor: &Arc<Reactor>, entry: &Entry) -> Self {
        Self {
            reactor: Arc::clone(reactor),
            entry: NonNull::from(entry),
        }
    }

    pub(crate) fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.reactor.deregister(source)
    }

    #[inline]
    fn entry(&self) -> &Entry {
        // SAFETY: `Registrations` neither moves nor frees an entry while the reactor lives, and `reactor` keeps it alive.
        unsafe { self.entry.as_ref() }
    }
}

impl Deref for RegisteredSource {
    type Target = ScheduledIo;

    #[inline]
    fn deref(&self) -> &ScheduledIo {
        &self.entry().io
    }
}

impl Drop for RegisteredSource {
    fn drop(&mut self) {
        self.reactor.release(self.entry());
    }
}
