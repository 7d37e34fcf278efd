//! A worker without tasks: it searches for a task, and then sleeps.
//!
//! # Invariants
//!
//! - The number of searching workers is bounded (see [`idle`](super::idle)), so that searchers do not slow the owners of
//!   the queues down.
//! - A worker runs user hooks only while it neither searches nor sleeps: a hook that blocks does not keep another worker
//!   from being woken.

use super::idle::{Searching, WakeReason};
use super::policy::{self, Mode};
use super::worker::{Next, Worker};
use super::{Shared, Slot, context};

impl Worker<'_> {
    /// Called when no task is queued here. Returns when one may be, or when the parker was notified.
    pub(super) fn idle(&mut self) {
        if self.parker.is_notified() {
            // A `block_on` future that wakes itself keeps this thread from sleeping, and so from waiting for I/O.
            self.shared.driver.poll_io();
            return;
        }
        let shared = self.shared;
        let mut searching = self.try_search();
        let mut has_slept = false;
        loop {
            if let Some(search) = searching.take() {
                if self.look(has_slept) {
                    self.finish_search(Some(search), Next::Work);
                    break;
                }
                searching = Some(search);
            } else if self.advance_clock() {
                break;
            }
            if !has_slept {
                has_slept = true;
                if let Some(hook) = &shared.config.on_thread_park {
                    self.finish_search(searching.take(), Next::Work);
                    let in_hook = context::enter_hook();
                    hook();
                    drop(in_hook);
                    // The hook may take time and queue tasks: look again.
                    searching = self.try_search();
                    continue;
                }
            }
            match self.sleep(searching.take()) {
                WakeReason::Notified(search) if !shared.is_current_thread() => {
                    searching = Some(search);
                }
                reason => {
                    self.get_up(reason);
                    self.look(true);
                    break;
                }
            }
        }
        if has_slept {
            shared.spawn_substitutes_if_needed();
            if let Some(hook) = &shared.config.on_thread_unpark {
                if !self.slot.queue.is_empty() {
                    shared.watch();
                }
                let _in_hook = context::enter_hook();
                hook();
            }
        }
    }

    /// Begins a search, if another worker may have a task for this one.
    fn try_search(&self) -> Option<Searching> {
        // A worker that may wait for I/O does not search for other work first.
        let may_search = !self.shared.is_current_thread() && !self.shared.driver.is_io_unattended();
        may_search.then(|| self.shared.idle.try_search()).flatten()
    }

    /// Ends the search, if `searching` is `Some`, and continues with `next`. Every search ends here.
    ///
    /// A producer that saw the search has woken no worker, so this re-checks the queues after the count has changed.
    /// Returns whether a task is left: with `Next::Sleep` the worker must then wake up for it. With `Next::Work`, another
    /// worker was called or the watchdog armed.
    pub(super) fn finish_search(&self, searching: Option<Searching>, next: Next) -> bool {
        let shared = self.shared;
        let has_searched = searching.is_some();
        let others = match (next, searching) {
            (Next::Sleep, searching) => shared.idle.sleep(self.slot.index, self.parker, searching),
            (Next::Work, Some(searching)) => shared.idle.end_search(searching),
            (Next::Work, None) => return false,
        };
        let is_left = has_searched && shared.has_unattended_work();
        match next {
            Next::Sleep => {
                if has_searched && others > 0 {
                    // A task that another worker queues at this moment may have been left to this search.
                    shared.watch();
                }
            }
            Next::Work => {
                if is_left {
                    shared.notify_remote();
                }
                // Call another worker if this one has more tasks.
                shared.notify_local(self.slot, self.slot.queue.len());
                if others > 0 {
                    // A task may have been left to this search at this moment.
                    shared.watch();
                }
            }
        }
        is_left
    }

    /// Takes tasks from the inject queue or another slot. Returns whether this worker has something to do.
    pub(super) fn look(&self, has_slept: bool) -> bool {
        if self.parker.is_notified() || self.shared.is_shut_down() {
            return true;
        }
        if let Some(entry) = self.fetch() {
            Shared::count_moved(self.slot, 1);
            self.shared.push(self.slot, entry);
        }
        !self.slot.queue.is_empty() || self.steal(has_slept)
    }

    fn steal(&self, has_slept: bool) -> bool {
        // The cost of the wake-up is paid: even a single task is worth taking.
        let mode = match has_slept {
            true => Mode::Eager,
            false => self.shared.idle.mode(),
        };
        let slots = &self.shared.slots;
        let first = context::random_below(slots.len() as u32) as usize;
        let (behind, ahead) = slots.split_at(first);
        for victim in ahead.iter().chain(behind) {
            if victim.index == self.slot.index
                || !policy::is_worth_stealing(mode, victim.queue.len(), victim.wake_threshold())
            {
                continue;
            }
            if self.steal_from(victim) {
                return true;
            }
        }
        false
    }

    /// Takes half of the tasks of a slot.
    fn steal_from(&self, victim: &Slot) -> bool {
        let before = self.slot.queue.pushed();
        // SAFETY: this thread holds its own slot, so it owns the queue that it steals into: see `slot`.
        let Some(entry) = (unsafe { victim.queue.steal(&self.slot.queue) }) else {
            return false;
        };
        let count = self.slot.queue.pushed().wrapping_sub(before) + 1;
        Shared::count_moved(self.slot, count);
        self.slot.counters.stolen.add(count as u64);
        self.slot.counters.steals.add(1);
        self.shared.push(self.slot, entry);
        true
    }

    /// Steals from a slot that the watchdog found stuck, although tasks are queued here.
    pub(super) fn relieve(&self) {
        let stuck = self.shared.watchdog.take_stuck();
        let victim = stuck.and_then(|stuck| self.shared.slots.get(stuck));
        if let Some(victim) = victim.filter(|victim| victim.index != self.slot.index) {
            self.steal_from(victim);
        }
    }

    /// Whether there is something to do for which this sleeping worker should wake up.
    pub(super) fn sees_work(&self) -> bool {
        let is_own = || !self.slot.queue.is_empty();
        if self.parker.is_notified() || self.shared.is_shut_down() || is_own() {
            return true;
        }
        let mode = self.shared.idle.mode();
        policy::may_wake(self.shared.idle.workers(), self.shared.idle.cores(), mode)
            && (!self.shared.inject.is_empty()
                || self.shared.slots.iter().any(|slot| {
                    policy::is_worth_stealing(mode, slot.queue.len(), slot.wake_threshold())
                }))
    }

    /// Advances a paused clock to the next timer if nothing else can happen first. Returns whether there is something to
    /// do.
    fn advance_clock(&mut self) -> bool {
        let Some(time) = self.shared.driver.time() else {
            return false;
        };
        if time.is_paused() {
            // I/O that is ready now comes before a later timer.
            self.shared.driver.poll_io();
            if self.sees_work() {
                return true;
            }
        }
        self.awaits_jobs = !self.shared.blocking.is_idle();
        self.clock_may_advance() && time.auto_advance()
    }

    /// Whether the clock is paused and no blocking work can queue a task first.
    pub(super) fn clock_may_advance(&self) -> bool {
        self.shared.blocking.is_idle() && self.shared.driver.is_paused()
    }
}

impl Shared {
    /// Whether a task is queued where no worker takes it without a search: in the inject queue, or at a slot with a wake
    /// threshold of 0, that is, with long tasks or vacant.
    fn has_unattended_work(&self) -> bool {
        let is_left = |slot: &Slot| slot.wake_threshold() == 0 && !slot.queue.is_empty();
        !self.inject.is_empty() || self.slots.iter().any(is_left)
    }
}
