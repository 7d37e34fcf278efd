//! The state of a runtime that the monitor keeps between two looks.

use std::time::{Duration, Instant};

use super::super::scheduler::{Current, Shared};
use super::super::task::local_set::list;
use super::stack::Stack;
use super::{Stall, StallKind};
use crate::runtime::dump::StuckTask;
use crate::task::id::Id;

/// The number of thresholds after which a runtime that no thread runs is reported. Large, because a program may have work
/// of its own to do between the first `spawn` and its `block_on`.
const UNATTENDED: u32 = 10;

/// A number that changes with progress, and the time at which its current value was first seen.
struct Progress {
    number: usize,
    since: Instant,
    is_reported: bool,
}

impl Progress {
    fn new(number: usize, now: Instant) -> Self {
        Self {
            number,
            since: now,
            is_reported: false,
        }
    }

    /// Returns how long the number has been the same, if that is at least the threshold and has not been reported.
    fn look(&mut self, number: usize, now: Instant, threshold: Duration) -> Option<Duration> {
        if number != self.number {
            *self = Self::new(number, now);
            return None;
        }
        let lasted = now - self.since;
        (lasted >= threshold && !self.is_reported).then_some(lasted)
    }

    /// As [`look`](Self::look), for a state in which there may be no number: only time in which each look finds the same
    /// one counts. The result is reported.
    fn look_while(
        &mut self,
        number: Option<usize>,
        now: Instant,
        threshold: Duration,
    ) -> Option<Duration> {
        // Without a number, one that no look finds.
        let lasted = self.look(number.unwrap_or(usize::MAX), now, threshold);
        let lasted = lasted.filter(|_| number.is_some())?;
        self.is_reported = true;
        Some(lasted)
    }
}

pub(super) struct Watch {
    workers: Vec<Progress>,
    /// For each worker, the task whose poll was reported and has not returned.
    stuck: Vec<Option<StuckTask>>,
    /// The poll of a local set's task that was seen inside the worker's poll: the task's id and number of polls.
    of_set: Option<(Id, u32)>,
    /// The number of functions that threads have taken, while the pool is full.
    pool: Progress,
    /// A constant, while a timer is late.
    timer: Progress,
    /// The number of polls for I/O events, while events wait.
    io: Progress,
    /// The number of tasks that were spawned before a thread last left the runtime, while newer ones wait for a thread.
    attended: Progress,
}

/// The result of a look.
pub(super) struct Seen {
    pub(super) stalls: Vec<Stall>,
    /// Whether something could stall before the next look.
    pub(super) is_active: bool,
}

impl Watch {
    pub(super) fn new(workers: usize, now: Instant) -> Self {
        let progress = || Progress::new(0, now);
        Self {
            workers: (0..workers).map(|_| progress()).collect(),
            stuck: (0..workers).map(|_| None).collect(),
            of_set: None,
            pool: progress(),
            timer: progress(),
            io: progress(),
            attended: progress(),
        }
    }

    /// Returns how long the worker has been in the poll that it was in at the last look.
    #[cfg(all(unix, feature = "net"))]
    pub(super) fn polls_since(
        &self,
        worker: usize,
        steps: usize,
        now: Instant,
    ) -> Option<Duration> {
        let progress = &self.workers[worker];
        (progress.number == steps).then(|| now.saturating_duration_since(progress.since))
    }

