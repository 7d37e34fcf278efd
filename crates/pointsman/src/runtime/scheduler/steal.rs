//! A worker that is out of work: it looks for some for a while, and then sleeps.
//!
//! No more look than work (see [`idle`](super::idle)), so that those who have work are not kept from it.

use std::time::Instant;

use super::super::context;
use super::Slot;
use super::idle::Woken;
use super::policy::{self, QUANTUM};
use super::worker::Worker;
use crate::loom::hint;
use crate::loom::sync::atomic::fence;
use std::sync::atomic::Ordering::SeqCst;

/// Between two looks: each takes cache lines from those who use them.
const SPINS_PER_LOOK: u32 = 8;
/// The fewest looks of a search. By the clock alone it would be over whenever another thread, which may have brought
/// work, has had the core.
const LEAST_LOOKS: u32 = if cfg!(all(test, loom)) { 1 } else { 8 };

impl Worker<'_> {
    /// Nothing is queued here. Returns when something may be, or the parker was notified.
    pub(super) fn idle(&mut self) {
        if self.parker.is_notified() {
            // A future of `block_on` that wakes itself keeps this thread from sleeping, where it would look.
            self.shared.driver.look_at_io();
            return;
        }
        // One that may wait for I/O does not look for other work first.
        let mut is_searching =
            !self.shared.driver.is_io_unattended() && self.shared.idle.try_search();
        loop {
            if is_searching && self.search() {
                self.end_search();
                return;
            }
            if self.advance_clock() {
                if is_searching {
                    self.end_search();
                }
                return;
            }
            match self.sleep(is_searching) {
                Woken::Alone => {
                    self.look();
                    return;
                }
                Woken::Called => is_searching = true,
            }
        }
    }

    fn end_search(&self) {
        let shared = self.shared;
        shared.idle.end_search();
        // ORDERING: SeqCst pairs with that of `notify_remote`: who brings something in this moment sees that nobody
        // looks for it, or it is seen here.
        fence(SeqCst);
        // What was found may keep this thread busy. A slot with tasks of which none are few is vacant, or stuck.
        let is_left = |slot: &Slot| slot.few() == 0 && !slot.queue.is_empty();
        if !shared.inject.is_empty() || shared.slots.iter().any(is_left) {
            shared.notify_remote();
        }
        // Passes the search on where there is more.
        shared.notify_local(self.slot, self.slot.queue.len());
        // What others have queued meanwhile they have left to this search.
        if shared.idle.workers().awake > 1 {
            shared.watchdog.arm(shared);
        }
    }

    /// Looks for work for as long as it would take to be woken for it. Whether there is some for this worker.
    fn search(&self) -> bool {
        // Nobody brings anything while this thread has the only core; and where work comes by I/O, to wait awake costs
        // more than it wins: a quarter of the processor time of `echo` with 64 connections.
        if self.shared.is_current_thread()
            || self.shared.idle.cores() == 1
            || self.shared.driver.has_sources()
        {
            return self.look();
        }
        let mut looks = 0;
        let mut end = None;
        loop {
            if self.look() {
                return true;
            }
            looks += 1;
            if looks >= LEAST_LOOKS {
                if !policy::is_patient(self.shared.idle.workers()) {
                    return false;
                }
                let now = Instant::now();
                if cfg!(all(test, loom)) || now >= *end.get_or_insert(now + QUANTUM) {
                    return false;
                }
            }
            for _ in 0..SPINS_PER_LOOK {
                hint::spin_loop();
            }
        }
    }

    /// Whether there is something to do for this worker; work is taken.
    fn look(&self) -> bool {
        if self.parker.is_notified() || self.shared.is_shut_down() {
            return true;
        }
        if let Some(entry) = self.fetch() {
            self.shared.push(self.slot, entry);
        }
        !self.slot.queue.is_empty() || self.steal()
    }

    /// Takes half of what waits at another slot, if it is worth it.
    fn steal(&self) -> bool {
        let mode = self.shared.idle.mode();
        let slots = &self.shared.slots;
        let first = context::random_below(slots.len() as u32) as usize;
        let (behind, ahead) = slots.split_at(first);
        for victim in ahead.iter().chain(behind) {
            if victim.index == self.slot.index
                || !policy::is_worth_stealing(mode, victim.queue.len(), victim.few())
            {
                continue;
            }
            // SAFETY: this thread holds its slot.
            if let Some(entry) = unsafe { victim.queue.steal(&self.slot.queue) } {
                self.shared.push(self.slot, entry);
                return true;
            }
        }
        false
    }

    /// Takes what is stuck at another slot, though there is work here.
    pub(super) fn relieve(&self) {
        let stuck = self.shared.watchdog.take_stuck();
        let victim = stuck.and_then(|stuck| self.shared.slots.get(stuck));
        if let Some(victim) = victim.filter(|victim| victim.index != self.slot.index) {
            // SAFETY: this thread holds its slot.
            if let Some(entry) = unsafe { victim.queue.steal(&self.slot.queue) } {
                self.shared.push(self.slot, entry);
            }
        }
    }

    /// Whether there is something that this worker, which sleeps, would take.
    pub(super) fn sees_work(&self) -> bool {
        let is_own = || !self.slot.queue.is_empty();
        if self.parker.is_notified() || self.shared.is_shut_down() || is_own() {
            return true;
        }
        let mode = self.shared.idle.mode();
        policy::may_wake(self.shared.idle.workers(), self.shared.idle.cores(), mode)
            && (!self.shared.inject.is_empty()
                || self
                    .shared
                    .slots
                    .iter()
                    .any(|slot| policy::is_worth_stealing(mode, slot.queue.len(), slot.few())))
    }

    /// With a clock that stands still nothing happens until it is moved on.
    fn advance_clock(&mut self) -> bool {
        let Some(time) = self.shared.driver.time() else {
            return false;
        };
        if time.is_paused() {
            // What the system has to tell comes before any later time.
            self.shared.driver.look_at_io();
            if self.sees_work() {
                return true;
            }
        }
        self.awaits_jobs = !self.shared.blocking.is_idle();
        self.clock_may_advance() && time.auto_advance()
    }

    /// Whether the clock stands still and nothing but that is waited for.
    pub(super) fn clock_may_advance(&self) -> bool {
        self.shared.blocking.is_idle() && self.shared.driver.is_paused()
    }
}
