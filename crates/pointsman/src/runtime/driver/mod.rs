//! What a runtime waits for: timers and sources of I/O.
//!
//! One of the workers that sleep holds the driver: it sleeps until the system tells of a source, and no longer than
//! until the next timer. The others sleep until somebody wakes them. The holder runs no task before it has let go of
//! the driver. Workers that are busy look now and then too; with I/O the driver is left to them as long as one is awake.
//!
//! Invariant: while a timer or a source waits, the holder knows of it, or a worker or the watchdog is awake that will
//! look. Whoever registers a timer that comes before all others, or the first source, tells the holder; whoever begins
//! to hold looks at them after that.

#[cfg(all(test, loom, feature = "reactor"))]
mod loom_tests;
#[cfg(feature = "reactor")]
mod reactor;
#[cfg(feature = "reactor")]
mod readiness;
#[cfg(feature = "reactor")]
mod slab;
#[cfg(feature = "reactor")]
mod sources;

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "reactor")]
pub(crate) use self::reactor::Reactor;
#[cfg(feature = "reactor")]
pub(crate) use self::readiness::{Direction, ReadyEvent};
#[cfg(feature = "reactor")]
pub(crate) use self::sources::Place;
#[cfg(all(unix, any(feature = "process", feature = "signal")))]
pub(crate) use self::sources::watch_signals;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, AtomicUsize, fence};
use crate::park::ThreadParker;
use crate::time;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Without features there are no sources.
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
}

pub(crate) struct Driver {
    /// `None` where time was not enabled.
    time: Option<Arc<time::Driver>>,
    /// `None` where I/O was not enabled.
    reactor: Option<Reactor>,
    is_held: AtomicBool,
    /// Somebody who sleeps is to hold it, though others are awake.
    is_holder_wanted: AtomicBool,
    /// Written by the holder.
    holder: Mutex<Option<Arc<ThreadParker>>>,
    /// How often somebody has held it, or has looked for I/O.
    turns: AtomicUsize,
}

/// The right to wait for what the driver has, until it is dropped.
pub(super) struct Held<'a>(&'a Driver);

impl Driver {
    pub(super) fn new(time: Option<Arc<time::Driver>>, reactor: Option<Reactor>) -> Self {
        Self {
            time,
            reactor,
            is_held: AtomicBool::new(false),
            is_holder_wanted: AtomicBool::new(false),
            holder: Mutex::new(None),
            turns: AtomicUsize::new(0),
        }
    }

    pub(super) fn time(&self) -> Option<&Arc<time::Driver>> {
        self.time.as_ref()
    }

    #[cfg(feature = "reactor")]
    pub(super) fn reactor(&self) -> Option<&Reactor> {
        self.reactor.as_ref()
    }

    /// The reactor, once a source was registered.
    fn used_reactor(&self) -> Option<&Reactor> {
        self.reactor.as_ref().filter(|reactor| reactor.is_used())
    }

