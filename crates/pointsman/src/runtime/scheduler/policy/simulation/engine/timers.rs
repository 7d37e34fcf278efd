//! Tasks that sleep. Timers count milliseconds, so that many are due at once, and a sleeping worker wakes up for them. It
//! queues their tasks at its own slot, as if it had woken them.

use super::super::workload::MILLISECOND;
use super::{Event, Machine, WorkerState};

impl Machine<'_> {
    pub(super) fn sleep_until(&mut self, deadline: u64, task: usize) {
        let due = deadline.next_multiple_of(MILLISECOND);
        let tasks = self.timers.entry(due).or_default();
        tasks.push(task);
        if tasks.len() == 1 {
            self.at(due, Event::Timers);
        }
    }

    /// If no worker sleeps, one of those that are awake finds the tasks when it checks.
    pub(super) fn fire(&mut self) {
        let (due, tasks) = self.timers.pop_first().expect("timers that are due");
        debug_assert_eq!(due, self.now);
        for &task in &tasks {
            self.ready_since[task] = due;
        }
        let Some(woken) = self.sleepers.pop() else {
            self.inject.extend(tasks);
            return;
        };
        self.counts.sleeping -= 1;
        self.counts.awake += 1;
        self.overhead += self.costs.come;
        self.workers[woken].state = WorkerState::Fires(tasks);
        self.at(self.now + self.costs.latency, Event::Worker(woken));
    }

    /// Queues the tasks whose timers have fired, and notifies other workers. Returns the cost.
    ///
    /// Tokio notifies once, when it has queued them all.
    pub(super) fn queue_due(&mut self, index: usize) -> u64 {
        let state = std::mem::replace(&mut self.workers[index].state, WorkerState::Free);
        let WorkerState::Fires(tasks) = state else {
            unreachable!("a worker that fires timers");
        };
        self.begin_quantum(index);
        let mut took = 0;
        for task in tasks {
            took += self.costs.push;
            self.workers[index].queue.push_back(task);
            if !self.rules.is_tokio() {
                took += self.notify_of_queue(index);
            }
        }
        if self.rules.is_tokio() && self.workers[index].queue.len() > 1 {
            took += self.notify_of_queue(index);
        }
        self.overhead += took;
        took
    }

    fn notify_of_queue(&mut self, index: usize) -> u64 {
        let worker = &self.workers[index];
        self.notify(worker.queue.len(), worker.wake_threshold)
    }
}
