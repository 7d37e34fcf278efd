//! Sees that nothing waits behind a worker that stands still.
//!
//! A worker that queues a few short tasks wakes nobody, since it will come to them sooner than anybody could be
//! woken. It does not if the task that it runs blocks, or computes for long. So while something is queued that
//! nobody was woken for, a thread of its own looks every [`TICK`] whether each queue gets on. If one does not, it
//! calls a worker, and every task that is queued from then on does, until all get on again. If no worker sleeps, one
//! that is busy takes what is stuck. It also fires the timers that no sleeping worker waits for.
//!
//! The thread is started when it is first needed, and sleeps while there is nothing to watch. A runtime of one thread
//! has none.
//!
//! Invariant: once [`arm`](Watchdog::arm) was called the queues are looked at until they are empty, and once more
//! after that.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::policy::Seen;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, AtomicUsize};
use crate::loom::{Parker, lock, thread};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// What stands still is noticed after one tick and before two.
const TICK: Duration = Duration::from_micros(500);

const NONE: usize = usize::MAX;

pub(super) struct Watchdog {
    is_armed: AtomicBool,
    /// Index of a slot whose queue stands still, for a busy worker to take from; or [`NONE`].
    stuck: AtomicUsize,
    parker: Parker,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Watchdog {
    pub(super) fn new() -> Self {
        Self {
            is_armed: AtomicBool::new(false),
            stuck: AtomicUsize::new(NONE),
            parker: Parker::current(),
            thread: Mutex::new(None),
        }
    }

    /// Lets it look, also if it waits for a timer.
    #[inline]
    pub(super) fn arm(&self, shared: &Shared) {
        if !self.is_armed.load(Relaxed) {
            self.begin(shared);
        }
    }

    /// A slot whose queue stands still, if no worker could be called for it. It is given once.
    #[inline]
    pub(super) fn take_stuck(&self) -> Option<usize> {
        if self.stuck.load(Relaxed) == NONE {
            return None;
        }
        Some(self.stuck.swap(NONE, Relaxed)).filter(|&stuck| stuck != NONE)
    }

    #[cold]
    fn begin(&self, shared: &Shared) {
        // No time passes in models: what has to be woken may not rely on it.
        if cfg!(loom) || shared.is_current_thread() {
            return;
        }
        // ORDERING: SeqCst pairs with the end of a watch: what was queued before is seen there, or it goes on.
        if self.is_armed.swap(true, SeqCst) {
            return;
        }
        let mut thread = lock(&self.thread);
        if thread.is_some() {
            self.parker.unpark();
        } else if !shared.is_shut_down() {
            let this = shared.this.upgrade().expect("it is in use");
            let started = thread::Builder::new()
                .name("pointsman-watchdog".into())
                .spawn(move || this.watchdog.run(&this));
            match started {
                Ok(started) => *thread = Some(started),
                // Tried again when the next task is queued.
                Err(_) => self.is_armed.store(false, Relaxed),
            }
        }
    }

    fn run(&self, shared: &Arc<Shared>) {
        let mut seen = Seen::default();
        while !shared.is_shut_down() {
            let next_timer = shared.driver.fire_if_unattended();
            let look = seen.look(shared.queues(), shared.idle.workers().awake);
            if let Some(mode) = look.mode {
                shared.idle.set_mode(mode);
            }
            if look.stuck.is_some() {
                shared.idle.call_one();
                shared.start_substitutes();
            }
            let is_for_the_busy = shared.idle.workers().sleeping == 0;
            let stuck = look.stuck.filter(|_| is_for_the_busy);
            self.stuck.store(stuck.unwrap_or(NONE), Relaxed);
            let pause = if look.has_work {
                self.is_armed.store(true, Relaxed);
                Some(TICK)
            // ORDERING: SeqCst: see `begin`.
            } else if self.is_armed.swap(false, SeqCst) {
                // Who has queued something in this moment may have seen it armed still: one more look.
                Some(TICK)
            } else {
                seen.forget();
                next_timer.map(|timer| timer.max(TICK))
            };
            self.parker.park(pause);
        }
    }

    /// Lets the thread end, after the runtime was shut down.
    pub(super) fn stop(&self) -> Option<thread::JoinHandle<()>> {
        self.parker.unpark();
        lock(&self.thread).take()
    }
}

impl Shared {
    /// How many tasks each slot's queue, and last the inject queue, has given away, and whether it is empty.
    fn queues(&self) -> Vec<(usize, bool)> {
        let slots = self.slots.iter().map(|slot| &slot.queue);
        slots
            .map(|queue| (queue.taken(), queue.is_empty()))
            .chain([(self.inject.taken(), self.inject.is_empty())])
            .collect()
    }
}
