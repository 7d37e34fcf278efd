//! The primitives of this crate as the runner sees them.
//!
//! Invariant: an adapter hands on and nothing else. What a primitive lacks is said once, by capability,
//! with the reason.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use pointsman::sync::{Mutex, RwLock, Semaphore, TryAcquireError};

use super::scenario::{Capability, Kind};

/// What was granted. Dropped, it is released.
pub(crate) trait Guard {}

impl<T> Guard for T {}

pub(crate) type Granted<'a> = Result<Box<dyn Guard + 'a>, Kind>;
pub(crate) type Acquire<'a> = Pin<Box<dyn Future<Output = Granted<'a>> + 'a>>;

pub(crate) struct Counters {
    pub(crate) available: usize,
    pub(crate) closed: Option<bool>,
}

/// One primitive under test. `permits` is `None` where a scenario does not say how many.
pub(crate) trait Subject {
    fn acquire(&self, permits: Option<u32>) -> Acquire<'_>;
    fn try_acquire(&self, permits: Option<u32>) -> Granted<'_>;
    fn close(&self);
    fn observe(&self) -> Counters;
}

pub(crate) struct Implementation {
    pub(crate) name: &'static str,
    /// The folder of the scenarios.
    pub(crate) primitive: &'static str,
    /// Why it lacks a capability, or `None` if it has it.
    pub(crate) lacks: fn(Capability) -> Option<&'static str>,
    pub(crate) create: fn(limit: usize) -> Box<dyn Subject>,
    pub(crate) differs: &'static [Difference],
    /// Fewer scenarios than these are not enough.
    pub(crate) at_least: usize,
}

/// A scenario in which an implementation rightly differs, though no capability says so.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Difference {
    pub(crate) file: &'static str,
    pub(crate) scenario: &'static str,
    pub(crate) why: &'static str,
    /// Part of what the runner then says: it differs in this way and no other.
    pub(crate) sees: &'static str,
}

const SEMAPHORE_DIFFERS: &[Difference] = &[
    Difference {
        file: "semaphore/bad-input.yaml",
        scenario: "an acquire of 0 permits is refused",
        why: "no permits can be had at any time",
        sees: "step 1: A Acquire\n    refused: expected {\"A\": Plain(Invalid)}, found {}\n    holding: expected [], found [\"A\"]",
    },
    Difference {
        file: "semaphore/race.yaml",
        scenario: "grant, then close, keeps the permit",
        why: "a permit counts as granted when the future has returned it: a close that comes before refuses",
        sees: "holding: expected [\"B\"], found []\n    available: expected 0, found 1",
    },
];

pub(crate) const SEMAPHORE: Implementation = Implementation {
    name: "Semaphore",
    primitive: "semaphore",
    lacks: semaphore_lacks,
    create: |limit| Box::new(Semaphore::new(limit)),
    differs: SEMAPHORE_DIFFERS,
    at_least: 49,
};

pub(crate) const OWNED_SEMAPHORE: Implementation = Implementation {
    name: "Semaphore with owned permits",
    create: |limit| Box::new(Arc::new(Semaphore::new(limit))),
    ..SEMAPHORE
};

pub(crate) const MUTEX: Implementation = Implementation {
    name: "Mutex",
    primitive: "mutex",
    lacks: mutex_lacks,
    create: |_| Box::new(Mutex::new(())),
    differs: &[],
    at_least: 10,
};

pub(crate) const OWNED_MUTEX: Implementation = Implementation {
    name: "Mutex with owned guards",
    create: |_| Box::new(Arc::new(Mutex::new(()))),
    ..MUTEX
};

/// Whoever writes is alone, so a lock that is only written is a mutex.
pub(crate) const WRITTEN_RWLOCK: Implementation = Implementation {
    name: "RwLock that is only written",
    create: |_| Box::new(RwLock::new(())),
    ..MUTEX
};

fn semaphore_lacks(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Permits
        | Capability::Timeout
        | Capability::Drop
        | Capability::Try
        | Capability::Close => None,
        Capability::Signal => Some("whoever cancels drops the future"),
        Capability::Priority => Some("the order of arrival alone decides"),
        Capability::Drain => Some("nobody can wait until it is idle"),
        Capability::Resize => Some("it knows its permits, and no limit that could change"),
        Capability::Reason => Some("its errors carry no reason"),
        Capability::Owner => Some("nobody names an owner"),
        Capability::Bounded => Some("permits can be added, so a large request may wait for them"),
        Capability::LooseNumbers => Some("its numbers are unsigned integers"),
        Capability::ReleaseAgain => Some("whoever releases has no guard left"),
    }
}

