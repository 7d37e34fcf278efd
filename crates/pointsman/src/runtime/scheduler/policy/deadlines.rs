//! When the watchdog looks next: one deadline for each of its duties.

use std::time::Duration;

/// The interval between two looks at queues that have tasks, and the minimum time until a look for a timer. A stuck queue
/// is detected after one to two ticks; with I/O up to [`LAZY_IO_TICK`] later, since the first look may wait for the alarm
/// that watches the driver.
///
/// Lab row: `help/blocked worker`, in which a task waits 0.9 ms behind one that blocks, and nine times as long with 5 ms.
pub(super) const TICK: Duration = Duration::from_micros(500);

/// How long the driver may be unattended if a task has blocked lately.
///
/// Lab row: `echo` with 64 connections while a task blocks, whose 99th percentile is 4 times as high with 10 ms.
const IO_TICK: Duration = Duration::from_millis(1);

/// How long the driver may be unattended otherwise. Under load the alarm is set once in this time, which costs up to 10 µs
/// in an idle virtual machine, as much as a small request.
///
/// Lab row: processor time of `echo` with 64 connections.
const LAZY_IO_TICK: Duration = Duration::from_millis(10);

/// What the watchdog has to watch.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct Duties {
    /// A task is queued.
    pub(in super::super) has_work: bool,
    /// The driver, or a task that was queued during the last look, is left to a worker.
    pub(in super::super) is_left: bool,
    /// The time until the next timer, if no sleeper waits for it.
    pub(in super::super) next_timer: Option<Duration>,
    /// A task has blocked its worker lately.
    pub(in super::super) has_seen_block: bool,
}

/// The time until each duty needs a look. `None`: the duty needs none.
#[derive(PartialEq, Eq, Debug)]
pub(in super::super) struct Deadlines {
    /// To detect a queue that makes no progress.
    queues: Option<Duration>,
    /// To detect that a worker has not attended to what was left to it.
    left: Option<Duration>,
    /// To fire a timer. At least a tick, so that short timers do not make a busy runtime look more often.
    timers: Option<Duration>,
}

impl Duties {
    pub(in super::super) fn deadlines(self) -> Deadlines {
        let io_tick = match self.has_seen_block {
            false => LAZY_IO_TICK,
            true => IO_TICK,
        };
        Deadlines {
            queues: self.has_work.then_some(TICK),
            left: self.is_left.then_some(io_tick),
            timers: self.next_timer.map(|timer| timer.max(TICK)),
        }
    }
}

impl Deadlines {
    /// The time until the next look. `None`: the watchdog rests until it is armed.
    pub(in super::super) fn earliest(self) -> Option<Duration> {
        let all = [self.queues, self.left, self.timers];
        all.into_iter().flatten().min()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn each_duty_has_its_own_deadline() {
        let all = Duties {
            has_work: true,
            is_left: true,
            next_timer: Some(HOUR),
            has_seen_block: false,
        };
        let expected = Deadlines {
            queues: Some(TICK),
            left: Some(LAZY_IO_TICK),
            timers: Some(HOUR),
        };
        assert_eq!(all.deadlines(), expected);
    }

    #[test]
    fn without_duties_the_watchdog_rests() {
        for has_seen_block in [false, true] {
            let duties = Duties {
                has_seen_block,
                ..Duties::default()
            };
            assert_eq!(duties.deadlines().earliest(), None);
        }
    }

    #[test]
    fn queued_tasks_are_looked_at_each_tick() {
        for (is_left, has_seen_block) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let duties = Duties {
                has_work: true,
                is_left,
                next_timer: Some(HOUR),
                has_seen_block,
            };
            assert_eq!(duties.deadlines().earliest(), Some(TICK));
        }
    }

    #[test]
    fn the_driver_is_looked_at_more_often_after_a_task_has_blocked() {
        for (has_seen_block, tick) in [(false, LAZY_IO_TICK), (true, IO_TICK)] {
            let duties = Duties {
                is_left: true,
                next_timer: Some(HOUR),
                has_seen_block,
                ..Duties::default()
            };
            assert_eq!(duties.deadlines().earliest(), Some(tick));
        }
    }

    #[test]
    fn a_timer_brings_the_look_forward_but_to_no_less_than_a_tick() {
        let earlier = LAZY_IO_TICK - Duration::from_millis(3);
        for (next_timer, look) in [(Duration::ZERO, TICK), (TICK, TICK), (earlier, earlier)] {
            for is_left in [false, true] {
                let duties = Duties {
                    is_left,
                    next_timer: Some(next_timer),
                    ..Duties::default()
                };
                assert_eq!(duties.deadlines().earliest(), Some(look));
            }
        }
    }
}
