//! The state of a runtime that the monitor keeps between two looks.

use std::time::{Duration, Instant};

use super::super::scheduler::{Current, Shared};
use super::super::task::local_set::list;
use super::stack::Stack;
use super::{Stall, StallKind};
use crate::runtime::dump::StuckTask;
use crate::task::id::Id;

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
}

pub(super) struct Watch {
    workers: Vec<Progress>,
    /// For each worker, the task whose poll was reported and has not returned.
    stuck: Vec<Option<StuckTask>>,
    /// The poll of a local set's task that was seen inside the worker's poll: the task's id and number of polls.
    of_set: Option<(Id, u32)>,
    pool: Progress,
    /// Whether a timer was late.
    timer: Progress,
    /// The number of polls for I/O events, while events wait.
    io: Progress,
    /// Whether the runtime had work and no thread ran it.
    attended: Progress,
}

/// The result of a look.
pub(super) struct Seen {
    pub(super) stalls: Vec<Stall>,
    /// Whether something could stall before the next look.
    pub(super) is_active: bool,
    /// The time until something could stall without a thread that arms the monitor.
    pub(super) next: Option<Duration>,
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
            next: None,
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
        let pool = &mut self.pool;
        let blocking = shared.pool_of_jobs();
        if blocking.is_full() {
            seen.is_active = true;
            if let Some(lasted) = pool.look(blocking.taken(), now, threshold) {
                pool.is_reported = true;
                seen.stalls.push(Stall {
                    waiting: blocking.queued(),
                    ..stall(StallKind::BlockingPool, shared, lasted)
                });
            }
        } else {
            // A number that no later look finds: only time in which the pool is full at each look counts.
            *pool = Progress::new(blocking.taken().wrapping_sub(1), now);
        }
        let is_attended = shared.is_attended();
        // A stalled worker is the cause; it has been reported.
        let is_stalled = self.workers.iter().any(|worker| worker.is_reported);
        let is_late = is_attended && !is_stalled && shared.has_late_timer();
        seen.is_active |= is_late;
        check(&mut self.timer, is_late, now, threshold, |lasted| {
            seen.stalls.push(stall(StallKind::Timer, shared, lasted));
        });
        let io = &mut self.io;
        let events = shared.polls_before_events();
        match events.filter(|_| is_attended && !is_stalled) {
            Some(polls) => {
                seen.is_active = true;
                if let Some(lasted) = io.look(polls, now, threshold) {
                    io.is_reported = true;
                    seen.stalls.push(stall(StallKind::Io, shared, lasted));
                }
            }
            // A number that no later look finds.
            None => *io = Progress::new(usize::MAX, now),
        }
        let is_left = !is_attended && shared.has_work();
        seen.is_active |= is_left;
        if !is_attended {
            seen.next = shared.until_next_timer();
        }
        check(&mut self.attended, is_left, now, threshold, |lasted| {
            seen.stalls.push(Stall {
                waiting: shared.queued(),
                ..stall(StallKind::Unattended, shared, lasted)
            });
        });
        seen
    }
}

/// Reports a condition that has held at each look for at least the threshold.
fn check(
    progress: &mut Progress,
    holds: bool,
    now: Instant,
    threshold: Duration,
    report: impl FnOnce(Duration),
) {
    let lasted = progress.look(usize::from(holds), now, threshold);
    if let Some(lasted) = lasted.filter(|_| holds) {
        progress.is_reported = true;
        report(lasted);
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
