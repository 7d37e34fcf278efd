//! The watchdog.

use super::super::super::{QueueState, Seen, deadlines};
use super::{Event, Machine};

/// In nanoseconds.
pub(in super::super) const TICK: u64 = deadlines::TICK.as_nanos() as u64;

#[derive(Default)]
pub(super) struct Watch {
    is_armed: bool,
    seen: Seen,
    pub(super) stuck: Option<usize>,
    /// The number of the next look. A look that was planned earlier does not happen.
    generation: u64,
}

impl Machine<'_> {
    /// Arms the watchdog. Returns the cost.
    pub(super) fn arm(&mut self) -> u64 {
        if self.watch.is_armed {
            return 0;
        }
        self.watch.is_armed = true;
        self.plan(TICK);
        self.costs.call
    }

    fn plan(&mut self, after: u64) {
        self.watch.generation += 1;
        let generation = self.watch.generation;
        self.at(self.now + after, Event::Tick { generation });
    }

    pub(super) fn tick(&mut self, generation: u64) {
        if generation != self.watch.generation {
            return;
        }
        self.overhead += self.costs.come + self.costs.park;
        let state = |taken, is_empty| QueueState { taken, is_empty };
        let slots = self.workers.iter();
        let queues = slots
            .map(|worker| state(worker.taken, worker.queue.is_empty()))
            .chain([state(self.inject_taken, self.inject.is_empty())])
            .collect();
        // There is no driver to attend to.
        let look = self.watch.seen.look(queues, Vec::new());
        self.set_mode(look.mode);
        if look.stuck.is_some() && self.counts.searching == 0 {
            self.overhead += self.call_one();
        }
        self.watch.stuck = look.stuck.filter(|_| self.counts.sleeping == 0);
        if look.has_work {
            self.watch.is_armed = true;
            self.plan(TICK);
        } else if std::mem::replace(&mut self.watch.is_armed, false) {
            self.plan(TICK);
        } else {
            let mode = self.watch.seen.rest();
            self.set_mode(mode);
        }
    }
}