    /// The time `late` by which the look is late does not count towards a stall: the process may have been stopped, or
    /// other processes may have used the cores.
    pub(super) fn look(&mut self, shared: &Shared, now: Instant, late: Duration) -> Seen {
        let threshold = shared.stall_threshold();
        let others = [
            &mut self.pool,
            &mut self.timer,
            &mut self.io,
            &mut self.attended,
        ];
        for progress in self.workers.iter_mut().chain(others) {
            progress.since = (progress.since + late).min(now);
        }
        let mut seen = Seen {
            stalls: Vec::new(),
            is_active: false,
        };
        for (index, progress) in self.workers.iter_mut().enumerate() {
            seen.is_active |= shared.is_awake(index);
            let steps = shared.steps(index);
            let is_same = steps == progress.number;
            let lasted = progress.look(steps, now, threshold);
            if !is_same || !shared.is_awake(index) {
                self.stuck[index] = None;
                continue;
            }
            let of_set = current_of_set(shared).map(|task| task.poll());
            if of_set != std::mem::replace(&mut self.of_set, of_set) {
                // The polls of a local set are progress too.
                *progress = Progress::new(steps, now);
                self.stuck[index] = None;
                continue;
            }
            if let Some(stuck) = &self.stuck[index] {
                stuck.note_poll(now - progress.since);
            }
            let Some(lasted) = lasted else { continue };
            let (kind, stuck) = current(shared, index);
            let stack = Stack::of(shared.os_thread(index));
            let task = stuck.as_ref().map(|stuck| {
                stuck.note_poll(lasted);
                stuck.describe(index)
            });
            // What was found belongs to this poll only if the poll still lasts.
            if shared.steps(index) == steps {
                progress.is_reported = true;
                self.stuck[index] = stuck;
                seen.stalls.push(Stall {
                    worker: Some(index),
                    task,
                    waiting: shared.queued_at(index),
                    stack,
                    ..stall(kind, shared, lasted)
                });
            }
        }
        let blocking = shared.pool_of_jobs();
        let taken = blocking.is_full().then(|| blocking.taken());
        seen.is_active |= taken.is_some();
        if let Some(lasted) = self.pool.look_while(taken, now, threshold) {
            seen.stalls.push(Stall {
                waiting: blocking.queued(),
                ..stall(StallKind::BlockingPool, shared, lasted)
            });
        }
        let is_attended = shared.is_attended();
        // A stalled worker is the cause; it has been reported.
        let is_stalled = self.workers.iter().any(|worker| worker.is_reported);
        let is_driven = is_attended && !is_stalled;
        let late_timer = (is_driven && shared.has_late_timer()).then_some(0);
        let polls = shared.polls_before_events().filter(|_| is_driven);
        for (kind, progress, number) in [
            (StallKind::Timer, &mut self.timer, late_timer),
            (StallKind::Io, &mut self.io, polls),
        ] {
            seen.is_active |= number.is_some();
            if let Some(lasted) = progress.look_while(number, now, threshold) {
                seen.stalls.push(stall(kind, shared, lasted));
            }
        }
        let spawned = match is_attended {
            true => None,
            false => shared.spawned_before_new_tasks(),
        };
        seen.is_active |= spawned.is_some();
        let patience = threshold.saturating_mul(UNATTENDED);
        if let Some(lasted) = self.attended.look_while(spawned, now, patience) {
            seen.stalls.push(Stall {
                waiting: shared.queued(),
                ..stall(StallKind::Unattended, shared, lasted)
            });
        }
        seen
    }
}

fn stall(kind: StallKind, shared: &Shared, duration: Duration) -> Stall {
    Stall::new(kind, shared.name(), duration)
}

/// The task that a local set polls on the thread that runs a current-thread runtime.
fn current_of_set(shared: &Shared) -> Option<StuckTask> {
    let address = list::running_task(shared.id, shared.only_thread()?)?;
    StuckTask::find(shared, address)
}

/// Returns what the worker polls.
fn current(shared: &Shared, worker: usize) -> (StallKind, Option<StuckTask>) {
    if let Some(task) = current_of_set(shared) {
        return (StallKind::Task, Some(task));
    }
    match shared.current(worker) {
        Current::Task(address) => match StuckTask::find(shared, address) {
            Some(task) => (StallKind::Task, Some(task)),
            None => (StallKind::Worker, None),
        },
        Current::BlockOn => (StallKind::BlockOn, None),
        Current::Nothing => (StallKind::Worker, None),
    }
}
