//! The watchdog: a thread that detects tasks stuck behind a worker that blocks.
//!
//! A worker that queues a few short tasks wakes no other worker, since it will run them sooner than another could wake
//! up. That fails if the task that it runs blocks or computes for long. So while a task is queued for which no worker was
//! woken, the watchdog checks whether each queue makes progress. If one does not, it calls a worker and sets
//! [`Mode::Eager`](super::policy::Mode::Eager), in which every queued task wakes a worker. If no worker sleeps, a busy
//! one steals the stuck tasks. The watchdog also fires timers for which no sleeper waits, and checks that a thread polls
//! for I/O; while all workers are busy it polls itself.
//!
//! Each of these duties has a [deadline](super::policy::Duties::deadlines), and the watchdog sleeps until the earliest.
//! The thread starts when it is first needed and rests while there is nothing to watch. A current-thread runtime has
//! none. The timers that it fires run user wakers: a waker that blocks stops all help meanwhile.
//!
//! Invariant: after [`arm`](Watchdog::arm) the queues are checked until they are empty, and once more after that. If the
//! thread cannot be started, the next queued task tries again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::alarm::Alarm;
use super::policy::{Duties, Seen};
use super::{Shared, Slot};
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, fence};
use crate::loom::{lock, thread};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A quantum this long counts as blocked by a task. In a shorter one the system may have preempted the worker.
///
/// Lab row: `echo` with 64 connections while a task blocks, whose 99th percentile is 4 times as high if workers do not report
/// such quanta.
pub(super) const BLOCKED: Duration = Duration::from_millis(5);

/// The number of looks for which a task counts as having blocked lately.
///
/// Lab row: `echo` with 64 connections while a task blocks, whose 99th percentile is twice as high with 0.
const WATCHED: u32 = 500;

const NONE: usize = usize::MAX;

pub(super) struct Watchdog {
    armed: Armed,
    /// The index of a slot whose queue is stuck, for a busy worker to steal from, or [`NONE`]. An index past the last slot
    /// means the inject queue, which busy workers check anyway.
    stuck: AtomicUsize,
    alarm: Alarm,
    armed_later: ArmedLater,
    /// The driver's turns at the last look or the last `arm_later`.
    turns: AtomicUsize,
    /// The number of further looks for which a task counts as having blocked lately.
    watched: AtomicU32,
    has_thread: AtomicBool,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
    /// Whether it was ever armed: in a model the test does its work.
    #[cfg(all(test, loom))]
    pub(super) was_armed: std::sync::atomic::AtomicBool,
}

impl Watchdog {
    pub(super) fn new(alarm: Alarm) -> Self {
        Self {
            armed: Armed::new(),
            stuck: AtomicUsize::new(NONE),
            alarm,
            armed_later: ArmedLater::new(),
            turns: AtomicUsize::new(0),
            watched: AtomicU32::new(0),
            has_thread: AtomicBool::new(false),
            thread: Mutex::new(None),
            #[cfg(all(test, loom))]
            was_armed: std::sync::atomic::AtomicBool::new(false),
        }
    }

    /// Makes the watchdog check the queues from now on.
    #[inline]
    pub(super) fn arm(&self, shared: &Shared) {
        if !self.armed.is_set() {
            self.begin(shared);
        }
    }

