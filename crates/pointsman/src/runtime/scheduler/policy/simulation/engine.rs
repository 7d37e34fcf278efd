//! The simulated machine: workers, each on a core of its own, whose steps take the time that [`Costs`] gives.
//!
//! It follows `worker`, `steal`, `park`, `idle` and `watchdog`, one step at a time; a step is atomic. Producers outside
//! of the runtime and the watchdog have cores of their own.

mod idle;
mod search;
mod timers;
mod watch;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::Duration;

pub(super) use self::watch::TICK;
use self::watch::Watch;
use super::super::{Mode, Pace, QUANTUM, Workers};
use super::rules::{MAX_NEWEST_FIRST, Rules};
use super::workload::{Random, Workload};
use super::{Costs, Measured};

/// The limit for a run; a run with more events does not terminate.
const MAX_EVENTS: u64 = 10_000_000;

enum WorkerState {
    Asleep,
    /// Called, and not awake yet.
    Called,
    Searching,
    /// Has seen a task while it fell asleep, and looks again.
    LooksAgain,
    /// Has found a task.
    Found {
        has_searched: bool,
    },
    /// Has woken up for these timers.
    Fires(Vec<usize>),
    /// Between two tasks.
    Free,
    /// Runs this task, and queues its forks from `next` on.
    Forks {
        task: usize,
        next: usize,
    },
    Ends {
        task: usize,
    },
}

struct Worker {
    state: WorkerState,
    queue: VecDeque<usize>,
    /// Tokio's LIFO slot, and how often in a row it was used.
    newest: Option<usize>,
    newest_first: u32,
    /// Tasks that were taken and not queued yet.
    hand: Vec<usize>,
    /// Tokio: a task that was found, which no thief can take.
    found: Option<usize>,
    /// The number of tasks taken from the queue.
    taken: usize,
    wake_threshold: usize,
    pace: Pace,
    since: u64,
    /// The number of polls in this quantum.
    polls: u32,
    interval: u32,
    /// The number of looks by thieves at the last access to the queue.
    looks_seen: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival(usize),
    Worker(usize),
    /// The timers of this millisecond are due.
    Timers,
    Tick {
        generation: u64,
    },
}

pub(super) struct Machine<'a> {
    workload: &'a Workload,
    rules: Rules,
    costs: Costs,
    cores: usize,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    event_count: u64,
    workers: Vec<Worker>,
    counts: Workers,
    sleepers: Vec<usize>,
    inject: VecDeque<usize>,
    inject_taken: usize,
    /// The tasks that sleep, by the time at which they are due.
    timers: BTreeMap<u64, Vec<usize>>,
    mode: Mode,
    watch: Watch,
    random: Random,
    needs: Vec<usize>,
    ready_since: Vec<u64>,
    waits: Vec<u64>,
    last_end: u64,
    looks: u64,
    /// In processor time.
    searched: u64,
    overhead: u64,
    /// When this number of workers first ran tasks at once, by index.
    reached: Vec<u64>,
    at_work: usize,
}

/// Runs a workload on `cores` cores with a worker each. All workers sleep at first.
pub(super) fn run(workload: &Workload, cores: usize, rules: Rules, costs: Costs) -> Measured {
    let worker = |_| Worker {
        state: WorkerState::Asleep,
        queue: VecDeque::new(),
        newest: None,
        newest_first: 0,
        hand: Vec::new(),
        found: None,
        taken: 0,
        wake_threshold: 0,
        pace: Pace::new(),
        since: 0,
        polls: 0,
        interval: 1,
        looks_seen: 0,
    };
    let mut machine = Machine {
        workload,
        rules,
        costs,
        cores,
        now: 0,
        events: BinaryHeap::new(),
        event_count: 0,
        workers: (0..cores).map(worker).collect(),
        counts: Workers {
            searching: 0,
            awake: 0,
            sleeping: cores,
            others: 0,
        },
        sleepers: (0..cores).collect(),
        inject: VecDeque::new(),
        inject_taken: 0,
        timers: BTreeMap::new(),
        mode: Mode::Lazy,
        watch: Watch::default(),
        random: Random::new(1),
        needs: workload.tasks.iter().map(|task| task.needs).collect(),
        ready_since: vec![0; workload.tasks.len()],
        waits: Vec::with_capacity(workload.tasks.len()),
        last_end: 0,
        looks: 0,
        searched: 0,
        overhead: 0,
        reached: Vec::new(),
        at_work: 0,
    };
    machine.run();
    let finished = machine.waits.len();
    assert_eq!(
        finished,
        workload.tasks.len(),
        "some tasks of {} wait for ever on {cores} cores with {rules:?}",
        workload.name
    );
    let mut measured = Measured::new(
        machine.last_end,
        workload.work(),
        machine.waits,
        machine.searched,
        machine.overhead,
    );
    measured.reached = machine.reached;
    measured
}