    /// Takes the driver, if nobody has it.
    pub(super) fn try_hold(&self, parker: &Arc<ThreadParker>) -> Option<Held<'_>> {
        if (self.time.is_none() && self.reactor.is_none()) || self.is_held.load(Relaxed) {
            return None;
        }
        let mut holder = lock(&self.holder);
        // ORDERING: SeqCst: see below.
        if self.is_held.swap(true, SeqCst) {
            return None;
        }
        *holder = Some(Arc::clone(parker));
        self.is_holder_wanted.store(false, Relaxed);
        self.count_turn();
        // ORDERING: SeqCst pairs with that of `tell_holder`: what is new is seen by `Held::park`, or the holder there.
        fence(SeqCst);
        Some(Held(self))
    }

    /// Before one that sleeps is unparked.
    pub(super) fn want_holder(&self) {
        self.is_holder_wanted.store(true, Relaxed);
    }

    pub(super) fn is_holder_wanted(&self) -> bool {
        self.is_holder_wanted.load(Relaxed)
    }

    /// A timer was registered that comes before all others, or the first source. False if nobody holds the driver, and
    /// would wait for it.
    pub(super) fn tell_holder(&self) -> bool {
        // ORDERING: SeqCst: see `try_hold`.
        fence(SeqCst);
        if !self.is_held.load(SeqCst) {
            return false;
        }
        if let Some(holder) = &*lock(&self.holder) {
            holder.unpark();
        }
        true
    }

    // --- looking, for threads that don't sleep ---

    /// Fires timers that are due.
    pub(super) fn fire(&self) {
        if let Some(time) = self.time.as_ref().filter(|time| time.next_is_due()) {
            time.fire();
        }
    }

    /// Hands on what the system tells of I/O, unless another thread waits for that.
    pub(super) fn look_at_io(&self) {
        if let Some(reactor) = self.used_reactor() {
            if !self.is_held.load(Relaxed) && reactor.try_turn() {
                self.count_turn();
            }
        }
    }

    /// Fires what is due if nobody holds the driver, and says how long it is until the next timer then.
    pub(super) fn fire_if_unattended(&self) -> Option<Duration> {
        let time = self.time.as_ref()?;
        // ORDERING: SeqCst: see `try_hold`.
        if self.is_held.load(SeqCst) {
            return None;
        }
        self.fire();
        time.until_next()
    }

    pub(super) fn until_next_timer(&self) -> Option<Duration> {
        self.time.as_ref()?.until_next()
    }

    /// Whether there are timers or sources, and nobody holds the driver.
    pub(super) fn is_unattended(&self) -> bool {
        let next = || self.time.as_ref().and_then(|time| time.until_next());
        // ORDERING: SeqCst: see `try_hold`.
        (self.used_reactor().is_some() || next().is_some()) && !self.is_held.load(SeqCst)
    }

    /// Whether a source was ever registered.
    pub(super) fn has_sources(&self) -> bool {
        self.used_reactor().is_some()
    }

    /// Whether there are sources, and nobody holds the driver.
    pub(super) fn is_io_unattended(&self) -> bool {
        // ORDERING: SeqCst: see `try_hold`.
        self.used_reactor().is_some() && !self.is_held.load(SeqCst)
    }

    /// Changes while somebody looks for I/O.
    pub(super) fn turns(&self) -> usize {
        self.turns.load(Relaxed)
    }

    /// Only a sign of life: where two count at once one of them may be lost.
    fn count_turn(&self) {
        let turns = self.turns.load(Relaxed);
        self.turns.store(turns.wrapping_add(1), Relaxed);
    }

    /// Whether the clock stands still.
    pub(super) fn is_paused(&self) -> bool {
        self.time.as_ref().is_some_and(|time| time.is_paused())
    }

    /// Nothing waits for it any more.
    pub(super) fn shut_down(&self) {
        if let Some(time) = &self.time {
            time.shutdown();
        }
        if let Some(reactor) = &self.reactor {
            reactor.shut_down();
        }
    }
}

impl Held<'_> {
    /// Waits until the thread is unparked, a source is ready, or a timer is due; the caller fires the timer. If sources
    /// are ready, calls `before_wakers` and then wakes their tasks.
    pub(super) fn park(&self, parker: &ThreadParker, before_wakers: impl FnOnce()) {
        let until_next = self.0.time.as_ref().and_then(|time| time.until_next());
        match self.0.used_reactor() {
            Some(reactor) => reactor.park(parker, until_next, before_wakers),
            None => parker.park(until_next),
        }
        self.0.count_turn();
    }

    pub(super) fn is_due(&self) -> bool {
        self.0.time.as_ref().is_some_and(|time| time.next_is_due())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *lock(&self.0.holder) = None;
        // ORDERING: SeqCst: see `try_hold`.
        self.0.is_held.store(false, SeqCst);
    }
}
