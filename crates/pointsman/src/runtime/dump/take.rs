//! Takes a dump: reads the tasks, and reads them again if some seem to be stuck.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::super::handle::Handle;
use super::super::scheduler::Shared;
use super::super::task::local_set::list;
use super::problems;
use super::{Dump, Holder, State, Task, Tasks, Trace, Wait};
use crate::sync::holders::{self, LockHolder};
use crate::task::activity::{WaitKind, WaitNote};
use crate::task::arena::FoundTasks;
use crate::task::clock;
use crate::task::id::Id;
use crate::task::inspect::{Progress, TaskFacts};
use crate::task::origin::OriginParts;

/// One reading of all tasks.
pub(super) struct Reading {
    pub(super) facts: Vec<TaskFacts>,
    /// The position of each task, by the low half of its id.
    by_number: HashMap<u32, usize>,
}

impl Reading {
    fn take(shared: &Shared) -> Self {
        let found = find_tasks(shared);
        let is_shown = |facts: &TaskFacts| {
            let origin = facts.origin.as_ref();
            !origin.is_some_and(OriginParts::is_of_runtime)
        };
        let mut facts: Vec<_> = found.facts().filter(is_shown).collect();
        // Drops the references, which frees the tasks that have ended since.
        drop(found);
        facts.sort_by_key(|facts| facts.id);
        let by_number = facts.iter().enumerate();
        let by_number = by_number.map(|(at, facts)| (facts.id.as_number() as u32, at));
        Self {
            by_number: by_number.collect(),
            facts,
        }
    }

    pub(super) fn position(&self, number: u32) -> Option<usize> {
        self.by_number.get(&number).copied()
    }

    fn find(&self, number: u32) -> Option<&TaskFacts> {
        self.position(number).map(|at| &self.facts[at])
    }
}

/// Finds the tasks of the runtime and of its local sets.
fn find_tasks(shared: &Shared) -> FoundTasks {
    let mut found = shared.find_tasks();
    list::find_tasks(shared.id, &mut found);
    found
}

impl Handle {
    /// Takes a snapshot of the runtime's tasks: the origin of each, what it is doing, what it waits for, which tasks
    /// hold that lock, and which tasks wait for each other. Polls nothing, and does not stop the workers.
    ///
    /// May be called on any thread, also while all workers are stuck.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::runtime::{Handle, dump::{Resource, State}};
    /// use std::time::Duration;
    ///
    /// pointsman::spawn(pointsman::time::sleep(Duration::from_secs(60)));
    /// pointsman::task::yield_now().await;
    /// let dump = Handle::current().dump();
    /// let task = dump.tasks().iter().next().unwrap();
    /// assert_eq!(task.state(), State::Waiting);
    /// assert_eq!(task.waits_for().unwrap().resource(), Resource::Timer);
    /// assert_eq!(task.location().unwrap().file(), file!());
    /// # }
    /// ```
    #[must_use]
    pub fn dump(&self) -> Dump {
        let shared = &self.shared;
        clock::refresh(Instant::now());
        let reading = Reading::take(shared);
        let mut suspects = problems::find(&reading);
        if !suspects.is_empty() {
            // A task that is about to be woken looks stuck.
            let again = problems::find(&Reading::take(shared));
            suspects.retain(|problem| again.contains(problem));
        }
        let on_workers = shared.running_tasks();
        let in_sets = list::running_tasks(shared.id);
        let task = |facts: &TaskFacts| {
            let is_this = |&task: &Option<usize>| task == Some(facts.address);
            let worker = on_workers.iter().position(is_this);
            let is_running = worker.is_some() || in_sets.contains(&facts.address);
            Task {
                trace: trace(facts, &reading, is_running, worker),
            }
        };
        Dump {
            tasks: Tasks {
                tasks: reading.facts.iter().map(task).collect(),
            },
            problems: suspects.into_iter().map(|(problem, _)| problem).collect(),
        }
    }
}

/// A task whose poll does not return, with a reference to it.
pub(in crate::runtime) struct StuckTask {
    found: FoundTasks,
    reading: Reading,
}

impl StuckTask {
    /// Finds the task that has this address and runs.
    pub(in crate::runtime) fn find(shared: &Shared, address: usize) -> Option<Self> {
        let mut found = find_tasks(shared);
        found.retain(address);
        let facts: Vec<_> = found.facts().collect();
        let is_running = |facts: &TaskFacts| facts.progress == Progress::RunningOrYielded;
        let reading = Reading {
            by_number: HashMap::new(),
            facts,
        };
        (reading.facts.first().is_some_and(is_running)).then_some(Self { found, reading })
    }

    /// Returns the task's id and number of polls, which identify the poll.
    pub(in crate::runtime) fn poll(&self) -> (Id, u32) {
        let facts = &self.reading.facts[0];
        (facts.id, facts.activity.polls)
    }

    pub(in crate::runtime) fn note_poll(&self, lasted: Duration) {
        self.found.note_poll(lasted);
    }

    pub(in crate::runtime) fn describe(&self, worker: usize) -> Task {
        Task {
            trace: trace(&self.reading.facts[0], &self.reading, true, Some(worker)),
        }
    }
}

/// `worker` is the worker that polls the task or polled it last.
fn trace(facts: &TaskFacts, reading: &Reading, is_running: bool, worker: Option<usize>) -> Trace {
    let state = match facts.progress {
        Progress::RunningOrYielded if facts.is_job || is_running => State::Running,
        Progress::RunningOrYielded | Progress::Queued => State::Queued,
        Progress::Waiting => State::Waiting,
    };
    let origin = facts.origin.as_ref();
    let wait = facts.activity.wait.filter(|_| state == State::Waiting);
    Trace {
        id: facts.id,
        name: origin.and_then(|origin| origin.name.clone()),
        location: origin.map(|origin| origin.location),
        age: origin.map_or(Duration::ZERO, |origin| clock::since(origin.born)),
        spawner: origin
            .and_then(|origin| reading.find(origin.parent))
            .map(|spawner| spawner.id),
        state,
        worker: worker.filter(|_| state == State::Running),
        is_blocking: facts.is_job,
        polls: facts.activity.polls,
        longest_poll: facts.activity.longest_poll,
        wait: wait.map(|note| wait_of(note, reading)),
    }
}

fn wait_of(note: WaitNote, reading: &Reading) -> Wait {
    let joined = (note.kind == WaitKind::Join)
        .then(|| reading.find(note.identity))
        .flatten();
    let lock = holders::of(note.kind, note.identity);
    let holder = |holder: &LockHolder| Holder {
        number: holder.number,
        task: reading.find(holder.number).map(|facts| facts.id),
        permits: holder.permits,
        since: clock::since(holder.since),
        is_unclaimed: holder.granted.is_some(),
    };
    Wait {
        kind: note.kind,
        identity: note.identity,
        is_one_of_several: note.is_one_of_several,
        task: joined.map(|facts| facts.id),
        holders: lock.holders.iter().map(holder).collect(),
        other_permits: lock.others,
    }
}
