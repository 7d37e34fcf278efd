//! A worker that sleeps: until it is called, sees something to do, or holds the driver and a timer is due.
//!
//! # Invariants
//!
//! - A worker parks only after it has announced that it sleeps and has then found nothing to do; see
//!   [`idle`](super::idle).
//! - Wakers run in a worker that is awake and does not search: no producer relies on it meanwhile.
//! - A worker that held the driver and has other work leaves the driver to another sleeper, or to the watchdog.

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
        // Producers already see the sleeper: a task that one enqueues wakes this worker after this step.
        // SAFETY: this thread holds the slot.
        unsafe { self.slot.arena().as_ref().collect() };
        shared.collect_arenas();
        self.slot.counters.parked.add(1);
        let mut held = None;
        let mut reason = loop {
            let is_done = self.awaits_jobs && self.clock_may_advance();
            if is_done || self.sees_work() {
                break shared.idle.wake(self.slot.index, self.parker);
            }
            if held.is_none() && shared.may_hold() {
                held = shared.driver.try_hold(self.parker);
            }
            let mut has_risen = false;
            match &held {
                Some(held) => held.park(self.parker, || {
                    self.rise(shared.idle.wake(self.slot.index, self.parker));
                    has_risen = true;
                }),
                None => self.parker.park(None),
            }
            if has_risen {
                break WakeReason::Spontaneous;
            }
            if let Some(searching) = shared.idle.take_call(self.parker) {
                break WakeReason::Called(searching);
            }
            if held.as_ref().is_some_and(|held| held.is_due()) || self.clock_may_advance() {
                break shared.idle.wake(self.slot.index, self.parker);
            }
        };
        if let Some(held) = held {
            if held.is_due() {
                self.rise(reason);
                reason = WakeReason::Spontaneous;
                // Before the driver is free, so that no other worker is woken for a timer that is already due.
                shared.driver.fire();
            }
            drop(held);
        }
        shared.attend_to_driver();
        self.slot.counters.unparked.add(1);
        reason
    }

    /// Ends the search that a call has begun, because the worker, which was asleep, has other work.
    pub(super) fn rise(&self, reason: WakeReason) {
        if let WakeReason::Called(searching) = reason {
            // Look for the task that it was called for.
            self.look();
            self.finish_search(Some(searching), Next::Work);
        }
    }
}

impl Shared {
    /// Whether a worker that sleeps should hold the driver. With I/O it leaves that to those who are awake: they come
    /// back to it in less time than it takes to be woken, and find more at once then. If they don't, it is called for;
    /// and where they haven't lately, it holds the driver at once.
    ///
    /// The row that it wins: processor time of `echo` with 64 connections.
    fn may_hold(&self) -> bool {
        !self.driver.has_sources()
            || self.idle.workers().awake == 0
            || self.driver.is_holder_wanted()
            || self.watchdog.has_seen_block()
    }

    /// The driver was left by this thread.
    fn attend_to_driver(&self) {
        // ORDERING: SeqCst pairs with `Driver::tell_holder`: what was left to one who held the driver is seen.
        fence(SeqCst);
        // With I/O it will be back before another could be woken, unless a task keeps it.
        let is_watched = self.driver.is_io_unattended() && self.watchdog.arm_later(self);
        if !is_watched && self.driver.is_unattended() {
            self.call_holder();
        }
    }

    /// There is something new to wait for: a timer that comes before all others, or the first source of I/O.
    pub(in crate::runtime) fn tell_driver(&self) {
        if self.driver.tell_holder() || !self.driver.is_unattended() {
            return;
        }
        match self.own_slot() {
            // This thread will be back before another could be woken, unless a task keeps it.
            Some(_) if self.driver.has_sources() && self.watchdog.arm_for_timer(self) => (),
            _ => self.call_holder(),
        }
    }

    /// One that sleeps is to hold the driver, or else the watchdog sees to it.
    fn call_holder(&self) {
        self.driver.want_holder();
        if !self.idle.unpark_one() {
            self.watchdog.arm(self);
        }
    }
}
