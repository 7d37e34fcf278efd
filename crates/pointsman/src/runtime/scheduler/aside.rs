//! Threads that run what blocks in place, and who does their work meanwhile.
//!
//! A thread that steps aside leaves its seat's queue open to all others. At first one that sleeps stands in for
//! it: there may be nothing to do. Those that are awake do not, as they may block too. So whoever is the last to
//! wake up starts a substitute for each that has none.
//!
//! Invariant: a worker sleeps, or each thread that is aside has a substitute.
//!
//! Cost: a load for each thread that wakes up while nobody is aside.

use std::sync::Arc;

use super::super::context;
use super::super::handle::Handle;
use super::{Seat, Shared};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicUsize;
use crate::sync::Notify;
use std::sync::atomic::Ordering::Relaxed;

/// Those that are aside and have no substitute: what is to end it.
pub(super) struct Aside {
    ends: Mutex<Vec<Arc<Notify>>>,
    count: AtomicUsize,
}

impl Aside {
    pub(super) fn new() -> Self {
        Self {
            ends: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
        }
    }
}

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
        let _absence = Absence::new(self);
        self.see_to_substitutes();
        if !seat.queue.is_empty() {
            self.idle.brought();
        }
        run()
    }

    /// If no worker sleeps, each thread that is aside gets a substitute.
    #[inline]
    pub(super) fn see_to_substitutes(self: &Arc<Self>) {
        // The lock of those that sleep orders this: who stepped aside and saw a sleeper is seen by that one.
        if self.aside.count.load(Relaxed) > 0 {
            self.substitute();
        }
    }

    #[cold]
    fn substitute(self: &Arc<Self>) {
        if self.is_shut_down() || self.idle.has_worker() {
            return;
        }
        let mut ends = lock(&self.aside.ends);
        self.aside.count.store(0, Relaxed);
        let missing = std::mem::take(&mut *ends);
        drop(ends);
        for end in missing {
            let handle = Handle {
                shared: Arc::clone(self),
            };
            handle.run_blocking(move |handle| {
                context::with_work(context::Work::RunsAndMayBlock, || {
                    handle.shared.stand_in(end.notified());
                });
            });
        }
    }
}

/// As long as this lives a thread is missing.
struct Absence<'a> {
    shared: &'a Shared,
    end: Arc<Notify>,
}

impl<'a> Absence<'a> {
    fn new(shared: &'a Shared) -> Self {
        let end = Arc::new(Notify::new());
        let mut ends = lock(&shared.aside.ends);
        ends.push(Arc::clone(&end));
        shared.aside.count.store(ends.len(), Relaxed);
        drop(ends);
        Self { shared, end }
    }
}

impl Drop for Absence<'_> {
    fn drop(&mut self) {
        let mut ends = lock(&self.shared.aside.ends);
        ends.retain(|end| !Arc::ptr_eq(end, &self.end));
        self.shared.aside.count.store(ends.len(), Relaxed);
        drop(ends);
        // Its substitute, if it has got one.
        self.end.notify_one();
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