fn mutex_lacks(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Permits => Some("there is one lock and nothing to count"),
        Capability::Close => Some("a mutex is never closed"),
        other => semaphore_lacks(other),
    }
}

fn granted<'a>(guard: impl Guard + 'a) -> Box<dyn Guard + 'a> {
    Box::new(guard)
}

fn kind_of_try(error: TryAcquireError) -> Kind {
    match error {
        TryAcquireError::Closed => Kind::Closed,
        TryAcquireError::NoPermits => Kind::Unavailable,
    }
}

impl Subject for Semaphore {
    fn acquire(&self, permits: Option<u32>) -> Acquire<'_> {
        Box::pin(async move {
            let permit = match permits {
                None => self.acquire().await,
                Some(count) => self.acquire_many(count).await,
            };
            permit.map(granted).map_err(|_| Kind::Closed)
        })
    }

    fn try_acquire(&self, permits: Option<u32>) -> Granted<'_> {
        let permit = match permits {
            None => self.try_acquire(),
            Some(count) => self.try_acquire_many(count),
        };
        permit.map(granted).map_err(kind_of_try)
    }

    fn close(&self) {
        self.close();
    }

    fn observe(&self) -> Counters {
        Counters {
            available: self.available_permits(),
            closed: Some(self.is_closed()),
        }
    }
}

impl Subject for Arc<Semaphore> {
    fn acquire(&self, permits: Option<u32>) -> Acquire<'_> {
        let semaphore = Arc::clone(self);
        Box::pin(async move {
            let permit = match permits {
                None => semaphore.acquire_owned().await,
                Some(count) => semaphore.acquire_many_owned(count).await,
            };
            permit.map(granted).map_err(|_| Kind::Closed)
        })
    }

    fn try_acquire(&self, permits: Option<u32>) -> Granted<'_> {
        let semaphore = Arc::clone(self);
        let permit = match permits {
            None => semaphore.try_acquire_owned(),
            Some(count) => semaphore.try_acquire_many_owned(count),
        };
        permit.map(granted).map_err(kind_of_try)
    }

    fn close(&self) {
        Semaphore::close(self);
    }

    fn observe(&self) -> Counters {
        Semaphore::observe(self)
    }
}

impl Subject for Mutex<()> {
    fn acquire(&self, _: Option<u32>) -> Acquire<'_> {
        Box::pin(async { Ok(granted(self.lock().await)) })
    }

    fn try_acquire(&self, _: Option<u32>) -> Granted<'_> {
        self.try_lock().map(granted).map_err(|_| Kind::Unavailable)
    }

    fn close(&self) {
        unreachable!("a mutex is never closed");
    }

    fn observe(&self) -> Counters {
        lock_counters(self.try_lock().is_ok())
    }
}

impl Subject for Arc<Mutex<()>> {
    fn acquire(&self, _: Option<u32>) -> Acquire<'_> {
        Box::pin(async { Ok(granted(Arc::clone(self).lock_owned().await)) })
    }

    fn try_acquire(&self, _: Option<u32>) -> Granted<'_> {
        Arc::clone(self)
            .try_lock_owned()
            .map(granted)
            .map_err(|_| Kind::Unavailable)
    }

    fn close(&self) {
        unreachable!("a mutex is never closed");
    }

    fn observe(&self) -> Counters {
        lock_counters(self.try_lock().is_ok())
    }
}

impl Subject for RwLock<()> {
    fn acquire(&self, _: Option<u32>) -> Acquire<'_> {
        Box::pin(async { Ok(granted(self.write().await)) })
    }

    fn try_acquire(&self, _: Option<u32>) -> Granted<'_> {
        self.try_write().map(granted).map_err(|_| Kind::Unavailable)
    }

    fn close(&self) {
        unreachable!("a lock is never closed");
    }

    fn observe(&self) -> Counters {
        lock_counters(self.try_write().is_ok())
    }
}

/// A lock has no counter. Who wants to know whether it is free tries to take it.
fn lock_counters(is_free: bool) -> Counters {
    Counters {
        available: usize::from(is_free),
        closed: None,
    }
}