    /// Makes the watchdog check later whether a worker has attended to the driver and the queues; a worker does unless a
    /// task blocks it. Returns false if setting the alarm costs as much as waking a thread; the caller then wakes one.
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
        if self.armed_later.set() {
            self.turns.store(shared.driver.turns(), Relaxed);
            self.set_alarm(Duties {
                is_left: true,
                next_timer: shared.driver.until_next_timer(),
                has_seen_block: self.has_seen_block(),
                ..Duties::default()
            });
        }
        true
    }

    /// As [`arm_later`](Self::arm_later), after the earliest timer was registered, which may be due before the alarm rings.
    pub(super) fn arm_for_timer(&self, shared: &Shared) -> bool {
        let is_armed = self.arm_later(shared);
        if is_armed && !shared.is_current_thread() {
            self.set_alarm(Duties {
                next_timer: shared.driver.until_next_timer(),
                ..Duties::default()
            });
        }
        is_armed
    }

    fn set_alarm(&self, duties: Duties) {
        if let Some(next_look) = duties.deadlines().earliest() {
            self.alarm.ring_within(next_look);
        }
    }

    /// Called after a task has blocked its worker: others may do so soon.
    pub(super) fn note_block(&self) {
        self.watched.store(WATCHED, Relaxed);
    }

    /// Whether a task has blocked its worker lately.
    pub(super) fn has_seen_block(&self) -> bool {
        self.watched.load(Relaxed) > 0
    }

    /// Takes the index of a stuck slot for which no sleeping worker could be called.
    #[inline]
    pub(super) fn take_stuck(&self) -> Option<usize> {
        if self.stuck.load(Relaxed) == NONE {
            return None;
        }
        Some(self.stuck.swap(NONE, Relaxed)).filter(|&stuck| stuck != NONE)
    }

    #[cold]
    fn begin(&self, shared: &Shared) {
        // No time passes in a model, so the watchdog must not run there.
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
            self.alarm.ring_within(Duration::ZERO);
        } else if !shared.is_shut_down() {
            let this = shared.this.upgrade().expect("a runtime in use is alive");
            let started = thread::Builder::new()
                .name("pointsman-watch".into())
                .spawn(move || this.watchdog.run(&this));
            match started {
                Ok(started) => {
                    *thread = Some(started);
                    self.has_thread.store(true, Relaxed);
                }
                // The next queued task tries again.
                Err(_) => self.armed.unset(),
            }
        }
    }

    fn run(&self, shared: &Arc<Shared>) {
        let mut seen = Seen::default();
        while !shared.is_shut_down() {
            self.armed_later.begin_look();
            let next_timer = catch_waker_panic(|| shared.driver.fire_if_unattended()).flatten();
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
                shared.spawn_substitutes();
            }
            let all_are_awake = shared.idle.workers().sleeping == 0;
            let stuck = look.stuck.filter(|_| all_are_awake);
            self.stuck.store(stuck.unwrap_or(NONE), Relaxed);
            let is_left = self.attend_to_driver(shared);
            let may_rest = self.armed.may_rest(look.has_work || is_left);
            if may_rest {
                seen.forget();
            }
            self.set_alarm(Duties {
                has_work: look.has_work,
                is_left: !may_rest,
                next_timer,
                has_seen_block: self.has_seen_block(),
            });
            self.alarm.wait();
        }
    }

    /// If no thread has attended to the driver since the last look, makes a sleeper hold it or polls for I/O. Returns
    /// whether the driver is left to a worker and must be watched further.
    fn attend_to_driver(&self, shared: &Shared) -> bool {
        let driver = &shared.driver;
        let is_unattended = driver.is_unattended();
        let is_unchanged = driver.turns() == self.turns.load(Relaxed);
        self.watched
            .store(self.watched.load(Relaxed).saturating_sub(1), Relaxed);
        if is_unattended && is_unchanged {
            self.note_block();
            driver.want_holder();
            if !shared.idle.unpark_one() {
                catch_waker_panic(|| driver.poll_io());
            }
        }
        self.turns.store(driver.turns(), Relaxed);
        // If there are only timers, `run` knows when the next one is due.
        is_unattended && (driver.has_sources() || !is_unchanged)
    }

    /// Wakes the thread, which ends since the runtime has shut down. Returns it.
    pub(super) fn stop(&self) -> Option<thread::JoinHandle<()>> {
        self.alarm.ring_within(Duration::ZERO);
        lock(&self.thread).take()
    }
}

/// Runs a function that may call user wakers. Catches a panic, which would end the thread and with it all watching.
fn catch_waker_panic<R>(run: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

/// Whether the watchdog checks the queues or is being woken to do so.
pub(super) struct Armed(AtomicBool);

impl Armed {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Called after a task was queued: if set, the next look sees the task. The look comes a tick later, which is longer
    /// than a store takes to become visible.
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Returns whether it was armed before. If not, the caller must wake the watchdog.
    pub(super) fn set(&self) -> bool {
        // ORDERING: SeqCst pairs with the swap of `may_rest`: the look after that sees the tasks that were queued before.
        self.0.swap(true, SeqCst)
    }

    fn unset(&self) {
        self.0.store(false, Relaxed);
    }

    /// Called after a look. A thread that has queued a task during the look may have seen the watchdog armed, so there is
    /// one more look after the first that has found nothing.
    pub(super) fn may_rest(&self, has_work: bool) -> bool {
        // ORDERING: SeqCst pairs with the swap of `set`.
        let was_set = self.0.swap(has_work, SeqCst);
        // ORDERING: SeqCst: orders the reset before the reads of the next look, which sees the tasks of threads that saw
        // the watchdog armed.
        fence(SeqCst);
        !was_set && !has_work
    }
}

/// Whether the alarm was set by [`arm_later`](Watchdog::arm_later) and has not rung.
pub(super) struct ArmedLater(AtomicBool);

impl ArmedLater {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Called after a task was queued or the driver was left to a worker. Returns whether the caller must set the alarm;
    /// otherwise a look to come sees the task and the driver.
    pub(super) fn set(&self) -> bool {
        // ORDERING: SeqCst pairs with the fence of `begin_look`: either this thread sees the flag as that look has cleared
        // it, or later, or that look sees the task and the driver.
        fence(SeqCst);
        !self.0.load(Relaxed) && !self.0.swap(true, Relaxed)
    }

    /// Called before a look.
    pub(super) fn begin_look(&self) {
        self.0.store(false, Relaxed);
        // ORDERING: SeqCst pairs with the fence of `set`: the reads of this look see the tasks of threads that saw the
        // flag set before.
        fence(SeqCst);
    }
}

impl Shared {
    /// The number of tasks taken from each slot's queue, and last from the inject queue, and whether it is empty.
    fn queues(&self) -> Vec<(usize, bool)> {
        let slots = self.slots.iter().map(|slot| &slot.queue);
        slots
            .map(|queue| (queue.taken(), queue.is_empty()))
            .chain([(self.inject.taken(), self.inject.is_empty())])
            .collect()
    }
}
