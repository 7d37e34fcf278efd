//! The driver: waits for a runtime's timers and I/O sources.
//!
//! At most one sleeping worker holds the driver. It waits in the operating system until a source is ready or the next
//! timer is due; other sleepers wait until they are unparked. The holder runs no task before it has released the
//! driver. Workers that are awake poll for timers and I/O between tasks.
//!
//! Invariant: while a timer or a source is registered, the holder waits for it, or a worker or the watchdog is awake
//! that will check it. A thread that registers the earliest timer or the first source notifies the holder afterwards; a
//! worker that takes the driver reads the timers and sources afterwards.

#[cfg(feature = "reactor")]
mod interest;
#[cfg(all(test, loom, feature = "reactor"))]
mod loom_tests;
#[cfg(feature = "reactor")]
mod reactor;
#[cfg(feature = "reactor")]
mod ready;
#[cfg(feature = "reactor")]
mod registrations;
#[cfg(feature = "reactor")]
mod scheduled_io;
#[cfg(feature = "reactor")]
mod source;
#[cfg(all(test, not(loom), unix, feature = "net"))]
mod tests;

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "reactor")]
pub use self::interest::Interest;
#[cfg(feature = "reactor")]
pub(crate) use self::reactor::Reactor;
#[cfg(feature = "reactor")]
pub use self::ready::Ready;
#[cfg(feature = "reactor")]
pub(crate) use self::scheduled_io::{Direction, ReadyEvent};
#[cfg(feature = "reactor")]
pub(crate) use self::source::RegisteredSource;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, fence};
use crate::park::ThreadParker;
use crate::time;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Without the feature there are no sources.
#[cfg(not(feature = "reactor"))]
pub(crate) enum Reactor {}

#[cfg(not(feature = "reactor"))]
impl Reactor {
    fn is_used(&self) -> bool {
        match *self {}
    }

    fn try_turn(&self) -> bool {
        match *self {}
    }

    fn park(&self, _: &ThreadParker, _: Option<Duration>, _: impl FnOnce()) {
        match *self {}
    }

    fn shut_down(&self) {
        match *self {}
    }

    #[cfg(feature = "diagnostics")]
    fn turns(&self) -> u64 {
        match *self {}
    }

    #[cfg(feature = "diagnostics")]
    fn has_events(&self) -> bool {
        match *self {}
    }
}

pub(crate) struct Driver {
    /// `None` if time is not enabled.
    time: Option<Arc<time::Driver>>,
    /// `None` if I/O is not enabled.
    reactor: Option<Arc<Reactor>>,
    is_held: AtomicBool,
    /// A sleeper should hold the driver although workers are awake.
    is_holder_wanted: AtomicBool,
    /// Set and cleared by the holder.
    holder: Mutex<Option<Arc<ThreadParker>>>,
}

/// Holds the driver until it is dropped.
pub(super) struct DriverGuard<'a>(&'a Driver);

impl Driver {
    pub(super) fn new(time: Option<Arc<time::Driver>>, reactor: Option<Arc<Reactor>>) -> Self {
        Self {
            time,
            reactor,
            is_held: AtomicBool::new(false),
            is_holder_wanted: AtomicBool::new(false),
            holder: Mutex::new(None),
        }
    }

    pub(super) fn time(&self) -> Option<&Arc<time::Driver>> {
        self.time.as_ref()
    }

    #[cfg(feature = "reactor")]
    pub(super) fn reactor(&self) -> Option<&Arc<Reactor>> {
        self.reactor.as_ref()
    }

    /// The reactor, once a source was registered.
    fn used_reactor(&self) -> Option<&Reactor> {
        self.reactor.as_deref().filter(|reactor| reactor.is_used())
    }

    // --- the holder ---

