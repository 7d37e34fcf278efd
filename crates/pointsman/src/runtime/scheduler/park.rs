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
            shared.watch();
        }
        self.slot.counters.parked.add(1);
        let mut held = None;
        let woken = loop {
            let is_done = self.awaits_jobs && self.clock_may_advance();
            if is_done || self.sees_work() {
                break shared.idle.wake(self.slot.index, self.parker);
            }
            if held.is_none() && shared.may_hold() {
                held = shared.driver.try_hold(self.parker);
            }
            match &held {
                // Wakers. While it sleeps one that leaves has to say that it is awake.
                Some(held) => self.run_users(
                    || held.park(self.parker),
                    || shared.idle.wake(self.slot.index, self.parker) == Woken::Called,
                ),
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
            self.run_users(|| shared.driver.fire(), || woken == Woken::Called);
            drop(held);
        }
        shared.attend_to_driver();
        self.slot.counters.unparked.add(1);
        self.call(&shared.config.on_thread_unpark, woken == Woken::Called);
        shared.see_to_substitutes();
        woken
    }

    /// Calls what the user wants to be called.
    fn call(&self, callback: &Option<Callback>, is_searching: bool) {
        if let Some(callback) = callback {
            self.run_users(|| callback(), || is_searching);
        }
    }

    /// Runs what the user has given. If it panics this worker leaves, and no longer counts as the one that searches.
    fn run_users(&self, run: impl FnOnce(), is_searching: impl FnOnce() -> bool) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            if is_searching() {
                self.shared.idle.end_search();
            }
            resume_unwind(panic);
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
