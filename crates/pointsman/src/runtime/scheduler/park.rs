//! A worker that sleeps: until it is called, sees something to do, or holds the driver and a timer is due.
//!
//! Invariant: a worker sleeps after it has said so and has seen nothing to do since (see [`idle`](super::idle)). One
//! that held the driver and has got something else to do leaves it to another that sleeps, or to the watchdog.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::super::builder::Callback;
use super::Shared;
use super::idle::Woken;
use super::worker::Worker;
use crate::loom::sync::atomic::fence;
use std::sync::atomic::Ordering::SeqCst;

impl Worker<'_> {
    pub(super) fn sleep(&mut self, is_searching: bool) -> Woken {
        let shared = self.shared;
        self.count_busy();
        self.call(&shared.config.on_thread_park, is_searching);
        // SAFETY: this thread holds the slot.
        unsafe { self.slot.arena().as_ref().collect() };
        shared.collect_arenas();
        let others = shared
            .idle
            .sleep(self.slot.index, self.parker, is_searching);
        if others > 0 {
            // They may have queued something in this moment, and have seen nobody asleep.
            shared.watchdog.arm(shared);
        }
        self.slot.counters.parked.add(1);
        let mut held = None;
        let woken = loop {
            let is_done = self.awaits_jobs && self.clock_may_advance();
            if is_done || self.sees_work() {
                break shared.idle.wake(self.slot.index, self.parker);
            }
            held = held.or_else(|| shared.driver.try_hold(self.parker));
            match &held {
                Some(held) => held.park(self.parker),
                None => self.parker.park(None),
            }
            if self.parker.take_called() {
                break Woken::Called;
            }
            if held.as_ref().is_some_and(|held| held.is_due()) || self.clock_may_advance() {
                break shared.idle.wake(self.slot.index, self.parker);
            }
        };
        if let Some(held) = held.take() {
            // What is due now is no reason to wake another.
            shared.driver.fire();
            drop(held);
        }
        shared.attend_to_timers();
        self.slot.counters.unparked.add(1);
        self.call(&shared.config.on_thread_unpark, woken == Woken::Called);
        shared.see_to_substitutes();
        woken
    }

    /// Calls what the user wants to be called. If it panics this worker leaves, and no longer counts as the one that
    /// searches.
    fn call(&self, callback: &Option<Callback>, is_searching: bool) {
        let Some(callback) = callback else {
            return;
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| callback())) {
            if is_searching {
                self.shared.idle.end_search();
            }
            resume_unwind(panic);
        }
    }
}

impl Shared {
    /// If nobody waits for the next timer, one that sleeps is to do it, or else the watchdog.
    pub(super) fn attend_to_timers(&self) {
        // ORDERING: SeqCst pairs with `Driver::timer_is_earlier`: a timer that was left to one who held the driver is
        // seen.
        fence(SeqCst);
        if self.driver.is_unattended() && !self.idle.unpark_one() {
            self.watchdog.arm(self);
        }
    }
}
