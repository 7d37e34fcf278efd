//! The end of a runtime: workers stop, tasks are cancelled, and slots, arenas and the driver are closed.

use super::observe::IS_SHUT_DOWN;
use super::{Shared, Slot, context};
use crate::loom::sync::atomic::fence;
use crate::loom::thread;
use crate::task::raw::Notified;
use std::sync::atomic::Ordering::SeqCst;

impl Shared {
    /// Makes all workers stop. They cancel all tasks before they end.
    pub(in crate::runtime) fn begin_shutdown(&self) {
        // ORDERING: SeqCst: a worker that goes to sleep fences in `Idle::sleep` and then sees the shutdown, or is among the
        // sleepers that are unparked below.
        self.flags.fetch_or(IS_SHUT_DOWN, SeqCst);
        self.inject.close().for_each(Notified::give_up);
        self.idle.unpark_all();
    }

    /// Without workers, ends the tasks as workers would. Returns the watchdog's thread, if there is one.
    pub(in crate::runtime) fn finish_shutdown(
        &self,
        has_workers: bool,
    ) -> Option<thread::JoinHandle<()>> {
        if !has_workers {
            self.end_tasks();
            if self.is_current_thread() {
                self.close_only_slot();
            }
            self.close_arenas();
        }
        self.close_vacant_slots();
        self.watchdog.stop()
    }

    /// Cancels all tasks of the runtime.
    pub(super) fn end_tasks(&self) {
        // ORDERING: SeqCst pairs with the fence of `Idle::notify_remote`: see `spawn_outside`.
        fence(SeqCst);
        let found = self.find_tasks();
        // As in a task, a destructor must not block a worker's thread.
        match self.is_current_thread() {
            true => found.shut_down(),
            false => context::with_work(context::Work::Runs, || found.shut_down()),
        }
    }

    /// Shuts down timers and I/O, unless a worker is still active: the last worker calls this when it ends. A thread that
    /// has taken over a slot may work for longer than the threads that the runtime started.
    pub(in crate::runtime) fn end_driver_after_last_worker(&self) {
        let workers = self.idle.workers();
        if workers.awake + workers.sleeping == 0 {
            self.driver.shut_down();
        }
    }

    /// Empties and closes a slot that this thread holds or that no thread will hold.
    pub(super) fn close_slot(&self, slot: &Slot) {
        while let Some(entry) = slot.queue.pop() {
            entry.give_up();
        }
        self.close_arena(slot.arena());
    }

    /// Closes the slots of workers that could not be started.
    pub(in crate::runtime) fn close_slots_from(&self, first: usize) {
        for slot in &self.slots[first..] {
            self.close_slot(slot);
        }
    }
}
