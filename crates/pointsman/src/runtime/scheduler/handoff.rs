//! Threads that block in place, and who takes over their slots.
//!
//! A worker whose task blocks in place makes its slot vacant. While another worker sleeps nothing more is done: that one
//! takes what is queued. When none does, a thread of the blocking pool takes the slot over, and is a worker from then
//! on. A thread that is done takes its slot back if nobody has taken it over; else it finishes its task without one,
//! and works no more.
//!
//! Invariant: a worker sleeps, or a thread is on its way to each slot that is vacant.
//!
//! Cost: a load for each worker that wakes up while no slot is vacant.

use std::sync::Arc;

use super::super::blocking::Refused;
use super::super::context;
use super::super::handle::Handle;
use super::{Shared, Slot};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicUsize, fence};
use crate::task;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

pub(super) struct Handoff {
    state: Mutex<State>,
    /// How many slots are vacant and have nobody on the way.
    unattended: AtomicUsize,
}

struct State {
    /// Indices of slots.
    vacant: Vec<usize>,
    /// Threads on their way to a vacant slot.
    coming: usize,
}

impl Handoff {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                vacant: Vec::new(),
                coming: 0,
            }),
            unattended: AtomicUsize::new(0),
        }
    }

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = lock(&self.state);
        let result = change(&mut state);
        let unattended = state.vacant.len().saturating_sub(state.coming);
        self.unattended.store(unattended, Relaxed);
        result
    }
}

impl Shared {
    /// Runs what blocks, while others do this worker's work.
    pub(in crate::runtime) fn block_in_place<R>(self: &Arc<Self>, run: impl FnOnce() -> R) -> R {
        // Only a task gives the slot away: after a hook or a waker the worker goes on with it.
        let Some(slot) = self.own_slot().filter(|_| task::try_id().is_some()) else {
            return run();
        };
        context::let_go_of_slot();
        // So that all that waits here is worth stealing: nobody else comes to it.
        slot.set_few(0);
        self.handoff.change(|state| state.vacant.push(slot.index));
        self.idle.dec_awake();
        let _back = Back { shared: self, slot };
        self.see_to_substitutes();
        if !slot.queue.is_empty() {
            self.notify_remote();
        }
        // Who has ended the runtime may not have found the slot vacant.
        if self.is_shut_down() {
            self.close_vacant_slots();
        }
        run()
    }

    /// If no worker sleeps, each vacant slot gets a thread.
    #[inline]
    pub(super) fn see_to_substitutes(self: &Arc<Self>) {
        // ORDERING: SeqCst: who makes a slot vacant sees that a worker sleeps, or that one sees the slot when it is
        // awake.
        fence(SeqCst);
        if self.handoff.unattended.load(Relaxed) > 0 {
            self.start_substitutes();
        }
    }

    #[cold]
    pub(super) fn start_substitutes(self: &Arc<Self>) {
        if self.is_shut_down() || self.idle.workers().sleeping > 0 {
            return;
        }
        let missing = self.handoff.change(|state| {
            let missing = state.vacant.len().saturating_sub(state.coming);
            state.coming += missing;
            missing
        });
        let handle = Handle {
            shared: Arc::clone(self),
        };
        for _ in 0..missing {
            // A worker takes no place from the jobs: it has one for as long as it works there.
            self.blocking.add_place();
            let accepted = handle.run_blocking(|handle| {
                let shared = Arc::clone(&handle.shared);
                handle.shared.take_over();
                shared.blocking.remove_place();
            });
            if let Err(Refused::NoThread(_)) = accepted {
                // Nobody comes: the next to make a slot vacant, or to wake up, tries again.
                self.handoff.change(|state| state.coming -= 1);
            }
        }
    }

    /// Works at a vacant slot, if there still is one.
    fn take_over(self: &Arc<Self>) {
        let vacant = self.handoff.change(|state| {
            state.coming = state.coming.saturating_sub(1);
            let vacant = state.vacant.pop();
            if vacant.is_some() {
                // Under the lock, which the shutdown also takes, so that the shutdown sees that a worker is still active.
                self.idle.inc_awake();
            }
            vacant
        });
        if let Some(index) = vacant {
            self.work_at(&self.slots[index]);
        }
    }

    /// At the end of the runtime, when no more threads come: what the workers at vacant slots would do then.
    pub(super) fn close_vacant_slots(&self) {
        while let Some(index) = self.handoff.change(|state| state.vacant.pop()) {
            self.end_tasks();
            self.close_slot(&self.slots[index]);
            self.close_arenas();
        }
    }
}

/// Takes the slot back, if it is still vacant.
struct Back<'a> {
    shared: &'a Shared,
    slot: &'a Slot,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        let is_vacant = self.shared.handoff.change(|state| {
            let place = state
                .vacant
                .iter()
                .position(|&index| index == self.slot.index);
            place.map(|place| state.vacant.swap_remove(place)).is_some()
        });
        if is_vacant {
            self.shared.idle.inc_awake();
            context::hold_again(self.slot);
        }
    }
}
