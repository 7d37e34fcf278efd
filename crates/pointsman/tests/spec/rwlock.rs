//! `RwLock`, with borrowed and with owned guards.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use pointsman::sync::{OwnedRwLockWriteGuard, RwLock, RwLockWriteGuard};

use super::implementation::{
    Begun, Counters, Guard, Hold, Implementation, Outcome, Subject, all_lack, beyond, ended, holds,
};
use super::scenario::{Capability, Kind, Operation, OperationKind};
use super::semaphore::{free, tried, unavailable};

pub(crate) const RWLOCK: Implementation = Implementation {
    name: "RwLock",
    primitive: "rwlock",
    lacks,
    create: |_| Box::new(RwLock::new(())),
    differs: &[],
    keeps_wakers: 0,
    at_least: 22,
};

pub(crate) const OWNED_RWLOCK: Implementation = Implementation {
    name: "RwLock with owned guards",
    create: |_| Box::new(Arc::new(RwLock::new(()))),
    ..RWLOCK
};

fn lacks(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Close => Some("a lock is never closed"),
        other => all_lack(other),
    }
}

/// A guard; `None` once it was downgraded.
struct Writes<T>(Cell<Option<T>>);

fn writes<'a, T>(guard: T) -> Outcome<'a>
where
    Writes<T>: Guard<'a> + 'a,
{
    Outcome::Holds(Hold::Writing, Rc::new(Writes(Cell::new(Some(guard)))))
}

impl<'a> Guard<'a> for Writes<RwLockWriteGuard<'a, ()>> {
    fn begin(self: Rc<Self>, operation: &Operation) -> Begun<'a> {
        match (operation.operation, self.0.take()) {
            (OperationKind::Downgrade, Some(guard)) => {
                ended(Ok(holds(Hold::Reading, guard.downgrade())))
            }
            _ => beyond(operation),
        }
    }
}

impl<'a> Guard<'a> for Writes<OwnedRwLockWriteGuard<()>> {
    fn begin(self: Rc<Self>, operation: &Operation) -> Begun<'a> {
        match (operation.operation, self.0.take()) {
            (OperationKind::Downgrade, Some(guard)) => {
                ended(Ok(holds(Hold::Reading, guard.downgrade())))
            }
            _ => beyond(operation),
        }
    }
}

impl Subject for RwLock<()> {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        match operation.operation {
            OperationKind::Read => Box::pin(async { Ok(holds(Hold::Reading, self.read().await)) }),
            OperationKind::Write => Box::pin(async { Ok(writes(self.write().await)) }),
            OperationKind::TryRead => tried(Hold::Reading, self.try_read(), unavailable),
            OperationKind::TryWrite => {
                ended(self.try_write().map(writes).map_err(|_| Kind::Unavailable))
            }
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        free(self.try_write().is_ok())
    }
}

impl Subject for Arc<RwLock<()>> {
    fn begin(&self, operation: &Operation) -> Begun<'_> {
        let lock = Arc::clone(self);
        match operation.operation {
            OperationKind::Read => {
                Box::pin(async { Ok(holds(Hold::Reading, lock.read_owned().await)) })
            }
            OperationKind::Write => Box::pin(async { Ok(writes(lock.write_owned().await)) }),
            OperationKind::TryRead => tried(Hold::Reading, lock.try_read_owned(), unavailable),
            OperationKind::TryWrite => ended(
                lock.try_write_owned()
                    .map(writes)
                    .map_err(|_| Kind::Unavailable),
            ),
            _ => beyond(operation),
        }
    }

    fn observe(&self) -> Counters {
        RwLock::observe(self)
    }
}
