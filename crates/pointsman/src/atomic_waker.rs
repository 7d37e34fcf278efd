//! A place for the waker of one task, which that task and those who wake it use without a lock.
//!
//! Invariant: whoever has moved the state away from `WAITING` has the place to itself until it moves it back. One who
//! comes to wake meanwhile leaves a mark, and the waker that was put there is woken by who put it. So what was done
//! before [`take`](AtomicWaker::take) is seen by the task after [`register`](AtomicWaker::register), or it is woken.
//!
//! The algorithm is that of the `AtomicWaker` of the futures crate; if two tasks register at once, one of them is woken
//! and comes again.

use std::task::Waker;

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

const WAITING: u8 = 0;
const REGISTERING: u8 = 1;
const WAKING: u8 = 2;

pub(crate) struct AtomicWaker {
    state: AtomicU8,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: wakers may go from thread to thread, and one thread at a time has the place.
unsafe impl Send for AtomicWaker {}
// SAFETY: as above.
unsafe impl Sync for AtomicWaker {}

/// The place is this thread's until it is dropped.
struct Registering<'a>(&'a AtomicWaker);

impl AtomicWaker {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU8::new(WAITING),
            waker: UnsafeCell::new(None),
        }
    }

    /// Puts the waker there, in place of the one before.
    pub(crate) fn register(&self, waker: &Waker) {
        let state = self
            .state
            // ORDERING: Acquire pairs with the releases of those who had the place before.
            .compare_exchange(WAITING, REGISTERING, Acquire, Acquire);
        if state.is_err() {
            // Somebody wakes, or another task registers: this one has to look again.
            waker.wake_by_ref();
            return;
        }
        let registering = Registering(self);
        let is_same = self.waker.with(|place| {
            // SAFETY: the place is this thread's.
            let before = unsafe { &*place };
            before
                .as_ref()
                .is_some_and(|before| before.will_wake(waker))
        });
        let before = match is_same {
            true => None,
            false => {
                let new = waker.clone();
                // SAFETY: as above.
                self.waker
                    .with_mut(|place| unsafe { &mut *place }.replace(new))
            }
        };
        drop(registering);
        // A user's code, which may do anything.
        drop(before);
    }

    /// Takes the waker out, to be woken.
    pub(crate) fn take(&self) -> Option<Waker> {
        // ORDERING: Release shows what was done before to who registers; Acquire pairs with its release.
        if self.state.fetch_or(WAKING, AcqRel) != WAITING {
            return None;
        }
        // SAFETY: the place is this thread's.
        let waker = self.waker.with_mut(|place| unsafe { &mut *place }.take());
        // ORDERING: Release pairs with the acquire of the next who has the place.
        self.state.fetch_and(!WAKING, Release);
        waker
    }
}

impl Drop for Registering<'_> {
    fn drop(&mut self) {
        let left = self
            .0
            .state
            // ORDERING: Release shows the waker to who takes it, Acquire what was done before a mark was left.
            .compare_exchange(REGISTERING, WAITING, AcqRel, Acquire);
        if left.is_ok() {
            return;
        }
        // SAFETY: with the mark too the place is this thread's.
        let waker = self.0.waker.with_mut(|place| unsafe { &mut *place }.take());
        // ORDERING: as above.
        self.0.state.swap(WAITING, AcqRel);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
