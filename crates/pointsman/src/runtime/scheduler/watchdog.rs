//! Sees that nothing waits behind a worker that stands still.
//!
//! A worker that queues a few short tasks wakes nobody, since it will come to them sooner than anybody could be
//! woken. It does not if the task that it runs blocks, or computes for long. So while something is queued that
//! nobody was woken for, a thread of its own looks every [`TICK`] whether each queue gets on. If one does not, it
//! calls a worker, and every task that is queued from then on does, until all get on again. If no worker sleeps, one
//! that is busy takes what is stuck. It also fires the timers that no sleeping worker waits for, and sees that somebody
//! waits for I/O, every [`IO_TICK`] or [`LAZY_IO_TICK`]: while all workers are busy it looks itself.
//!
//! The thread is started when it is first needed, and sleeps while there is nothing to watch. A runtime of one thread
//! has none. Timers that it fires run wakers of the user in it: one that blocks keeps help from all others meanwhile.
//!
//! Invariant: once [`arm`](Watchdog::arm) was called the queues are looked at until they are empty, and once more
//! after that. Where the thread cannot be started, that is tried again with the next task that is queued.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::alarm::Alarm;
use super::policy::Seen;
use super::{Shared, Slot};
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, fence};
use crate::loom::{lock, thread};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// What stands still is noticed after one tick and before two; with I/O later by up to [`LAZY_IO_TICK`], as it is first
/// looked at when the alarm for the driver rings.
const TICK: Duration = Duration::from_micros(500);

/// How long the driver may be left to a worker that does not come back to it, where tasks have blocked lately.
const IO_TICK: Duration = Duration::from_millis(1);

/// The same, where none has. The alarm is set and rings once in this time while there is traffic. To set a timer costs
/// up to 10 µs in a virtual machine that is idle otherwise, as much as a small request.
const LAZY_IO_TICK: Duration = Duration::from_millis(10);

/// A worker that was away for so long was kept by a task: for less, the system may have let another thread run.
pub(super) const BLOCKED: Duration = Duration::from_millis(5);

/// So many times the alarm rings sooner after a task has blocked.
const WATCHED: u32 = 500;

const NONE: usize = usize::MAX;

pub(super) struct Watchdog {
    armed: Armed,
    /// Index of a slot whose queue stands still, for a busy worker to take from; or [`NONE`]. The number of slots
    /// stands for the inject queue, which busy workers look at anyway.
    stuck: AtomicUsize,
    alarm: Alarm,
    /// The alarm was set for the driver, and has not rung.
    is_set_later: AtomicBool,
    /// The turns of the driver when somebody looked last, or left it.
    turns: AtomicUsize,
    /// How many times the alarm is to ring sooner.
    watched: AtomicU32,
    has_thread: AtomicBool,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
    /// Whether it was ever armed: a model then does its work.
    #[cfg(all(test, loom))]
    pub(super) was_armed: std::sync::atomic::AtomicBool,
}

impl Watchdog {
    pub(super) fn new(alarm: Alarm) -> Self {
        Self {
            armed: Armed::new(),
            stuck: AtomicUsize::new(NONE),
            alarm,
            is_set_later: AtomicBool::new(false),
            turns: AtomicUsize::new(0),
            watched: AtomicU32::new(0),
            has_thread: AtomicBool::new(false),
            thread: Mutex::new(None),
            #[cfg(all(test, loom))]
            was_armed: std::sync::atomic::AtomicBool::new(false),
        }
    }

    /// Makes it look, even if it sleeps until a timer.
    #[inline]
    pub(super) fn arm(&self, shared: &Shared) {
        if !self.armed.is_set() {
            self.begin(shared);
        }
    }

    /// The driver, or a few tasks, are left to a worker that will come to them soon, unless a task keeps it: looks after
    /// a while if it has not. False if that would cost as much as to wake another.
    pub(super) fn arm_later(&self, shared: &Shared) -> bool {
        if shared.is_current_thread() || self.armed.is_set() {
            return true;
        }
        if !self.alarm.is_cheap() {
            return false;
        }
        if !self.has_thread.load(Relaxed) {
            self.begin(shared);
            return true;
        }
        // ORDERING: SeqCst, with the load, pairs with `run`: either it is seen here that the alarm has rung, or there
        // that the driver was left, or what was queued.
        fence(SeqCst);
        if !self.is_set_later.load(SeqCst) {
            self.turns.store(shared.driver.turns(), Relaxed);
            // ORDERING: SeqCst: see above.
            self.is_set_later.store(true, SeqCst);
            let next_timer = shared.driver.until_next_timer();
            self.alarm.set(self.io_tick().min(or_never(next_timer)));
        }
        true
    }

