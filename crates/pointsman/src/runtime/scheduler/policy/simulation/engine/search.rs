//! A worker without tasks.

use super::super::super::Mode;
use super::{Machine, WorkerState};

impl Machine<'_> {
    pub(super) fn idle(&mut self, index: usize) -> Option<u64> {
        if self.rules.may_search(self.counts, self.cores, self.mode) {
            self.counts.searching += 1;
            return Some(self.begin_search(index));
        }
        self.sleep(index)
    }

    /// Begins a search, which is one look, and returns the duration of the look.
    pub(super) fn begin_search(&mut self, index: usize) -> u64 {
        self.workers[index].state = WorkerState::Searching;
        self.searched += self.look_time();
        self.look_time()
    }

    fn look_time(&self) -> u64 {
        self.costs.look + self.costs.look_at_one * self.workers.len() as u64
    }

    pub(super) fn search(&mut self, index: usize) -> Option<u64> {
        if let Some(took) = self.look(index) {
            self.searched += took;
            self.workers[index].state = WorkerState::Found { has_searched: true };
            return Some(took);
        }
        self.counts.searching -= 1;
        self.sleep(index)
    }

    /// Queues the tasks that were found and notifies other workers. Returns the cost.
    pub(super) fn begin_anew(&mut self, index: usize, has_searched: bool) -> u64 {
        let mut hand = std::mem::take(&mut self.workers[index].hand);
        if self.rules.is_tokio() {
            self.workers[index].found = hand.pop();
        }
        self.workers[index].queue.append(&mut hand.into());
        self.begin_quantum(index);
        if !has_searched {
            return 0;
        }
        self.counts.searching -= 1;
        let took = self.pass_on(index);
        self.overhead += took;
        took
    }

    /// Notifies other workers after a search. Returns the cost.
    fn pass_on(&mut self, index: usize) -> u64 {
        let worker = &self.workers[index];
        let (waiting, wake_threshold) = (worker.queue.len(), worker.wake_threshold);
        if self.rules.is_tokio() {
            return self.notify(waiting, wake_threshold);
        }
        let mut took = 0;
        if !self.inject.is_empty() {
            took += self.notify(1, 0);
        }
        if waiting > 1 {
            took += self.notify(waiting, wake_threshold);
        }
        took
    }

    /// Takes tasks for this worker. Returns the duration, or `None` if there are none.
    pub(super) fn look(&mut self, index: usize) -> Option<u64> {
        self.looks += 1;
        let mut took = 0;
        if let Some(task) = self.fetch(index, &mut took) {
            self.workers[index].hand.push(task);
            return Some(took);
        }
        if !self.workers[index].queue.is_empty() {
            return Some(took);
        }
        let count = self.workers.len();
        let first = self.random.below(count);
        let mut victims = (first..count).chain(0..first);
        let victim = victims.find(|&victim| victim != index && self.is_worth_stealing(victim));
        victim.map(|victim| self.steal(victim, index))
    }

    fn is_worth_stealing(&self, victim: usize) -> bool {
        let worker = &self.workers[victim];
        self.rules
            .is_worth_stealing(self.mode, worker.queue.len(), worker.wake_threshold)
    }

    fn steal(&mut self, victim: usize, index: usize) -> u64 {
        let count = self.rules.stolen(self.workers[victim].queue.len());
        self.workers[victim].taken += count;
        let mut stolen: Vec<_> = self.workers[victim].queue.drain(..count).collect();
        // The oldest is last.
        stolen.rotate_left(1);
        self.workers[index].hand = stolen;
        self.costs.steal + self.costs.push * count as u64
    }

    /// Steals from a stuck slot, although tasks are queued here.
    pub(super) fn relieve(&mut self, index: usize) -> u64 {
        let stuck = self.watch.stuck.take();
        let victim = stuck.filter(|&victim| victim != index && victim < self.workers.len());
        match victim.filter(|&victim| !self.workers[victim].queue.is_empty()) {
            Some(victim) => {
                let took = self.steal(victim, index);
                let worker = &mut self.workers[index];
                worker.queue.extend(worker.hand.drain(..));
                took
            }
            None => 0,
        }
    }

    /// Returns `None` if the worker sleeps.
    fn sleep(&mut self, index: usize) -> Option<u64> {
        self.sleepers.push(index);
        self.counts.sleeping += 1;
        self.counts.awake -= 1;
        let mut took = self.costs.park;
        if self.counts.awake > 0 && !self.rules.is_tokio() {
            took += self.arm();
        }
        self.overhead += took;
        if self.sees_work(index) {
            self.sleepers.retain(|&sleeper| sleeper != index);
            self.counts.sleeping -= 1;
            self.counts.awake += 1;
            self.workers[index].state = WorkerState::LooksAgain;
            return Some(took + self.look_time());
        }
        self.workers[index].state = WorkerState::Asleep;
        None
    }

    fn sees_work(&self, index: usize) -> bool {
        self.rules.may_wake(self.counts, self.cores, self.mode)
            && (!self.inject.is_empty()
                || (0..self.workers.len())
                    .any(|victim| victim != index && self.is_worth_stealing(victim)))
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }
}
