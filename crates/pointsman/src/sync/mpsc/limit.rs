//! The limit of a channel: bounded by a number of permits, or unbounded.

use super::error::TrySendError;
use crate::sync::TryAcquireError;
use crate::sync::holders::Hold;
use crate::sync::semaphore::Permits;
use crate::task::activity::WaitKind;

pub(super) trait Limit {
    /// Whether messages may be sent after the channel was closed, with capacity reserved before.
    const SENDS_AFTER_CLOSE: bool;

    /// Releases capacity.
    fn release(&self, count: usize);

    /// Ends the reservation of capacity.
    fn close(&self);

    /// Whether the limit is closed and all capacity was released.
    fn is_drained(&self) -> bool;
}

/// No limit. The queue alone says whether the channel is open.
pub(super) struct Unbounded;

impl Limit for Unbounded {
    const SENDS_AFTER_CLOSE: bool = false;

    #[inline]
    fn release(&self, _count: usize) {}

    fn close(&self) {}

    #[inline]
    fn is_drained(&self) -> bool {
        false
    }
}

/// The capacity of a bounded channel, a permit per message.
///
/// Invariant: available permits, those reserved by senders or assigned to waiters, and messages in the queue
/// add up to `max`.
pub(super) struct Capacity {
    pub(super) permits: Permits,
    pub(super) max: usize,
}

impl Capacity {
    /// The largest capacity.
    pub(super) const MAXIMUM: usize = Permits::MAXIMUM;

    pub(super) fn new(max: usize) -> Self {
        Self {
            permits: Permits::with_spans(max, WaitKind::Send),
            max,
        }
    }

    /// Reserves capacity if it is available.
    #[inline]
    pub(super) fn try_reserve(&self, count: usize) -> Result<(), TrySendError<()>> {
        let taken = if count <= self.max {
            self.permits.try_acquire(count).map(|_| ())
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

impl Limit for Capacity {
    const SENDS_AFTER_CLOSE: bool = true;

    #[inline]
    fn release(&self, count: usize) {
        self.permits.release(count, Hold::NONE);
    }

    fn close(&self) {
        self.permits.close();
    }

    #[inline]
    fn is_drained(&self) -> bool {
        self.permits.is_closed() && self.permits.available() == self.max
    }
}
