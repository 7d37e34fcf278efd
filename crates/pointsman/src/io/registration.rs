//! One source of I/O and what its runtime knows of it: all that sockets, pipes and other descriptors wait by.
//!
//! Invariant: readiness is cleared only after the source itself has said that it would block, and only that which was
//! known before it was asked.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use mio::event::Source;

use super::Interest;
#[cfg(feature = "net")]
use super::Ready;
use crate::runtime::driver::{Direction, ReadyEvent, RegisteredSource};
use crate::runtime::{Handle, shutdown_error};
use crate::task::coop;

pub(crate) struct Registration {
    source: RegisteredSource,
}

impl Registration {
    /// Registers a source at the runtime that is the current one.
    ///
    /// # Errors
    /// If the runtime is ending, or the system refuses the source.
    ///
    /// # Panics
    /// If there is no current runtime, or it has no I/O.
    #[track_caller]
    pub(crate) fn new(source: &mut impl Source, interest: Interest) -> io::Result<Self> {
        let source = Handle::current().register(source, interest)?;
        Ok(Self { source })
    }

    /// The system tells no more of the source, which lives on or is closed next.
    pub(crate) fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.source.deregister(source)
    }

    // --- waiting ---

    /// Ready when reading may not block. The task that polls last is woken.
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<ReadyEvent>> {
        self.poll_ready(cx, Direction::Read)
    }

    /// Ready when writing may not block. The task that polls last is woken.
    pub(crate) fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<ReadyEvent>> {
        self.poll_ready(cx, Direction::Write)
    }

    fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        let budget = ready!(coop::poll_proceed(cx));
        let event = ready!(self.source.poll(cx, direction));
        budget.made_progress();
        Poll::Ready(checked(event))
    }

    /// Waits until the source is ready for one of these. Any number of tasks may; giving up leaves no trace.
    pub(crate) async fn readiness(&self, interest: Interest) -> io::Result<ReadyEvent> {
        checked(self.source.wait(interest).await)
    }

    /// What is known now.
    pub(crate) fn ready_event(&self, interest: Interest) -> ReadyEvent {
        self.source.ready_event(interest)
    }

    /// The source has said that it would block.
    pub(crate) fn clear_readiness(&self, event: ReadyEvent) {
        self.source.clear(event);
    }

    /// It is most likely ready, before the system has told so: the first attempt is made at once.
    #[cfg(feature = "net")]
    pub(crate) fn assume_ready(&self, ready: Ready) {
        self.source.assume(ready);
    }

    // --- trying ---

    /// Reads by `read`, which is to give `WouldBlock` where it would block, as soon as that is possible.
    pub(crate) fn poll_read_io<R>(
        &self,
        cx: &mut Context<'_>,
        read: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io(cx, Direction::Read, read)
    }

    /// Writes by `write`, as [`poll_read_io`](Self::poll_read_io) reads.
    pub(crate) fn poll_write_io<R>(
        &self,
        cx: &mut Context<'_>,
        write: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io(cx, Direction::Write, write)
    }

    fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut attempt: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            let event = ready!(self.poll_ready(cx, direction))?;
            match attempt() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.clear_readiness(event);
                }
                result => return Poll::Ready(result),
            }
        }
    }

    /// Tries `attempt` if the source is known to be ready; `WouldBlock` if it is not, or says so.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        attempt: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let event = self.ready_event(interest);
        if event.ready.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = attempt();
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            self.clear_readiness(event);
        }
        result
    }

    /// Tries `attempt` whenever the source is ready, until it gives anything but `WouldBlock`. Any number of tasks may;
    /// giving up leaves no trace.
    pub(crate) async fn async_io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let event = self.readiness(interest).await?;
            let budget = poll_fn(coop::poll_proceed).await;
            match attempt() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.clear_readiness(event);
                }
                result => {
                    budget.made_progress();
                    return result;
                }
            }
        }
    }
}

fn checked(event: ReadyEvent) -> io::Result<ReadyEvent> {
    match event.is_shut_down {
        true => Err(shutdown_error()),
        false => Ok(event),
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = Interest::READABLE | Interest::WRITABLE;
        f.debug_struct("Registration")
            .field("ready", &self.ready_event(all).ready)
            .finish_non_exhaustive()
    }
}
