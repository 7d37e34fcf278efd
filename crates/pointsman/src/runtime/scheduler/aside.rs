//! A thread that runs what blocks, and lets another do its work meanwhile: `block_in_place`.
//!
//! Invariant: while a thread is aside it does not use its seat, and somebody else works: a worker that sleeps
//! now and would notice, or a substitute that was started for that.

use std::sync::Arc;

use super::super::context;
use super::super::handle::Handle;
use super::{Seat, Shared};
use crate::loom::lock;
use crate::sync::Notify;

impl Shared {
    /// Runs what blocks, while others do this thread's work: it has no seat meanwhile.
    pub(in crate::runtime) fn step_aside<R>(self: &Arc<Self>, run: impl FnOnce() -> R) -> R {
        let Some(seat) = self.own_seat() else {
            return run();
        };
        let _standing = context::stand_up();
        *lock(&seat.is_aside) = true;
        self.idle.left();
        // What is dropped first comes last.
        let _back = Back { shared: self, seat };
        let substitute = (!self.idle.has_worker()).then(|| Substitute::start(self));
        if substitute.is_none() && !seat.queue.is_empty() {
            self.idle.brought();
        }
        run()
    }
}

/// Says that a thread works again.
struct Back<'a> {
    shared: &'a Shared,
    seat: &'a Seat,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        *lock(&self.seat.is_aside) = false;
        self.shared.idle.came();
    }
}

/// Another thread that works as long as this lives.
struct Substitute(Arc<Notify>);

impl Substitute {
    fn start(shared: &Arc<Shared>) -> Self {
        let end = Arc::new(Notify::new());
        let substitute = Self(Arc::clone(&end));
        let handle = Handle {
            shared: Arc::clone(shared),
        };
        handle.run_blocking(move |handle| {
            context::with_work(context::Work::RunsAndMayBlock, || {
                handle.shared.block_on(end.notified());
            });
        });
        substitute
    }
}

impl Drop for Substitute {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
