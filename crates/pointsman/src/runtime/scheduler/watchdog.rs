//! Sees that nothing waits behind a worker that stands still.
//!
//! A worker that queues a few short tasks wakes nobody, since it will come to them sooner than anybody could be
//! woken. It does not if the task that it runs blocks, or computes for long. So while something is queued that
//! nobody was woken for, a thread of its own looks every [`TICK`] whether each queue gets on. If one does not, it
//! calls a worker, and every task that is queued from then on does, until all get on again. If no worker sleeps, one
//! that is busy takes what is stuck. It also fires the timers that no sleeping worker waits for.
//!
//! The thread is started when it is first needed, and sleeps while there is nothing to watch. A runtime of one thread
//! has none. Timers that it fires run wakers of the user in it: one that blocks keeps help from all others meanwhile.
//!
//! Invariant: once [`arm`](Watchdog::arm) was called the queues are looked at until they are empty, and once more
//! after that. Where the thread cannot be started, that is tried again with the next task that is queued.

use std::sync::Arc;
use std::time::Duration;

use super::policy::Seen;
use super::{Shared, Slot};
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, AtomicUsize, fence};
use crate::loom::{Parker, lock, thread};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// What stands still is noticed after one tick and before two.
const TICK: Duration = Duration::from_micros(500);

const NONE: usize = usize::MAX;

pub(super) struct Watchdog {
    armed: Armed,
    /// Index of a slot whose queue stands still, for a busy worker to take from; or [`NONE`]. The number of slots
    /// stands for the inject queue, which busy workers look at anyway.
    stuck: AtomicUsize,
    parker: Parker,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Watchdog {
    pub(super) fn new() -> Self {
        Self {
            armed: Armed::new(),
            stuck: AtomicUsize::new(NONE),
            parker: Parker::current(),
            thread: Mutex::new(None),
        }
    }

    /// Makes it look, even if it sleeps until a timer.
    #[inline]
    pub(super) fn arm(&self, shared: &Shared) {
        if !self.armed.is_set() {
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
        if self.armed.set() {
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
                Err(_) => self.armed.unset(),
            }
        }
    }

    fn run(&self, shared: &Arc<Shared>) {
        let mut seen = Seen::default();
        while !shared.is_shut_down() {
            let next_timer = shared.driver.fire_if_unattended();
            let look = seen.look(
                shared.queues(),
                shared.slots.iter().map(Slot::polls).collect(),
                shared.idle.workers().awake,
            );
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
            let pause = if self.armed.may_rest(look.has_work) {
                seen.forget();
                next_timer.map(|timer| timer.max(TICK))
            } else {
                Some(TICK)
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

/// Whether the watchdog looks, or will be woken to.
pub(super) struct Armed(AtomicBool);

impl Armed {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// For those who have queued something: if so nothing is left to them. What they have queued is seen within a
    /// tick, which is longer than a store takes to be seen.
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Whether it was armed before. If not the caller has to wake it.
    pub(super) fn set(&self) -> bool {
        // ORDERING: SeqCst pairs with `may_rest`: what was queued before is seen by the look after that.
        self.0.swap(true, SeqCst)
    }

    fn unset(&self) {
        self.0.store(false, Relaxed);
    }

    /// After a look. Who has queued something in this moment may have seen it armed still: so there is one more look
    /// after the first that has seen nothing.
    pub(super) fn may_rest(&self, has_work: bool) -> bool {
        // ORDERING: SeqCst: see `set`.
        let was_set = self.0.swap(has_work, SeqCst);
        // ORDERING: SeqCst: what those who have seen it armed had queued before is seen by the next look.
        fence(SeqCst);
        !was_set && !has_work
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