    /// As above, with a timer that comes before all others: it may be due before the alarm rings.
    pub(super) fn arm_for_timer(&self, shared: &Shared) -> bool {
        let is_armed = self.arm_later(shared);
        let next_timer = or_never(shared.driver.until_next_timer());
        if is_armed && !shared.is_current_thread() && next_timer < self.io_tick() {
            self.alarm.set(next_timer);
        }
        is_armed
    }

    /// A task has kept its worker for long: it may happen again.
    pub(super) fn note_block(&self) {
        self.watched.store(WATCHED, Relaxed);
    }

    /// Whether a task has kept its worker lately: those who are awake may not be back soon.
    pub(super) fn has_seen_block(&self) -> bool {
        self.watched.load(Relaxed) > 0
    }

    fn io_tick(&self) -> Duration {
        match self.has_seen_block() {
            false => LAZY_IO_TICK,
            true => IO_TICK,
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
        #[cfg(all(test, loom))]
        self.was_armed.store(true, Relaxed);
        if cfg!(all(test, loom)) || shared.is_current_thread() {
            return;
        }
        if self.armed.set() {
            return;
        }
        let mut thread = lock(&self.thread);
        if thread.is_some() {
            self.alarm.set(Duration::ZERO);
        } else if !shared.is_shut_down() {
            let this = shared.this.upgrade().expect("it is in use");
            let started = thread::Builder::new()
                .name("pointsman-watch".into())
                .spawn(move || this.watchdog.run(&this));
            match started {
                Ok(started) => {
                    *thread = Some(started);
                    self.has_thread.store(true, Relaxed);
                }
                // Tried again when the next task is queued.
                Err(_) => self.armed.unset(),
            }
        }
    }

    fn run(&self, shared: &Arc<Shared>) {
        let mut seen = Seen::default();
        while !shared.is_shut_down() {
            // ORDERING: SeqCst: see `arm_later`.
            self.is_set_later.swap(false, SeqCst);
            // ORDERING: as above: what was queued by who has seen it set is seen by this look.
            fence(SeqCst);
            let next_timer = whatever_wakers_do(|| shared.driver.fire_if_unattended()).flatten();
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
            let is_left = self.attend_to_driver(shared);
            if !self.armed.may_rest(look.has_work || is_left) {
                let tick = if look.has_work { TICK } else { self.io_tick() };
                self.alarm.set(tick.min(or_never(next_timer)));
            } else {
                seen.forget();
                if let Some(timer) = next_timer {
                    self.alarm.set(timer.max(TICK));
                    // Who has armed it in this moment wants it to ring sooner.
                    fence(SeqCst);
                    if self.armed.is_set() || self.is_set_later.load(Relaxed) {
                        self.alarm.set(Duration::ZERO);
                    }
                }
            }
            self.alarm.wait();
        }
    }

    /// Whether the driver is left to a worker that has to be watched: it may be back soon. If it is not, another holds
    /// it.
    fn attend_to_driver(&self, shared: &Shared) -> bool {
        let driver = &shared.driver;
        let is_unattended = driver.is_unattended();
        let stands_still = driver.turns() == self.turns.load(Relaxed);
        self.watched
            .store(self.watched.load(Relaxed).saturating_sub(1), Relaxed);
        if is_unattended && stands_still {
            self.note_block();
            driver.want_holder();
            if !shared.idle.unpark_one() {
                whatever_wakers_do(|| driver.look_at_io());
            }
        }
        self.turns.store(driver.turns(), Relaxed);
        // When timers are due is known.
        is_unattended && (driver.has_sources() || !stands_still)
    }

    /// Lets the thread end, after the runtime was shut down.
    pub(super) fn stop(&self) -> Option<thread::JoinHandle<()>> {
        self.alarm.set(Duration::ZERO);
        lock(&self.thread).take()
    }
}

/// When to look for a timer.
fn or_never(next_timer: Option<Duration>) -> Duration {
    next_timer.map_or(Duration::MAX, |timer| timer.max(TICK))
}

/// Runs what may run wakers of the user. One that panics may not end the thread: nothing would be watched any more.
fn whatever_wakers_do<R>(run: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

/// Whether the watchdog looks, or will be woken to.
pub(super) struct Armed(AtomicBool);

impl Armed {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// For those who have queued something: if so nothing is left to them. What they have queued is seen when the alarm
    /// rings, in a tick or in one of the driver's, which is longer than a store takes to be seen.
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