impl Machine<'_> {
    fn run(&mut self) {
        if let Some(&(time, _)) = self.workload.arrivals.first() {
            self.at(time, Event::Arrival(0));
        }
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            self.now = time;
            assert!(
                self.event_count < MAX_EVENTS,
                "workers are busy without tasks"
            );
            match event {
                Event::Arrival(index) => self.arrive(index),
                Event::Worker(index) => {
                    if let Some(took) = self.step(index) {
                        self.at(self.now + took.max(1), Event::Worker(index));
                    }
                }
                Event::Timers => self.fire(),
                Event::Tick { generation } => self.tick(generation),
            }
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        self.event_count += 1;
        self.events.push(Reverse((time, self.event_count, event)));
    }

    fn arrive(&mut self, index: usize) {
        let (_, task) = self.workload.arrivals[index];
        self.ready_since[task] = self.now;
        self.inject.push_back(task);
        let mut took = self.costs.push;
        took += self.notify(1, 0);
        self.overhead += took;
        if let Some(&(time, _)) = self.workload.arrivals.get(index + 1) {
            let kept = match self.workload.is_of_one_thread {
                true => self.now + took,
                false => self.now,
            };
            self.at(time.max(kept), Event::Arrival(index + 1));
        }
    }

    // --- a worker ---

    /// The duration of the worker's next step. `None` if it waits for a call.
    fn step(&mut self, index: usize) -> Option<u64> {
        match self.workers[index].state {
            WorkerState::Asleep => None,
            WorkerState::Called => Some(self.begin_search(index)),
            WorkerState::Searching => self.search(index),
            WorkerState::LooksAgain => {
                let took = self.look(index).unwrap_or(0);
                self.overhead += took;
                self.workers[index].state = WorkerState::Found {
                    has_searched: false,
                };
                Some(took)
            }
            WorkerState::Found { has_searched } => Some(self.begin_anew(index, has_searched)),
            WorkerState::Fires(_) => Some(self.queue_due(index)),
            WorkerState::Free => self.next(index),
            WorkerState::Forks { task, next } => Some(self.fork(index, task, next)),
            WorkerState::Ends { task } => Some(self.end(index, task)),
        }
    }

    fn begin_quantum(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        worker.state = WorkerState::Free;
        worker.since = self.now;
        worker.polls = 0;
        worker.interval = self.rules.interval(&worker.pace);
    }

    /// Takes the next task.
    fn next(&mut self, index: usize) -> Option<u64> {
        let mut took = 0;
        if self.workers[index].polls >= self.workers[index].interval {
            self.look_at_clock(index);
            took += self.relieve(index);
            let worker = &mut self.workers[index];
            worker.polls = 0;
            worker.interval = self.rules.interval(&worker.pace);
        }
        let mut task = self.workers[index].found.take();
        if task.is_none() && self.workers[index].polls == 0 {
            task = self.fetch(index, &mut took);
        }
        let task = task
            .or_else(|| self.pop(index))
            .or_else(|| self.fetch(index, &mut took));
        let Some(task) = task else {
            self.look_at_clock(index);
            self.overhead += took;
            return self.idle(index).map(|more| took + more);
        };
        took += self.costs.pop + self.disturbance(index);
        self.overhead += took;
        self.waits.push(self.now + took - self.ready_since[task]);
        self.at_work += 1;
        if self.at_work > self.reached.len() {
            self.reached.push(self.now + took);
        }
        let next = self.workload.tasks[task].forks.start;
        self.workers[index].state = WorkerState::Forks { task, next };
        Some(took)
    }

    fn pop(&mut self, index: usize) -> Option<usize> {
        let worker = &mut self.workers[index];
        if let Some(newest) = worker.newest.take() {
            worker.newest_first += 1;
            return Some(newest);
        }
        worker.newest_first = 0;
        let task = worker.queue.pop_front()?;
        worker.taken += 1;
        Some(task)
    }

    /// The cost of the cache misses that thieves have caused since the last access to the queue.
    fn disturbance(&mut self, index: usize) -> u64 {
        let worker = &mut self.workers[index];
        let was_touched = worker.looks_seen != self.looks;
        worker.looks_seen = self.looks;
        if was_touched { self.costs.miss } else { 0 }
    }

    fn look_at_clock(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        if worker.polls == 0 {
            return;
        }
        let elapsed = self.now - worker.since;
        // Scales the threshold if the quantum is not [`QUANTUM`].
        let scaled = elapsed * QUANTUM.as_nanos() as u64 / self.costs.quantum;
        worker
            .pace
            .update(worker.polls, Duration::from_nanos(scaled));
        worker.wake_threshold = worker.pace.wake_threshold();
        worker.since = self.now;
    }

    fn fetch(&mut self, index: usize, took: &mut u64) -> Option<usize> {
        if self.inject.is_empty() {
            return None;
        }
        let count = self.rules.fetched(self.inject.len(), self.workers.len());
        self.inject_taken += 1;
        let mut taken = self.inject.drain(..count);
        let first = taken.next();
        self.workers[index].queue.extend(taken);
        *took += self.costs.miss + self.costs.push * count as u64;
        if count > 1 && !self.rules.is_tokio() {
            *took += self.notify(
                self.workers[index].queue.len() + 1,
                self.workers[index].wake_threshold,
            );
        }
        first
    }

    /// Queues a fork, or computes after the last one.
    fn fork(&mut self, index: usize, task: usize, next: usize) -> u64 {
        let known = &self.workload.tasks[task];
        if next < known.forks.end {
            self.workers[index].state = WorkerState::Forks {
                task,
                next: next + 1,
            };
            let took = self.queue(index, next);
            self.overhead += took;
            return took;
        }
        self.workers[index].state = WorkerState::Ends { task };
        known.computes + known.blocks
    }

    fn end(&mut self, index: usize, task: usize) -> u64 {
        self.last_end = self.now;
        self.at_work -= 1;
        self.workers[index].polls += 1;
        let mut took = 0;
        if let Some(then) = self.workload.tasks[task].then {
            self.needs[then] -= 1;
            let sleeps = self.workload.tasks[task].sleeps;
            if sleeps > 0 {
                self.sleep_until(self.now + sleeps, then);
            } else if self.needs[then] == 0 {
                took = self.queue(index, then);
                self.overhead += took;
            }
        }
        self.workers[index].state = WorkerState::Free;
        took
    }

    /// A task that becomes ready is queued at the worker that made it ready.
    fn queue(&mut self, index: usize, task: usize) -> u64 {
        self.ready_since[task] = self.now;
        let took = self.costs.push + self.disturbance(index);
        let worker = &mut self.workers[index];
        let mut queued = Some(task);
        if self.rules.is_tokio() && worker.newest_first < MAX_NEWEST_FIRST {
            queued = worker.newest.replace(task);
        }
        let Some(queued) = queued else {
            return took;
        };
        worker.queue.push_back(queued);
        let (waiting, wake_threshold) = (worker.queue.len(), worker.wake_threshold);
        took + self.notify(waiting, wake_threshold)
    }
}
