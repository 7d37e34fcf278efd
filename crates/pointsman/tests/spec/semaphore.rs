//! `Semaphore` and `Mutex`, with borrowed and owned guards, and an `RwLock` used for writing only.

use std::sync::Arc;

use pointsman::sync::{Mutex, RwLock, Semaphore, TryAcquireError};

use super::implementation::{
    Begun, Counters, Difference, Hold, Implementation, Subject, all_lack, beyond, done, ended,
    holds, refused,
};
use super::scenario::{Capability, Kind, Operation, OperationKind};
use super::stage::whole;

const DIFFERS: &[Difference] = &[
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
    create: |setup| Box::new(Semaphore::new(whole(setup.limit.unwrap_or(1.0)))),
    differs: DIFFERS,
    keeps_wakers: 0,
    at_least: 49,
};

pub(crate) const OWNED_SEMAPHORE: Implementation = Implementation {
    name: "Semaphore with owned permits",
    create: |setup| Box::new(Arc::new(Semaphore::new(whole(setup.limit.unwrap_or(1.0))))),
    ..SEMAPHORE
};

pub(crate) const MUTEX: Implementation = Implementation {
    name: "Mutex",
    primitive: "mutex",
    lacks: mutex_lacks,
    create: |_| Box::new(Mutex::new(())),
    differs: &[],
    keeps_wakers: 0,
    at_least: 10,
};

pub(crate) const OWNED_MUTEX: Implementation = Implementation {
    name: "Mutex with owned guards",
    create: |_| Box::new(Arc::new(Mutex::new(()))),
    ..MUTEX
};

/// Writers are exclusive, so a lock used for writing only is a mutex.
pub(crate) const WRITTEN_RWLOCK: Implementation = Implementation {
    name: "RwLock that is only written",
    create: |_| Box::new(Written(RwLock::new(()))),
    ..MUTEX
};

fn semaphore_lacks(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Bounded => Some("permits can be added, so a large request may wait for them"),
        other => all_lack(other),
    }
}

fn mutex_lacks(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Permits => Some("there is one lock and nothing to count"),
        Capability::Close => Some("a mutex is never closed"),
        other => all_lack(other),
    }
}

/// The outcome of an attempt.
pub(crate) fn tried<'a, E>(
    hold: Hold,
    guard: Result<impl Sized + 'a, E>,
    kind: impl FnOnce(E) -> Kind,
) -> Begun<'a> {
    ended(guard.map(|guard| holds(hold, guard)).map_err(kind))
}

pub(crate) fn unavailable<E>(_: E) -> Kind {
    Kind::Unavailable
}

fn kind_of_try(error: TryAcquireError) -> Kind {
    match error {
        TryAcquireError::Closed => Kind::Closed,
        TryAcquireError::NoPermits => Kind::Unavailable,
    }
}

/// The outcome of an acquire, which is refused only by a closed semaphore.
fn acquired<'a, E>(permit: Result<impl Sized + 'a, E>) -> super::implementation::Ended<'a> {
    permit.map_or_else(
        |_| refused(Kind::Closed),
        |permit| Ok(holds(Hold::Holding, permit)),
    )
}

impl Subject for Semaphore {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        let permits = operation.permits.map(whole);
        match operation.operation {
            OperationKind::Acquire => Box::pin(async move {
                match permits {
                    None => acquired(self.acquire().await),
                    Some(count) => acquired(self.acquire_many(count).await),
                }
            }),
            OperationKind::TryAcquire => match permits {
                None => tried(Hold::Holding, self.try_acquire(), kind_of_try),
                Some(count) => tried(Hold::Holding, self.try_acquire_many(count), kind_of_try),
            },
            OperationKind::Close => {
                self.close();
                done()
            }
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        Counters {
            available: Some(self.available_permits()),
            closed: Some(self.is_closed()),
            ..Counters::default()
        }
    }
}

impl Subject for Arc<Semaphore> {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        let permits = operation.permits.map(whole);
        let semaphore = Arc::clone(self);
        match operation.operation {
            OperationKind::Acquire => Box::pin(async move {
                match permits {
                    None => acquired(semaphore.acquire_owned().await),
                    Some(count) => acquired(semaphore.acquire_many_owned(count).await),
                }
            }),
            OperationKind::TryAcquire => {
                let permit = match permits {
                    None => semaphore.try_acquire_owned(),
                    Some(count) => semaphore.try_acquire_many_owned(count),
                };
                tried(Hold::Holding, permit, kind_of_try)
            }
            _ => Semaphore::begin(self, operation),
        }
    }

    fn observe(&self) -> Counters {
        Semaphore::observe(self)
    }
}

impl Subject for Mutex<()> {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        match operation.operation {
            OperationKind::Acquire => {
                Box::pin(async { Ok(holds(Hold::Holding, self.lock().await)) })
            }
            OperationKind::TryAcquire => tried(Hold::Holding, self.try_lock(), unavailable),
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        free(self.try_lock().is_ok())
    }
}

impl Subject for Arc<Mutex<()>> {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        let mutex = Arc::clone(self);
        match operation.operation {
            OperationKind::Acquire => {
                Box::pin(async { Ok(holds(Hold::Holding, mutex.lock_owned().await)) })
            }
            OperationKind::TryAcquire => tried(Hold::Holding, mutex.try_lock_owned(), unavailable),
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        free(self.try_lock().is_ok())
    }
}

struct Written(RwLock<()>);

impl Subject for Written {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        match operation.operation {
            OperationKind::Acquire => {
                Box::pin(async { Ok(holds(Hold::Holding, self.0.write().await)) })
            }
            OperationKind::TryAcquire => tried(Hold::Holding, self.0.try_write(), unavailable),
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        free(self.0.try_write().is_ok())
    }
}

/// A lock has no counter. Whether it is free is found out by trying to acquire it.
pub(crate) fn free(is_free: bool) -> Counters {
    Counters {
        available: Some(usize::from(is_free)),
        ..Counters::default()
    }
}
