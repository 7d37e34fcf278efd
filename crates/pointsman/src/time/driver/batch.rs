//! Wakers that were taken under a lock and are woken without it.

use std::task::Waker;

/// So many that the lock is rarely taken again, and so few that a thread's stack does not notice.
const ROOM: usize = 32;

#[derive(Debug)]
pub(super) struct Batch {
    wakers: [Option<Waker>; ROOM],
    count: usize,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self {
            wakers: [const { None }; ROOM],
            count: 0,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.count < ROOM
    }

    pub(super) fn push(&mut self, waker: Waker) {
        self.wakers[self.count] = Some(waker);
        self.count += 1;
    }

    /// Wakes all, the oldest first.
    pub(super) fn wake(&mut self) {
        for waker in &mut self.wakers[..std::mem::take(&mut self.count)] {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }
}
