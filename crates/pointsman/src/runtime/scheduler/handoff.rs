//! `block_in_place`: how the slot of a blocked worker passes to another thread.
//!
//! A worker whose task blocks in place makes its slot vacant. A sleeping worker, if there is one, takes the tasks that
//! are queued there. Otherwise a thread of the blocking pool takes over the slot and becomes a worker. When the blocked
//! function returns, its thread takes the slot back if it is still vacant; if not, it finishes its task without a slot
//! and then stops being a worker.
//!
//! Invariant: while a slot is vacant, a worker sleeps or a substitute thread is on its way to the slot, unless no thread
//! could be started.
//!
//! Cost: one fence and one load for each worker that wakes up while no slot is vacant.

use std::sync::Arc;

use super::super::blocking::Refused;
use super::{Shared, Slot, context};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicUsize, fence};
use crate::task::id::try_id;
use crate::task::origin::SpawnSite;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

pub(super) struct Handoff {
    vacancies: Mutex<Vacancies>,
    /// The number of vacant slots without a substitute on its way.
    unattended: AtomicUsize,
}

struct Vacancies {
    /// Indices of vacant slots.
    slots: Vec<usize>,
    /// The number of substitute threads that are on their way to a vacant slot.
    substitutes: usize,
}

impl Handoff {
    pub(super) fn new() -> Self {
        Self {
            vacancies: Mutex::new(Vacancies {
                slots: Vec::new(),
                substitutes: 0,
            }),
            unattended: AtomicUsize::new(0),
        }
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vacancies) -> R) -> R {
        let mut vacancies = lock(&self.vacancies);
        let result = change(&mut vacancies);
        let unattended = vacancies.slots.len().saturating_sub(vacancies.substitutes);
        self.unattended.store(unattended, Relaxed);
        result
    }
}

impl Shared {
    /// Runs a function that blocks. Meanwhile other threads do this worker's work.
    pub(in crate::runtime) fn block_in_place<R>(self: &Arc<Self>, run: impl FnOnce() -> R) -> R {
        // Only a task gives the slot away: after a hook or a waker, the worker continues to use it.
        let Some(slot) = self.own_slot().filter(|_| try_id().is_some()) else {
            return run();
        };
        context::release_slot();
        // Makes every task that is queued here worth stealing.
        slot.set_wake_threshold(0);
        slot.enter_rest();
        self.handoff
            .change(|vacancies| vacancies.slots.push(slot.index));
        self.idle.dec_awake();
        let _reclaim = ReclaimSlot { shared: self, slot };
        self.spawn_substitutes_if_needed();
        if !slot.queue.is_empty() {
            self.notify_remote();
        }
        // The shutdown may have closed the vacant slots before this one was vacant.
        if self.is_shut_down() {
            self.close_vacant_slots();
        }
        run()
    }

    /// Sends a thread to each vacant slot if no worker sleeps. Called when a slot becomes vacant and when a worker wakes
    /// up.
    #[inline]
    pub(super) fn spawn_substitutes_if_needed(self: &Arc<Self>) {
        // ORDERING: SeqCst pairs with the same fence in another thread: either the thread that makes a slot vacant sees that
        // no worker sleeps, or the worker that wakes up sees the vacant slot.
        fence(SeqCst);
        if self.handoff.unattended.load(Relaxed) > 0 {
            self.spawn_substitutes();
        }
    }

    #[cold]
    pub(super) fn spawn_substitutes(self: &Arc<Self>) {
        if self.is_shut_down() || self.idle.workers().sleeping > 0 {
            return;
        }
        let missing = self.handoff.change(|vacancies| {
            let missing = vacancies.slots.len().saturating_sub(vacancies.substitutes);
            vacancies.substitutes += missing;
            missing
        });
        for _ in 0..missing {
            // A substitute may work for long: it takes no thread from the user's jobs.
            self.blocking.add_thread_allowance();
            let shared = Arc::clone(self);
            let substitute = move || {
                shared.take_over();
                shared.blocking.remove_thread_allowance();
            };
            let (_, accepted) = self.spawn_blocking(substitute, SpawnSite::of_runtime());
            if let Err(Refused::NoThread(_)) = accepted {
                // The next worker that makes a slot vacant or wakes up tries again.
                self.handoff.change(|vacancies| vacancies.substitutes -= 1);
            }
        }
    }

    /// Works at a vacant slot, if there still is one.
    fn take_over(self: &Arc<Self>) {
        let vacant = self.handoff.change(|vacancies| {
            vacancies.substitutes = vacancies.substitutes.saturating_sub(1);
            let vacant = vacancies.slots.pop();
            if vacant.is_some() {
                // Under the lock, which the shutdown also takes, so that the shutdown sees that a worker is active.
                self.idle.inc_awake();
            }
            vacant
        });
        if let Some(index) = vacant {
            self.work_at(&self.slots[index]);
        }
    }

    /// Closes the vacant slots during the shutdown, when no substitutes are sent any more.
    pub(super) fn close_vacant_slots(&self) {
        while let Some(index) = self.handoff.change(|vacancies| vacancies.slots.pop()) {
            self.end_tasks();
            self.close_slot(&self.slots[index]);
            self.close_arenas();
        }
    }
}

/// Takes the slot back when it is dropped, if the slot is still vacant.
struct ReclaimSlot<'a> {
    shared: &'a Shared,
    slot: &'a Slot,
}

impl Drop for ReclaimSlot<'_> {
    fn drop(&mut self) {
        let is_vacant = self.shared.handoff.change(|vacancies| {
            let position = vacancies
                .slots
                .iter()
                .position(|&index| index == self.slot.index);
            position
                .map(|position| vacancies.slots.swap_remove(position))
                .is_some()
        });
        if is_vacant {
            self.shared.idle.inc_awake();
            self.slot.leave_rest();
            context::reclaim_slot(self.slot);
        }
    }
}
