//! The shared state of a watch channel: the value behind a lock, and one word with its version and two flags.
//!
//! # Invariants
//!
//! - The version grows while the value is locked for writing, so a version read under the lock is that of the
//!   value.
//! - A receiver sets the HAS_WAITERS flag under the lock of the waiters, and only if the version is still the
//!   one that it has seen. So a sender that raises the version learns in the same operation whether to wake
//!   receivers.
//!
//! # Cost
//!
//! Checking for a change is one load. Sending without waiters takes the lock of the value and one
//! read-modify-write.

use std::sync::PoisonError;

use super::error::RecvError;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::loom::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::sync::wait_set::WaitSet;
use crate::task::activity::WaitKind;

/// Receivers wait for a change.
const HAS_WAITERS: usize = 1;
/// All senders are dropped.
const CLOSED: usize = 2;
/// The version is in units of this.
const STEP: usize = 4;

/// The number of changes of a value. Wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(usize);

impl Version {
    pub(super) const FIRST: Self = Self(0);

    /// A version that differs from this and from the next ones.
    pub(super) fn before(self) -> Self {
        Self(self.0.wrapping_sub(STEP))
    }
}

pub(super) struct Channel<T> {
    value: RwLock<T>,
    /// The version and the flags.
    state: AtomicUsize,
    pub(super) receivers: AtomicUsize,
    pub(super) senders: AtomicUsize,
    /// Receivers that wait for a change.
    pub(super) waiters: WaitSet,
    /// Senders that wait for the last receiver to be dropped.
    pub(super) close_waiters: WaitSet,
}

impl<T> Channel<T> {
    pub(super) fn new(value: T, receivers: usize) -> Self {
        Self {
            value: RwLock::new(value),
            state: AtomicUsize::new(Version::FIRST.0),
            receivers: AtomicUsize::new(receivers),
            senders: AtomicUsize::new(1),
            waiters: WaitSet::new(),
            close_waiters: WaitSet::new(),
        }
    }

    /// Locks the value for reading. Ignores poison: the value is as a panicking `modify` left it.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.value.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn version(&self) -> Version {
        // ORDERING: Acquire pairs with the Release of `publish`.
        Version(self.state.load(Acquire) & !(HAS_WAITERS | CLOSED))
    }

    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `close`.
        self.state.load(Acquire) & CLOSED != 0
    }

    /// Publishes a change of the value that was made under this lock.
    pub(super) fn publish(&self, changed: RwLockWriteGuard<'_, T>) {
        // ORDERING: Release pairs with the Acquire of `version` and `check`. Acquire pairs with the Release
        // of `check`, which set HAS_WAITERS.
        let before = self.state.fetch_add(STEP, AcqRel);
        drop(changed);
        if before & HAS_WAITERS != 0 {
            self.wake_waiters();
        }
    }

    /// Called when the last sender is dropped.
    pub(super) fn close(&self) {
        // ORDERING: Release pairs with the Acquire of `is_closed` and `check`: receivers that see CLOSED see
        // what senders did before. Acquire pairs with the Release of `check`, which set HAS_WAITERS.
        if self.state.fetch_or(CLOSED, AcqRel) & HAS_WAITERS != 0 {
            self.wake_waiters();
        }
    }

    fn wake_waiters(&self) {
        self.waiters.wake_all(|| {
            self.state.fetch_and(!HAS_WAITERS, Relaxed);
        });
    }

    /// Returns `Ok` and updates `seen` if the version differs from it, or an error if the channel is closed.
    /// If neither and `wait` is true, makes the next sender wake the waiters.
    pub(super) fn check(&self, seen: &mut Version, wait: bool) -> Option<Result<(), RecvError>> {
        // ORDERING: Acquire pairs with the Release of `publish` and `close`.
        let mut state = self.state.load(Acquire);
        loop {
            let version = Version(state & !(HAS_WAITERS | CLOSED));
            if version != *seen {
                *seen = version;
                return Some(Ok(()));
            }
            if state & CLOSED != 0 {
                return Some(Err(RecvError(())));
            }
            if !wait || state & HAS_WAITERS != 0 {
                return None;
            }
            // ORDERING: Release pairs with the Acquire of `publish` and `close`, which then wait for the lock
            // that the caller holds. Acquire pairs with their Release, here and on failure.
            match self
                .state
                .compare_exchange_weak(state, state | HAS_WAITERS, AcqRel, Acquire)
            {
                Ok(_) => return None,
                Err(now) => state = now,
            }
        }
    }

    /// Waits for a version other than `seen`, and updates it.
    pub(super) async fn changed(&self, seen: &mut Version) -> Result<(), RecvError> {
        self.waiters
            .wait(WaitKind::Receive, |wait| self.check(seen, wait))
            .await
    }

    pub(super) fn receivers(&self) -> usize {
        // ORDERING: Acquire pairs with the Release of `Receiver::drop`: the caller sees what dropped
        // receivers did before.
        self.receivers.load(Acquire)
    }
}
