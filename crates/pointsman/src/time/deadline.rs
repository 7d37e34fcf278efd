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
    /// Set when it was first asked for. `std`'s own cell: nothing waits for it, and no timer depends on
    /// who comes first.
    instant: OnceLock<Instant>,
    /// What it is made of as long as it is not set.
    made: Option<Ticks>,
    /// How long after `made`, in nanoseconds.
    after: u64,
}

impl Deadline {
    #[inline]
    pub(super) fn at(instant: Instant) -> Self {
        Self {
            instant: OnceLock::from(instant),
            made: None,
            after: 0,
        }
    }

    /// So long from now. `None` if that cannot be represented.
    #[inline]
    pub(super) fn after(duration: Duration) -> Option<Self> {
        // A clock that is held shows something else than the counter.
        if duration <= FAR
            && clock::all_are_real()
            && let Some(made) = Ticks::now()
        {
            return Some(Self {
                instant: OnceLock::new(),
                made: Some(made),
                after: duration.as_nanos() as u64,
            });
        }
        Instant::now().checked_add(duration).map(Self::at)
    }

    pub(super) fn get(&self) -> Instant {
        self.resolve().0
    }

    /// The deadline, and the operating system's time if it had to be read for this.
    pub(super) fn resolve(&self) -> (Instant, Option<Instant>) {
        let mut real_now = None;
        let deadline = *self.instant.get_or_init(|| {
            let (made, now) = self.made.map_or_else(
                || unreachable!("a deadline that is not set has a count"),
                Ticks::to_instant,
            );
            real_now = Some(Instant::from_std(now));
            Instant::from_std(made + Duration::from_nanos(self.after))
        });
        (deadline, real_now)
    }
}
