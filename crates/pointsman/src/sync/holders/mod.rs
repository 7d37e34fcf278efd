//! The tasks that hold locks, for dumps.
//!
//! A dump cannot read a lock that a task waits for, since the lock may be freed meanwhile. So it reads two tables of
//! the process, which are never freed. Both have a fixed size: a holder for which there is no entry is not known to
//! dumps.
//!
//! - A lock with one permit records its owner in itself. A request that has to wait copies the owner to [`owners`], and so
//!   does each later change while requests wait.
//! - The holders of a lock with several permits are in [`shared`], and so is the first request that waits.
//!
//! A request is blocked if the first one is, since the queue is first in, first out. The first one is blocked if
//! blocked tasks hold more permits than the lock has beyond those that this request wants.
//!
//! Cost: 16 bytes per lock, and 8 per guard of a lock with several permits. To acquire a lock, two stores, and once for
//! each lock with several permits a compare-exchange; to release it, a store. A thread without a [lane](lanes) of its
//! own needs a compare-exchange for each acquire of a lock with several permits. Nothing without the feature
//! `diagnostics`.

#[cfg(feature = "diagnostics")]
mod lanes;
#[cfg(all(test, loom, feature = "diagnostics"))]
mod loom_tests;
#[cfg(feature = "diagnostics")]
mod owners;
#[cfg(feature = "diagnostics")]
mod record;
#[cfg(feature = "diagnostics")]
mod shared;
#[cfg(not(feature = "diagnostics"))]
mod stub;

#[cfg(feature = "diagnostics")]
pub(super) use record::{GrantedHold, Hold, HolderRecord};
#[cfg(not(feature = "diagnostics"))]
pub(super) use stub::{GrantedHold, Hold, HolderRecord};

use crate::task::activity::WaitKind;

/// A holder of a lock that has waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockHolder {
    /// The low half of the task's id; 0 if no task holds it.
    pub(crate) number: u32,
    pub(crate) permits: u32,
    /// The time at which the lock was acquired, by the coarse clock.
    pub(crate) since: u32,
    /// Set if the lock was granted to a future that has not been polled since.
    pub(crate) granted: Option<Grant>,
    /// Whether the guard can be sent to another task. The holder is then only the task that acquired the lock.
    pub(crate) may_have_moved: bool,
}

/// A grant that no future has claimed: the low bits of the task's number of polls at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    polls: u32,
    mask: u32,
}

impl Grant {
    /// Whether the task has not been polled since the grant. The grant wakes it, so its future may still claim the
    /// lock.
    pub(crate) fn is_on_its_way(self, polls: u32) -> bool {
        (self.polls ^ polls) & self.mask == 0
    }
}

/// The first request that waits for a lock with several permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstRequest {
    /// The low half of the task's id; 0 if it is unknown.
    pub(crate) number: u32,
    /// The number of permits that the lock has beyond those that the request wants.
    pub(crate) spare: u32,
}

/// What is known about a lock with waiters.
#[derive(Debug, Default)]
pub(crate) struct LockFacts {
    pub(crate) holders: Vec<LockHolder>,
    /// The number of permits that others than `holders` hold, if it is known.
    pub(crate) others: u32,
    /// `None` if the lock has one permit, or if it is unknown which requests are blocked.
    pub(crate) first: Option<FirstRequest>,
    /// Whether the lock has one permit.
    pub(crate) has_one_permit: bool,
}

/// Returns what is known about a lock, by the kind and identity that a waiting task has noted.
#[cfg(feature = "diagnostics")]
pub(crate) fn of(kind: WaitKind, identity: u32) -> LockFacts {
    let has_owner = match kind {
        WaitKind::Mutex | WaitKind::OnceCell => true,
        WaitKind::RwLock | WaitKind::Semaphore => owners::has(identity),
        _ => return LockFacts::default(),
    };
    match has_owner {
        true => LockFacts {
            holders: owners::read(identity).into_iter().collect(),
            has_one_permit: true,
            ..LockFacts::default()
        },
        false => shared::read(identity),
    }
}

#[cfg(not(feature = "diagnostics"))]
pub(crate) fn of(_: WaitKind, _: u32) -> LockFacts {
    LockFacts::default()
}
