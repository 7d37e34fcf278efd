//! Synchronizes the monitor and a signal handler, which share a pipe.
//!
//! Invariant: a handler writes only after it has accepted a request for its thread, and at most one accepts each. The
//! monitor does not begin another request before an accepted one was answered, so a signal that arrives late writes
//! nothing.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::loom::sync::atomic::AtomicI32;

const IDLE: i32 = 0;
const ACCEPTED: i32 = -1;
const ANSWERED: i32 = -2;

/// The id of the thread that has to answer, or one of the values above. Ids of threads are positive.
pub(super) struct Exchange(AtomicI32);

impl Exchange {
    #[cfg(not(all(test, loom)))]
    pub(super) const fn new() -> Self {
        Self(AtomicI32::new(IDLE))
    }

    #[cfg(all(test, loom))]
    pub(super) fn new() -> Self {
        Self(AtomicI32::new(IDLE))
    }

    // --- for the monitor ---

    pub(super) fn request(&self, thread: i32) {
        // ORDERING: Release pairs with `accept`: the handler writes after the monitor has read the last answer.
        self.0.store(thread, Release);
    }

    /// Ends a request that was not accepted. Returns false if it was accepted: then the answer will arrive.
    pub(super) fn withdraw(&self, thread: i32) -> bool {
        self.0
            .compare_exchange(thread, IDLE, Relaxed, Relaxed)
            .is_ok()
    }

    /// Ends the request if the answer is complete. Returns whether it is.
    pub(super) fn take_answer(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `answer`: the monitor sees what the handler has written.
        self.0
            .compare_exchange(ANSWERED, IDLE, Acquire, Relaxed)
            .is_ok()
    }

    // --- for the handler ---

    /// Returns whether the handler on this thread has to write an answer.
    pub(super) fn accept(&self, thread: i32) -> bool {
        // ORDERING: Acquire pairs with the Release of `request`.
        self.0
            .compare_exchange(thread, ACCEPTED, AcqRel, Relaxed)
            .is_ok()
    }

    pub(super) fn answer(&self) {
        // ORDERING: Release pairs with `take_answer`.
        self.0.store(ANSWERED, Release);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::Exchange;

    struct Model {
        exchange: Exchange,
        pipe: UnsafeCell<i32>,
    }

    // SAFETY: loom checks that no two threads use the cell at once.
    unsafe impl Sync for Model {}

    impl Model {
        fn handle(&self, thread: i32) {
            if self.exchange.accept(thread) {
                // SAFETY: loom checks it.
                self.pipe.with_mut(|pipe| unsafe { *pipe = thread });
                self.exchange.answer();
            }
        }

        /// Asks, and gives up at once unless the thread has begun to answer.
        fn capture(&self, thread: i32) -> Option<i32> {
            self.exchange.request(thread);
            loom::thread::yield_now();
            if self.exchange.withdraw(thread) {
                return None;
            }
            while !self.exchange.take_answer() {
                loom::thread::yield_now();
            }
            // SAFETY: loom checks it.
            Some(self.pipe.with(|pipe| unsafe { *pipe }))
        }
    }

    #[test]
    fn a_late_signal_writes_no_answer_to_another_request() {
        loom::model(|| {
            let model = Arc::new(Model {
                exchange: Exchange::new(),
                pipe: UnsafeCell::new(0),
            });
            let handlers = [1, 2].map(|number| {
                let model = model.clone();
                thread::spawn(move || model.handle(number))
            });
            for number in [1, 2] {
                let answer = model.capture(number);
                assert!(answer.is_none_or(|answer| answer == number));
            }
            for handler in handlers {
                handler.join().unwrap();
            }
        });
    }
}