    /// Takes the driver, unless another thread holds it.
    pub(super) fn try_hold(&self, parker: &Arc<ThreadParker>) -> Option<DriverGuard<'_>> {
        if (self.time.is_none() && self.reactor.is_none()) || self.is_held.load(Relaxed) {
            return None;
        }
        let mut holder = lock(&self.holder);
        // ORDERING: SeqCst, so that the fence below orders it before the holder's reads.
        if self.is_held.swap(true, SeqCst) {
            return None;
        }
        *holder = Some(Arc::clone(parker));
        parker.set_holds_driver(true);
        self.is_holder_wanted.store(false, Relaxed);
        // ORDERING: SeqCst pairs with the fence of `notify_holder`: either `DriverGuard::park` sees a new timer or source,
        // or the thread that registered it sees the holder. Likewise either `Reactor::park` sees that another thread has
        // polled, or that thread sees the holder.
        fence(SeqCst);
        Some(DriverGuard(self))
    }

    /// Called before a sleeper is unparked to hold the driver.
    pub(super) fn want_holder(&self) {
        self.is_holder_wanted.store(true, Relaxed);
    }

    pub(super) fn is_holder_wanted(&self) -> bool {
        self.is_holder_wanted.load(Relaxed)
    }

    /// Unparks the holder after the earliest timer or the first source was registered, or after this thread has polled.
    /// Returns false if no thread holds the driver.
    pub(super) fn notify_holder(&self) -> bool {
        // ORDERING: SeqCst pairs with the fence of `try_hold`.
        fence(SeqCst);
        // ORDERING: SeqCst, after the fence.
        if !self.is_held.load(SeqCst) {
            return false;
        }
        if let Some(holder) = &*lock(&self.holder) {
            holder.unpark();
        }
        true
    }

    // --- threads that are awake ---

    pub(super) fn fire(&self) {
        if let Some(time) = self.time.as_ref().filter(|time| time.next_is_due()) {
            time.fire();
        }
    }

    /// Polls for I/O without waiting, unless a thread holds the driver.
    pub(super) fn poll_io(&self) {
        if let Some(reactor) = self.used_reactor() {
            if !self.is_held.load(Relaxed) && reactor.try_turn() {
                // A thread that has taken the driver during the poll could not poll.
                self.notify_holder();
            }
        }
    }

    /// Fires the timers that are due and returns the time until the next one, unless a thread holds the driver.
    pub(super) fn fire_if_unattended(&self) -> Option<Duration> {
        let time = self.time.as_ref()?;
        // ORDERING: SeqCst: a holder that this load does not see has a later fence in `try_hold`, and so sees the timers.
        if self.is_held.load(SeqCst) {
            return None;
        }
        self.fire();
        time.until_next()
    }

    pub(super) fn until_next_timer(&self) -> Option<Duration> {
        self.time.as_ref()?.until_next()
    }

    pub(super) fn is_unattended(&self) -> bool {
        // ORDERING: SeqCst: see `fire_if_unattended`.
        (self.has_sources() || self.until_next_timer().is_some()) && !self.is_held.load(SeqCst)
    }

    /// Whether a source was ever registered.
    pub(super) fn has_sources(&self) -> bool {
        self.used_reactor().is_some()
    }

    pub(super) fn is_io_unattended(&self) -> bool {
        // ORDERING: SeqCst: see `fire_if_unattended`.
        self.has_sources() && !self.is_held.load(SeqCst)
    }

    /// Returns the number of polls so far, if there are I/O events that no poll has taken.
    #[cfg(feature = "diagnostics")]
    pub(super) fn polls_before_events(&self) -> Option<usize> {
        let reactor = self.reactor.as_deref()?;
        reactor.has_events().then(|| reactor.turns() as usize)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.time.as_ref().is_some_and(|time| time.is_paused())
    }

    /// Ends all waits for timers and I/O.
    pub(super) fn shut_down(&self) {
        if let Some(time) = &self.time {
            time.shutdown();
        }
        if let Some(reactor) = &self.reactor {
            reactor.shut_down();
        }
    }
}

impl DriverGuard<'_> {
    /// Waits until the thread is unparked, a source is ready, or a timer is due; the caller fires the timer. If sources
    /// are ready, calls `before_wakers` and then wakes their tasks.
    pub(super) fn park(&self, parker: &ThreadParker, before_wakers: impl FnOnce()) {
        let until_next = self.0.until_next_timer();
        match self.0.used_reactor() {
            Some(reactor) => reactor.park(parker, until_next, before_wakers),
            None => parker.park(until_next),
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.0.time.as_ref().is_some_and(|time| time.next_is_due())
    }
}

impl Drop for DriverGuard<'_> {
    fn drop(&mut self) {
        if let Some(holder) = lock(&self.0.holder).take() {
            holder.set_holds_driver(false);
        }
        // ORDERING: SeqCst: `Shared::attend_to_driver` fences after it, and then sees what was left to this holder.
        self.0.is_held.store(false, SeqCst);
    }
}
