//! The watchdog.

use super::super::super::{Seen, deadlines};
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
        self.plan(self.costs.call + self.costs.latency);
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
        let slots = self.workers.iter();
        let queues = slots
            .map(|worker| (worker.taken, worker.queue.is_empty()))
            .chain([(self.inject_taken, self.inject.is_empty())])
            .collect();
        // A worker takes each task that it starts from its own queue.
        let polls = self.workers.iter().map(|worker| worker.taken).collect();
        let look = self.watch.seen.look(queues, polls, self.counts.awake);
        if let Some(mode) = look.mode {
            self.set_mode(mode);
        }
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
            self.watch.seen.forget();
        }
    }
}
