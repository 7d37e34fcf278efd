//! How much a channel holds.

use super::error::TrySendError;
use crate::sync::TryAcquireError;
use crate::sync::semaphore::Permits;

pub(super) trait Limit {
    /// Whether messages may come after the channel was closed, because their room was taken before.
    const ADMITS_LATE: bool;

    /// Gives room back.
    fn give_back(&self, count: usize);

    /// Lets nobody take room any more.
    fn close(&self);

    /// Whether it is closed and all room was given back.
    fn is_spent(&self) -> bool;
}

/// No limit: the queue alone says whether it is open.
pub(super) struct Unlimited;

impl Limit for Unlimited {
    const ADMITS_LATE: bool = false;

    #[inline]
    fn give_back(&self, _count: usize) {}

    fn close(&self) {}

    #[inline]
    fn is_spent(&self) -> bool {
        false
    }
}

/// Room for a number of messages, each a permit. What is free, what senders hold or were given, and what is
/// on its way add up to the bound.
pub(super) struct Room {
    pub(super) permits: Permits,
    pub(super) bound: usize,
}

impl Room {
    /// The largest bound.
    pub(super) const MAXIMUM: usize = Permits::MAXIMUM;

    pub(super) fn new(bound: usize) -> Self {
        Self {
            permits: Permits::new(bound),
            bound,
        }
    }

    /// Takes room if it is there.
    #[inline]
    pub(super) fn try_take(&self, count: usize) -> Result<(), TrySendError<()>> {
        let taken = if count <= self.bound {
            self.permits.try_acquire(count)
        } else if self.permits.is_closed() {
            Err(TryAcquireError::Closed)
        } else {
            Err(TryAcquireError::NoPermits)
        };
        taken.map_err(|reason| match reason {
            TryAcquireError::Closed => TrySendError::Closed(()),
            TryAcquireError::NoPermits => TrySendError::Full(()),
        })
    }
}

impl Limit for Room {
    const ADMITS_LATE: bool = true;

    #[inline]
    fn give_back(&self, count: usize) {
        self.permits.release(count);
    }

    fn close(&self) {
        self.permits.close();
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.permits.is_closed() && self.permits.available() == self.bound
    }
}
