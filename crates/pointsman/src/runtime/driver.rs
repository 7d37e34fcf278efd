//! What a runtime waits for: timers; later sockets too.
//!
//! One of the workers that sleep holds the driver: it sleeps no longer than until the next timer. The others sleep
//! until somebody wakes them. The holder runs no task before it has let go of the driver.
//!
//! Invariant: while a timer waits, the holder knows of it, or a worker or the watchdog is awake that will look.
//! Whoever registers a timer that comes before all others tells the holder; whoever begins to hold looks at the timers
//! after that.

use std::sync::Arc;
use std::time::Duration;

use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, fence};
use crate::park::ThreadParker;
use crate::time;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

pub(crate) struct Driver {
    /// `None` where time was not enabled.
    time: Option<Arc<time::Driver>>,
    is_held: AtomicBool,
    /// Written by the holder.
    holder: Mutex<Option<Arc<ThreadParker>>>,
}

/// The right to wait for what the driver has, until it is dropped.
pub(super) struct Held<'a>(&'a Driver);

impl Driver {
    pub(super) fn new(time: Option<Arc<time::Driver>>) -> Self {
        Self {
            time,
            is_held: AtomicBool::new(false),
            holder: Mutex::new(None),
        }
    }

    pub(super) fn time(&self) -> Option<&Arc<time::Driver>> {
        self.time.as_ref()
    }

    /// Takes the driver, if nobody has it.
    pub(super) fn try_hold(&self, parker: &Arc<ThreadParker>) -> Option<Held<'_>> {
        if self.time.is_none() || self.is_held.load(Relaxed) {
            return None;
        }
        let mut holder = lock(&self.holder);
        // ORDERING: SeqCst: see below.
        if self.is_held.swap(true, SeqCst) {
            return None;
        }
        *holder = Some(Arc::clone(parker));
        // ORDERING: SeqCst pairs with that of `timer_is_earlier`: the timer is seen by `Held::park`, or the holder
        // there.
        fence(SeqCst);
        Some(Held(self))
    }

    /// A timer was registered that comes before all others. False if nobody holds the driver, and would wait for it.
    pub(super) fn timer_is_earlier(&self) -> bool {
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

    /// Fires what is due.
    pub(super) fn fire(&self) {
        if let Some(time) = self.time.as_ref().filter(|time| time.next_is_due()) {
            time.fire();
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

    /// Whether there are timers, and nobody holds the driver.
    pub(super) fn is_unattended(&self) -> bool {
        let next = self.time.as_ref().and_then(|time| time.until_next());
        // ORDERING: SeqCst: see `try_hold`.
        next.is_some() && !self.is_held.load(SeqCst)
    }

    /// Whether the clock stands still.
    pub(super) fn is_paused(&self) -> bool {
        self.time.as_ref().is_some_and(|time| time.is_paused())
    }
}

impl Held<'_> {
    /// Waits until the thread is unparked or a timer is due, which is for the caller to fire.
    pub(super) fn park(&self, parker: &ThreadParker) {
        parker.park(self.0.time.as_ref().and_then(|time| time.until_next()));
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
