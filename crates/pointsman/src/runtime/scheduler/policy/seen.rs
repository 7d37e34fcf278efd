//! What the watchdog concludes from two successive looks at the slots and queues.

use super::Mode;

/// The number of looks for which the mode stays eager after the last stuck queue: tasks that block are often queued in groups.
///
/// Lab row: `help/blocked neighbours`, in which the tasks beside three that block take 0.4 ms, and 14 to 22 ms with 0.
const EAGER_LOOKS: u32 = 10;

/// A queue, as a look finds it.
#[derive(Clone, Copy)]
pub(in super::super) struct QueueState {
    /// How many tasks were taken since the start, or how often.
    pub(in super::super) taken: usize,
    pub(in super::super) is_empty: bool,
}

/// The state at the previous look.
#[derive(Default)]
pub(in super::super) struct Seen {
    /// The slots' queues, and last the inject queue.
    queues: Vec<QueueState>,
    /// See `Slot::steps`.
    steps: Vec<usize>,
    /// The number of further looks for which the mode stays eager.
    eager: u32,
}

pub(in super::super) struct Look {
    /// Whether a task is queued.
    pub(in super::super) has_work: bool,
    /// A queue that has kept its tasks since the previous look: the index of a slot, or the number of slots for the inject
    /// queue.
    pub(in super::super) stuck: Option<usize>,
    /// Whether no worker is awake.
    pub(in super::super) is_idle: bool,
    /// Whether workers are awake, and each is in the same poll as at the previous look.
    pub(in super::super) is_blocked: bool,
    pub(in super::super) mode: Mode,
}

impl Seen {
    /// Compares the queues and the steps of the slots with the previous look.
    pub(in super::super) fn look(&mut self, queues: Vec<QueueState>, steps: Vec<usize>) -> Look {
        let has_work = queues.iter().any(|queue| !queue.is_empty);
        let stuck = (self.queues.iter().zip(&queues)).position(|(before, now)| {
            before.taken == now.taken && !before.is_empty && !now.is_empty
        });
        let is_awake = |steps: usize| steps % 2 == 0;
        let is_idle = !steps.iter().any(|&steps| is_awake(steps));
        let mut pairs = self.steps.iter().zip(&steps);
        let is_blocked = !is_idle
            && !self.steps.is_empty()
            && pairs.all(|(before, &now)| !is_awake(now) || *before == now);
        self.queues = queues;
        self.steps = steps;
        self.eager = match stuck {
            Some(_) => EAGER_LOOKS,
            None => self.eager.saturating_sub(1),
        };
        Look {
            has_work,
            stuck,
            is_idle,
            is_blocked,
            mode: match self.eager {
                0 => Mode::Lazy,
                _ => Mode::Eager,
            },
        }
    }

    /// Ends the eager mode, since the watchdog rests.
    pub(in super::super) fn rest(&mut self) -> Mode {
        self.eager = 0;
        Mode::Lazy
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const EMPTY: QueueState = QueueState {
        taken: 0,
        is_empty: true,
    };

    fn waiting(taken: usize) -> QueueState {
        QueueState {
            taken,
            is_empty: false,
        }
    }

    #[test]
    fn a_queue_is_stuck_if_it_had_the_same_tasks_at_two_looks() {
        let mut seen = Seen::default();
        assert_eq!(seen.look(vec![EMPTY, EMPTY], vec![1]).stuck, None);
        assert_eq!(seen.look(vec![waiting(0), EMPTY], vec![2]).stuck, None);
        let look = seen.look(vec![waiting(0), EMPTY], vec![2]);
        assert_eq!((look.stuck, look.mode), (Some(0), Mode::Eager));
        assert_eq!(seen.look(vec![waiting(1), waiting(0)], vec![4]).stuck, None);
        assert_eq!(
            seen.look(vec![waiting(2), waiting(0)], vec![6]).stuck,
            Some(1)
        );
    }

    #[test]
    fn the_mode_is_lazy_again_after_some_looks_or_a_rest() {
        let mut seen = Seen::default();
        for _ in 0..2 {
            seen.look(vec![waiting(0)], vec![2]);
        }
        for _ in 1..EAGER_LOOKS {
            assert_eq!(seen.look(vec![EMPTY], vec![3]).mode, Mode::Eager);
        }
        assert_eq!(seen.look(vec![EMPTY], vec![3]).mode, Mode::Lazy);
        for _ in 0..2 {
            seen.look(vec![waiting(0)], vec![2]);
        }
        assert_eq!(seen.rest(), Mode::Lazy);
        assert_eq!(seen.look(vec![EMPTY], vec![3]).mode, Mode::Lazy);
    }

    /// A worker that has just woken up, or one that sleeps, is not blocked.
    #[test]
    fn a_worker_is_blocked_if_it_is_in_the_same_poll_at_two_looks() {
        let mut seen = Seen::default();
        let mut look = |steps: &[usize]| {
            let look = seen.look(vec![EMPTY], steps.to_vec());
            (look.is_idle, look.is_blocked)
        };
        assert_eq!(look(&[2, 1]), (false, false));
        assert_eq!(look(&[2, 1]), (false, true));
        assert_eq!(look(&[2, 4]), (false, false));
        assert_eq!(look(&[3, 5]), (true, false));
        assert_eq!(look(&[3, 6]), (false, false));
    }
}
