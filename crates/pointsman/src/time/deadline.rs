//! When a sleep ends. Most are dropped before anyone needs to know.
//!
//! Invariant: once it was asked for, a deadline stays the same until it is set.
//!
//! Cost: what is made and dropped takes one reading of the processor's counter, and no clock.

use std::sync::OnceLock;
use std::time::Duration;

use super::ticks::Ticks;
use super::{Instant, clock};

/// Some thirty years: every operating system can represent a point in time that far away.
pub(super) const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

#[derive(Debug)]
pub(super) struct Deadline {
    value: Value,
    /// What a count was taken for by those who may not change the value. `std`'s own cell: nothing waits
    /// for it, and no timer depends on who comes first. It is slow, so that nothing else uses it.
    asked: OnceLock<Instant>,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    At(Instant),
    /// So many nanoseconds after the count was taken.
    After(Ticks, u64),
}

/// The point in time, and what the operating system's clock shows now.
fn resolve(made: Ticks, after: u64) -> (Instant, Instant) {
    let (made, now) = made.to_instant();
    (
        Instant::from_std(made + Duration::from_nanos(after)),
        Instant::from_std(now),
    )
}

impl Deadline {
    #[inline]
    pub(super) fn at(instant: Instant) -> Self {
        Self::new(Value::At(instant))
    }

    /// So long from now. `None` if that cannot be represented.
    #[inline]
    pub(super) fn after(duration: Duration) -> Option<Self> {
        // A clock that is held shows something else than the counter.
        if duration <= FAR && clock::all_are_real() {
            if let Some(made) = Ticks::now() {
                return Some(Self::new(Value::After(made, duration.as_nanos() as u64)));
            }
        }
        Instant::now().checked_add(duration).map(Self::at)
    }

    #[inline]
    fn new(value: Value) -> Self {
        Self {
            value,
            asked: OnceLock::new(),
        }
    }

    pub(super) fn get(&self) -> Instant {
        match self.value {
            Value::At(instant) => instant,
            Value::After(made, after) => *self.asked.get_or_init(|| resolve(made, after).0),
        }
    }

    /// The deadline, and the operating system's time if it had to be read for this.
    pub(super) fn settle(&mut self) -> (Instant, Option<Instant>) {
        let (instant, now) = match self.value {
            Value::At(instant) => (instant, None),
            Value::After(made, after) => match self.asked.get() {
                Some(asked) => (*asked, None),
                None => {
                    let (instant, now) = resolve(made, after);
                    (instant, Some(now))
                }
            },
        };
        self.value = Value::At(instant);
        (instant, now)
    }
}
