//! The registration of one I/O source with its runtime. Sockets, pipes and other descriptors wait through it.
//!
//! Invariant: readiness is cleared only after a call that has exhausted the source: it returned `WouldBlock`, or a short
//! read or write (see [`PollEvented`](super::PollEvented)). Only the readiness that was known before the call is cleared.

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
    /// Registers a source with the current runtime. Panics if there is none; otherwise see [`Handle::register`].
    #[track_caller]
    pub(crate) fn new(source: &mut impl Source, interest: Interest) -> io::Result<Self> {
        let source = Handle::current().register(source, interest)?;
        Ok(Self { source })
    }

    /// Deregisters the source from the system. The caller may keep or close it afterwards.
    pub(crate) fn deregister(&self, source: &mut impl Source) -> io::Result<()> {
        self.source.deregister(source)
    }

    // --- waiting ---

    /// Ready once the source may be readable. Only the task that polled last is woken.
    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<ReadyEvent>> {
        self.poll_ready(cx, Direction::Read)
    }

    /// Ready once the source may be writable. Only the task that polled last is woken.
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

    /// Waits until the source is ready for one of the interests. Any number of tasks may wait. Cancel safe.
    pub(crate) async fn readiness(&self, interest: Interest) -> io::Result<ReadyEvent> {
        checked(self.source.wait(interest).await)
    }

    pub(crate) fn ready_event(&self, interest: Interest) -> ReadyEvent {
        self.source.ready_event(interest)
    }

    /// Called after a call has exhausted the source. `event` was read before the call.
    pub(crate) fn clear_readiness(&self, event: ReadyEvent) {
        self.source.clear(event);
    }

    /// Assumes readiness before the first event, so that the first attempt is made at once.
    #[cfg(feature = "net")]
    pub(crate) fn assume_ready(&self, ready: Ready) {
        self.source.assume(ready);
    }

    // --- trying ---

    /// Calls `read` once the source is readable, and again after `WouldBlock`.
    pub(crate) fn poll_read_io<R>(
        &self,
        cx: &mut Context<'_>,
        read: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io(cx, Direction::Read, read)
    }

    /// Calls `write` once the source is writable, and again after `WouldBlock`.
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

    /// Calls `attempt` if the source is known to be ready. Returns `WouldBlock` if it is not, or if `attempt` returns
    /// it.
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

    /// Calls `attempt` whenever the source is ready, until it returns anything but `WouldBlock`. Any number of tasks
    /// may wait. Cancel safe.
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
