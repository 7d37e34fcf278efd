//! A sleeping worker. It sleeps until it is called, sees something to do, or holds the driver and a timer is due.
//!
//! # Invariants
//!
//! - A worker parks only after it has announced that it sleeps and has then found nothing to do; see
//!   [`idle`](super::idle).
//! - Wakers run in a worker that is awake and does not search: no producer relies on it meanwhile.
//! - A worker that held the driver and has other work checks the driver between tasks, and has the watchdog watch it.

use std::mem;

use super::Shared;
use super::idle::{Searching, WakeReason};
use super::worker::{Next, Worker};
use crate::loom::sync::atomic::fence;
use std::sync::atomic::Ordering::SeqCst;

impl Worker<'_> {
    /// Sleeps, unless a producer left a task to the search that ends here.
    pub(super) fn sleep(&mut self, searching: Option<Searching>) -> WakeReason {
        let shared = self.shared;
        self.count_busy();
        if self.finish_search(searching, Next::Sleep) {
            return shared.idle.wake(self.slot.index, self.parker);
        }
        #[cfg(feature = "diagnostics")]
        {
            self.until_clock = 0;
        }
        let polls = self.slot.polls();
        if mem::replace(&mut self.polls_at_park, polls) == polls {
            self.slot.counters.idle_parks.add(1);
        }
        self.slot.enter_rest();
        // Producers see the sleeper from here on. A call that arrives during this step is noticed after it.
        // SAFETY: this thread holds the slot, so it owns the slot's arena: see `slot`.
        unsafe { self.slot.arena().as_ref().collect() };
        shared.collect_arenas();
        self.slot.counters.parked.add(1);
        let mut driver = None;
        let mut reason = loop {
            let is_done = self.awaits_jobs && self.clock_may_advance();
            if is_done || self.sees_work() {
                break shared.idle.wake(self.slot.index, self.parker);
            }
            if driver.is_none() && shared.may_hold() {
                driver = shared.driver.try_hold(self.parker);
            }
            let mut is_up = false;
            match &driver {
                Some(driver) => driver.park(self.parker, || {
                    self.leave_rest();
                    self.get_up(shared.idle.wake(self.slot.index, self.parker));
                    is_up = true;
                }),
                None => self.parker.park(None),
            }
            if is_up {
                break WakeReason::Spontaneous;
            }
            if let Some(searching) = shared.idle.take_call(self.parker) {
                break WakeReason::Notified(searching);
            }
            if driver.as_ref().is_some_and(|driver| driver.is_due()) || self.clock_may_advance() {
                break shared.idle.wake(self.slot.index, self.parker);
            }
        };
        self.leave_rest();
        if let Some(driver) = driver {
            if driver.is_due() {
                self.get_up(reason);
                reason = WakeReason::Spontaneous;
                // Before the driver is released, so that no other worker is woken for a timer that is already due.
                shared.driver.fire();
            }
            drop(driver);
        }
        shared.attend_to_driver();
        self.slot.counters.unparked.add(1);
        reason
    }

    /// Ends the search that a call has begun, because the worker has other work first.
    pub(super) fn get_up(&self, reason: WakeReason) {
        if let WakeReason::Notified(searching) = reason {
            // Takes the task that it was called for.
            self.look(true);
            self.finish_search(Some(searching), Next::Work);
        }
    }
}

impl Shared {
    /// Whether a worker that sleeps should hold the driver. With I/O, it leaves the driver to workers that are awake:
    /// they poll for I/O in less time than a wake-up takes, and then find more events at once. If they do not, the
    /// watchdog asks for a holder, and for a while afterwards each sleeper takes the driver at once. Workers that are expected
    /// to be blocked do not count.
    ///
    /// Lab row: processor time of `echo` with 64 connections.
    fn may_hold(&self) -> bool {
        !self.driver.has_sources()
            || self.idle.workers().awake <= self.blockers.blocked()
            || self.driver.is_holder_wanted()
            || self.watchdog.has_seen_block()
    }

    /// Called by a worker that gets up and no longer holds the driver. It checks the driver again before another worker could
    /// be woken, unless a task blocks it.
    fn attend_to_driver(&self) {
        // ORDERING: SeqCst pairs with `Driver::notify_holder`: this thread sees the timers and sources of threads that
        // relied on the holder.
        fence(SeqCst);
        if self.driver.is_unattended() {
            self.watchdog.arm_for_driver(self);
        }
    }

    /// Called after the earliest timer or the first I/O source was registered.
    pub(in crate::runtime) fn notify_driver(&self) {
        if self.driver.notify_holder() || !self.driver.is_unattended() {
            return;
        }
        if self.own_slot().is_none() {
            self.driver.want_holder();
            if self.idle.unpark_one() {
                return;
            }
        }
        // The workers that are awake check the driver, unless a task blocks them.
        self.watchdog.arm_for_driver(self);
    }
}
