//! Reads tasks while other threads run them, for dumps.
//!
//! Invariant: a reader holds a reference to each task while it reads it, so the task's memory is not reused
//! during that time. It reads the state word, which is atomic, the fields of the header that are never changed, and
//! Relaxed counters. It never touches the future.

use std::time::Duration;

use super::activity::ActivityParts;
use super::arena::FoundTasks;
use super::id::Id;
use super::origin::OriginParts;

/// The state of a task that is not complete, from its state word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A thread runs it, or it has yielded and is queued.
    RunningOrYielded,
    Queued,
    Waiting,
}

/// A copy of what is known of a task.
pub(crate) struct TaskFacts {
    /// Its address, to compare.
    pub(crate) address: usize,
    pub(crate) id: Id,
    pub(crate) is_job: bool,
    pub(crate) progress: Progress,
    /// The number of its wakers and abort handles.
    pub(crate) wakers: usize,
    pub(crate) activity: ActivityParts,
    /// `None` if diagnostics are compiled out.
    pub(crate) origin: Option<OriginParts>,
}

impl FoundTasks {
    /// Keeps the task with this address only.
    pub(crate) fn retain(&mut self, address: usize) {
        let (kept, others) = self
            .0
            .drain(..)
            .partition(|task| task.as_ptr().addr() == address);
        self.0 = kept;
        drop(Self(others));
    }

    /// Notes how long the poll of these tasks has lasted.
    pub(crate) fn note_poll(&self, lasted: Duration) {
        for task in &self.0 {
            task.header().activity.note_poll(lasted);
        }
    }

    /// Reads the tasks that are not complete.
    pub(crate) fn facts(&self) -> impl Iterator<Item = TaskFacts> {
        self.0.iter().filter_map(|task| {
            let state = task.state().load();
            if state.is_complete() {
                return None;
            }
            let progress = match (state.is_running(), state.is_notified()) {
                (true, _) => Progress::RunningOrYielded,
                (false, true) => Progress::Queued,
                (false, false) => Progress::Waiting,
            };
            let header = task.header();
            Some(TaskFacts {
                address: task.as_ptr().addr(),
                id: task.id(),
                is_job: task.is_job(),
                progress,
                wakers: state.others(),
                activity: header.activity.parts(),
                origin: header.origin.parts(&header.site, task.id()),
            })
        })
    }
}
