//! What the watchdog concludes from two successive looks at the queues.

use std::mem;

use super::Mode;

/// The number of looks for which the mode stays eager after the last stuck worker: tasks that block are often queued in groups.
///
/// Lab row: `help/blocked neighbours`, in which many tasks that block at once take 0.1 ms, and hundreds of ms with 0.
const EAGER_LOOKS: u32 = 10;

/// The state of the queues at the previous look.
#[derive(Default)]
pub(in super::super) struct Seen {
    /// How many tasks were taken from each slot's queue, and last from the inject queue, since the start.
    taken: Vec<usize>,
    /// How many polls were begun at each slot since the start.
    polls: Vec<usize>,
    /// The number of further looks for which the mode stays eager.
    eager: u32,
}

pub(in super::super) struct Look {
    /// Whether a task is queued.
    pub(in super::super) has_work: bool,
    /// A queue that is not empty and from which no task was taken since the previous look.
    pub(in super::super) stuck: Option<usize>,
    /// `None` at the first look.
    pub(in super::super) mode: Option<Mode>,
}

impl Seen {
    /// Makes the next look the first one. Called before the watchdog rests.
    pub(in super::super) fn forget(&mut self) {
        self.taken.clear();
        self.polls.clear();
    }

    /// Compares the queues with the previous look. `queues` has the number of tasks taken from each slot's queue, and last
    /// from the inject queue, and whether it is empty; `polls` the number of polls begun at each slot; `awake` the number
    /// of awake workers.
    pub(in super::super) fn look(
        &mut self,
        queues: Vec<(usize, bool)>,
        polls: Vec<usize>,
        awake: usize,
    ) -> Look {
        let polls_before = mem::replace(&mut self.polls, polls);
        let taken = queues.iter().map(|&(taken, _)| taken).collect();
        let before = mem::replace(&mut self.taken, taken);
        let has_work = queues.iter().any(|&(_, is_empty)| !is_empty);
        if before.is_empty() {
            return Look {
                has_work,
                stuck: None,
                mode: None,
            };
        }
        let is_unchanged = |index: usize| before[index] == queues[index].0;
        let stuck = (0..queues.len()).find(|&index| is_unchanged(index) && !queues[index].1);
        // If more workers are awake than have begun a poll, one is stuck in a task.
        let polls = self.polls.iter().zip(&polls_before);
        let moved = polls.filter(|(now, before)| now != before).count();
        self.eager = match stuck.is_some() || awake > moved {
            true => EAGER_LOOKS,
            false => self.eager.saturating_sub(1),
        };
        Look {
            has_work,
            stuck,
            mode: Some(match self.eager {
                0 => Mode::Lazy,
                _ => Mode::Eager,
            }),
        }
    }
}
