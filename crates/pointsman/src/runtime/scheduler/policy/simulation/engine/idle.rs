//! Calling workers.

use super::super::super::Mode;
use super::{Event, Machine, WorkerState};

impl Machine<'_> {
    /// Notifies workers that `waiting` tasks are queued, or one in the inject queue. Returns the cost.
    pub(super) fn notify(&mut self, waiting: usize, wake_threshold: usize) -> u64 {
        let mut took = 0;
        let mut is_called = false;
        for _ in 0..self.rules.max_called() {
            let counts = self.counts;
            if self
                .rules
                .should_call(counts, self.cores, self.mode, waiting, wake_threshold)
            {
                is_called = true;
                took += self.call_one();
            }
        }
        let is_attended = is_called || self.counts.searching > 0;
        if !self.rules.is_tokio() && (!is_attended || self.mode == Mode::Eager) {
            took += self.arm();
        }
        took
    }

    pub(super) fn call_one(&mut self) -> u64 {
        let Some(called) = self.sleepers.pop() else {
            return 0;
        };
        self.counts.searching += 1;
        self.counts.awake += 1;
        self.counts.sleeping -= 1;
        self.workers[called].state = WorkerState::Called;
        self.overhead += self.costs.come;
        self.at(
            self.now + self.costs.call + self.costs.latency,
            Event::Worker(called),
        );
        self.costs.call
    }
}
