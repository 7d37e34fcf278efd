//! When the watchdog looks next.

use std::time::Duration;

/// The interval between two looks while tasks are queued, and the minimum time until a look for a timer. A stuck queue is
/// detected after two ticks at most.
///
/// Lab rows: `help/blocked worker`, in which a task waits for up to 2 ms behind one that blocks, and for up to 10 ms with
/// 5 ms; and the processor time of `web-like jobs, 2,000/s`, which is 10 % higher with 0.5 ms.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// How long the driver may be left to an awake worker if no task has blocked lately; otherwise two ticks. A worker that
/// wakes up for an event sets the alarm, once in this time: that costs up to 10 µs in an idle virtual machine, as much as a
/// small request.
///
/// Lab row: processor time of `echo` with 1,000 requests/s.
const DRIVER_TICK: Duration = Duration::from_millis(20);

/// What the watchdog watches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) enum Duty {
    /// Nothing.
    Rest,
    /// The driver is left to a worker that is awake.
    Driver,
    /// Tasks are queued.
    Queues,
}

impl From<usize> for Duty {
    fn from(duty: usize) -> Self {
        match duty {
            0 => Self::Rest,
            1 => Self::Driver,
            _ => Self::Queues,
        }
    }
}

impl Duty {
    /// The time until the next look; `None` if there is nothing to watch. `next_timer` is the time until the next timer, if
    /// no sleeper waits for it.
    pub(in super::super) fn deadline(
        self,
        next_timer: Option<Duration>,
        has_seen_block: bool,
    ) -> Option<Duration> {
        let duty = match self {
            Self::Rest => None,
            Self::Driver if !has_seen_block => Some(DRIVER_TICK),
            // Lab row: `echo` with 1,000 requests/s while a task blocks, which costs 5 % more with a tick.
            Self::Driver => Some(2 * TICK),
            Self::Queues => Some(TICK),
        };
        // Short timers do not make a busy runtime look more often.
        let timer = next_timer.map(|timer| timer.max(TICK));
        [duty, timer].into_iter().flatten().min()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn each_duty_has_its_own_deadline() {
        for (duty, has_seen_block, deadline) in [
            (Duty::Rest, false, None),
            (Duty::Rest, true, None),
            (Duty::Driver, false, Some(DRIVER_TICK)),
            (Duty::Driver, true, Some(2 * TICK)),
            (Duty::Queues, false, Some(TICK)),
            (Duty::Queues, true, Some(TICK)),
        ] {
            assert_eq!(duty.deadline(None, has_seen_block), deadline);
            let with_timer = duty.deadline(Some(HOUR), has_seen_block);
            assert_eq!(with_timer, deadline.or(Some(HOUR)));
        }
    }

    #[test]
    fn a_timer_brings_the_look_forward_but_to_no_less_than_a_tick() {
        let earlier = DRIVER_TICK - Duration::from_millis(3);
        for (next_timer, look) in [(Duration::ZERO, TICK), (TICK, TICK), (earlier, earlier)] {
            for duty in [Duty::Rest, Duty::Driver] {
                assert_eq!(duty.deadline(Some(next_timer), false), Some(look));
            }
        }
    }
}
