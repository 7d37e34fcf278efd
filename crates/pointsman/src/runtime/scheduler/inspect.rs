//! The state of a runtime that dumps and stall reports read. Any thread may call these functions while the runtime
//! works.

use std::sync::Arc;
use std::time::Duration;

use super::super::blocking::Pool;
use super::super::stall::{self, StallHook};
use super::Shared;
use super::slot::{Current, Slot};

impl Shared {
    /// Returns the task that each worker polls or polled last.
    pub(in crate::runtime) fn running_tasks(&self) -> Vec<Option<usize>> {
        let task = |slot: &Slot| match slot.current() {
            Current::Task(task) => Some(task),
            Current::BlockOn | Current::Nothing => None,
        };
        self.slots.iter().map(task).collect()
    }

    // --- stalls ---

    /// Called when a worker begins to work, and when a thread leaves work to others.
    #[inline]
    pub(super) fn arm_stall_watch(&self) {
        if self.watches_stalls {
            stall::arm();
        }
    }

    pub(in crate::runtime) fn stall_threshold(&self) -> Duration {
        self.config.stall.threshold
    }

    pub(in crate::runtime) fn stall_hook(&self) -> Option<&StallHook> {
        self.config.stall.hook.as_ref()
    }

    pub(in crate::runtime) fn name(&self) -> Option<Arc<str>> {
        self.config.name.clone()
    }

    pub(in crate::runtime) fn pool_of_jobs(&self) -> &Pool {
        &self.blocking
    }

    /// Whether a thread holds the slot and does not sleep.
    pub(in crate::runtime) fn is_awake(&self, worker: usize) -> bool {
        self.slots[worker].steps() % 2 == 0
    }

    pub(in crate::runtime) fn steps(&self, worker: usize) -> usize {
        self.slots[worker].steps()
    }

    pub(in crate::runtime) fn current(&self, worker: usize) -> Current {
        self.slots[worker].current()
    }

    /// The number of the thread that ran a current-thread runtime last.
    pub(in crate::runtime) fn only_thread(&self) -> Option<usize> {
        self.only_slot.thread_number()
    }

    /// The system's id of the thread that held the slot last; 0 if it is not known.
    pub(in crate::runtime) fn os_thread(&self, worker: usize) -> i32 {
        self.slots[worker].os_thread()
    }

    pub(in crate::runtime) fn queued_at(&self, worker: usize) -> usize {
        self.slots[worker].queued()
    }

    /// The number of tasks in all queues.
    pub(in crate::runtime) fn queued(&self) -> usize {
        self.inject.len() + self.slots.iter().map(Slot::queued).sum::<usize>()
    }

    pub(in crate::runtime) fn has_late_timer(&self) -> bool {
        self.driver.until_next_timer() == Some(Duration::ZERO)
    }

    /// Returns the number of polls so far, if there are I/O events that no poll has taken.
    pub(in crate::runtime) fn polls_before_events(&self) -> Option<usize> {
        self.driver.polls_before_events()
    }

    /// Whether the runtime has threads that run its tasks.
    pub(in crate::runtime) fn is_attended(&self) -> bool {
        !self.is_current_thread() || self.is_shut_down() || self.only_slot.is_taken()
    }

    /// Returns the number of tasks that were spawned outside of `block_on` of a current-thread runtime until a thread last
    /// left it, if more were spawned since.
    pub(in crate::runtime) fn spawned_before_new_tasks(&self) -> Option<usize> {
        let before = self.only_slot.spawned_before();
        (self.outside_counters.spawned.get() > before).then_some(before as usize)
    }
}
