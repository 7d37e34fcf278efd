//! When the watchdog looks next.

use std::time::Duration;

/// The interval between two looks while tasks are queued, and the minimum time until a look for a timer. A stuck queue is
/// detected after two ticks at most.
///
/// Lab rows: `help/blocked worker`, in which a task waits for up to 2 ms behind one that blocks, and for up to 10 ms with
/// 5 ms; and the processor time of `web-like jobs, 2,000/s`, which is 10 % higher with 0.5 ms.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// The time until a look at a driver that is left to an awake worker. A worker that wakes up for an event sets the alarm, once
/// in this time: that costs up to 10 µs in an idle virtual machine, as much as a small request. A look that finds the driver
/// left is followed by one a tick later: most looks find it held.
///
/// Lab row: processor time of `echo` with 1,000 requests/s, of which the looks were 5 % with 20 ms.
const DRIVER_TICK: Duration = Duration::from_millis(40);

/// The same while a task counts as having blocked lately.
///
/// Measured: `echo` with 1,000 requests/s, of which one in 200, at random, blocks for 10 ms: 1.11 times the processor time of
/// Tokio, and 1.23 times with 2 ms; with 8 ms its 99th percentile is 4.8 ms instead of 3.2.
const WATCH_TICK: Duration = Duration::from_millis(4);

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
    /// no sleeper waits for it. `confirms`: this look has found the driver left, and the next one tells whether
    /// the worker is blocked.
    pub(in super::super) fn deadline(
        self,
        next_timer: Option<Duration>,
        has_seen_block: bool,
        confirms: bool,
    ) -> Option<Duration> {
        let duty = match self {
            Self::Rest => None,
            Self::Queues => Some(TICK),
            Self::Driver if confirms => Some(TICK),
            Self::Driver if has_seen_block => Some(WATCH_TICK),
            Self::Driver => Some(DRIVER_TICK),
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
        for (duty, has_seen_block, confirms, deadline) in [
            (Duty::Rest, false, false, None),
            (Duty::Rest, true, false, None),
            (Duty::Driver, false, false, Some(DRIVER_TICK)),
            (Duty::Driver, true, false, Some(WATCH_TICK)),
            (Duty::Driver, false, true, Some(TICK)),
            (Duty::Driver, true, true, Some(TICK)),
            (Duty::Queues, false, false, Some(TICK)),
            (Duty::Queues, true, true, Some(TICK)),
        ] {
            assert_eq!(duty.deadline(None, has_seen_block, confirms), deadline);
            let with_timer = duty.deadline(Some(HOUR), has_seen_block, confirms);
            assert_eq!(with_timer, deadline.or(Some(HOUR)));
        }
    }

    #[test]
    fn a_timer_brings_the_look_forward_but_to_no_less_than_a_tick() {
        let earlier = DRIVER_TICK - Duration::from_millis(3);
        for (next_timer, look) in [(Duration::ZERO, TICK), (TICK, TICK), (earlier, earlier)] {
            for duty in [Duty::Rest, Duty::Driver] {
                assert_eq!(duty.deadline(Some(next_timer), false, false), Some(look));
            }
        }
    }
}
