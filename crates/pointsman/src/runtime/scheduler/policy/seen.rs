//! What the watchdog concludes from two looks at the queues.

use std::mem;

use super::Mode;

/// For so many looks after the last that has seen something stand still any task is worth a wake-up: where one worker is
/// blocked the next may be soon. Row: `help/blocked neighbours`, many tasks that block at once.
const EAGER_LOOKS: u32 = 10;

/// What the queues looked like.
#[derive(Default)]
pub(in super::super) struct Seen {
    /// How many tasks each slot's queue, and last the inject queue, had given away.
    taken: Vec<usize>,
    /// How many polls were begun at each slot.
    polls: Vec<usize>,
    /// Looks for which the mode stays eager.
    eager: u32,
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
        self.polls.clear();
    }

    /// Looks at how many tasks each slot's queue, and last the inject queue, has given away, and whether it is empty; at
    /// how many polls were begun at each slot; and at how many workers are awake.
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
        let stood = |index: usize| before[index] == queues[index].0;
        let stuck = (0..queues.len()).find(|&index| stood(index) && !queues[index].1);
        // Some worker is awake, and has begun no task since.
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
