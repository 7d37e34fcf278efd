//! What the watchdog concludes from two looks at the queues.

use super::Mode;

/// What the queues looked like.
#[derive(Default)]
pub(in super::super) struct Seen {
    /// How many tasks each slot's queue, and last the inject queue, had given away.
    taken: Vec<usize>,
}

pub(in super::super) struct Look {
    /// Something is queued.
    pub(in super::super) has_work: bool,
    /// A queue from which nothing was taken since the look before, though something was there.
    pub(in super::super) stuck: Option<usize>,
    /// `None` after the first look.
    pub(in super::super) mode: Option<Mode>,
}

impl Seen {
    /// What was seen before a rest says nothing about what comes after it.
    pub(in super::super) fn forget(&mut self) {
        self.taken.clear();
    }

    /// Looks at how many tasks each slot's queue, and last the inject queue, has given away, and whether it is empty.
    pub(in super::super) fn look(&mut self, queues: Vec<(usize, bool)>, awake: usize) -> Look {
        let taken = queues.iter().map(|&(taken, _)| taken).collect();
        let before = std::mem::replace(&mut self.taken, taken);
        let has_work = queues.iter().any(|&(_, is_empty)| !is_empty);
        if before.is_empty() {
            return Look {
                has_work,
                stuck: None,
                mode: None,
            };
        }
        let stood = |index: usize| before[index] == queues[index].0;
        let stuck = (0..queues.len()).find(|&index| stood(index) && !queues[index].1);
        // Some worker is awake, and has begun no task since. The last queue is no worker's.
        let moved = (0..queues.len() - 1).filter(|&index| !stood(index)).count();
        let is_one_stuck = awake > moved;
        Look {
            has_work,
            stuck,
            mode: Some(match stuck.is_some() || is_one_stuck {
                true => Mode::Eager,
                false => Mode::Lazy,
            }),
        }
    }
}
