//! The watchdog: a thread that detects tasks stuck behind a worker that blocks.
//!
//! A worker that queues a few short tasks wakes no other worker, since it will run them sooner than another could wake
//! up. That fails if the task that it runs blocks or computes for long. So while a task is queued for which no worker was
//! woken, the watchdog checks whether each queue makes progress. If one does not, it calls a worker and sets
//! [`Mode::Eager`](super::policy::Mode::Eager), in which every queued task wakes a worker. If no worker sleeps, a busy
//! one steals the stuck tasks. The watchdog also fires timers for which no sleeper waits, and checks that a thread polls
//! for I/O; while all workers are busy it polls itself.
//!
//! Each of these duties has a [deadline](Duty::deadline), and the watchdog sleeps until the earliest.
//! The thread starts when it is first needed and rests while there is nothing to watch. A current-thread runtime has
//! none. The timers that it fires run user wakers: a waker that blocks stops all help meanwhile.
//!
//! Invariant: after [`arm`](Watchdog::arm) the queues are checked until they are empty, and once more after that. If the
//! thread cannot be started, the next queued task tries again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::alarm::Alarm;
use super::policy::{Duty, Look, QueueState, Seen};
use super::{Shared, Slot};
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicU32, AtomicUsize, fence};
use crate::loom::{lock, thread};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// The number of looks for which a task counts as having blocked lately.
///
/// Measured: `echo` with 1,000 requests/s, of which one in 200, at random, blocks for 10 ms: its 99th percentile is 2 to 3 ms,
/// and 9 ms with 30.
const WATCHED: u32 = 100;

const NONE: usize = usize::MAX;

pub(super) struct Watchdog {
    armed: Armed,
    /// The index of a slot whose queue is stuck, for a busy worker to steal from, or [`NONE`]. An index past the last slot
    /// means the inject queue, which busy workers check anyway.
    stuck: AtomicUsize,
    alarm: Alarm,
    /// The number of further looks for which a task counts as having blocked lately.
    watched: AtomicU32,
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
            watched: AtomicU32::new(0),
            thread: Mutex::new(None),
            #[cfg(all(test, loom))]
            was_armed: std::sync::atomic::AtomicBool::new(false),
        }
    }

    /// Makes the watchdog attend to this duty from now on, and to the lesser ones.
    #[inline]
    pub(super) fn arm(&self, shared: &Shared, duty: Duty) {
        if !self.armed.is_set(duty) {
            self.begin(shared, duty);
        }
    }

    /// Called when the driver is left to this worker, or the earliest timer was registered while it is.
    pub(super) fn arm_for_driver(&self, shared: &Shared) {
        if shared.is_current_thread() {
            return;
        }
        self.arm(shared, Duty::Driver);
        if let Some(next_timer) = shared.driver.until_next_timer() {
            self.set_alarm(Duty::Rest, Some(next_timer), false);
        }
    }

    fn set_alarm(&self, duty: Duty, next_timer: Option<Duration>, confirms: bool) {
        if let Some(next_look) = duty.deadline(next_timer, self.has_seen_block(), confirms) {
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

    /// Called by a worker that expects to be blocked while no other one can attend to the driver.
    #[cold]
    pub(super) fn expect_block(&self, shared: &Shared) {
        self.note_block();
        self.arm(shared, Duty::Driver);
        self.set_alarm(Duty::Driver, None, true);
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
    fn begin(&self, shared: &Shared, duty: Duty) {
        // No time passes in a model, so the watchdog must not run there.
        #[cfg(all(test, loom))]
        self.was_armed.store(true, Relaxed);
        if cfg!(all(test, loom)) || shared.is_current_thread() {
            return;
        }
        let before = self.armed.set(duty);
        if before == Duty::Rest {
            self.start(shared);
        }
        if before < duty {
            self.set_alarm(duty, None, false);
        }
    }

    /// Starts the thread, unless it has been started.
    fn start(&self, shared: &Shared) {
        let mut thread = lock(&self.thread);
        if thread.is_some() || shared.is_shut_down() {
            return;
        }
        let this = shared.this.upgrade().expect("a runtime in use is alive");
        let started = thread::Builder::new()
            .name("pointsman-watch".into())
            .spawn(move || this.watchdog.run(&this));
        match started {
            Ok(started) => *thread = Some(started),
            // The next queued task tries again.
            Err(_) => self.armed.unset(),
        }
    }

    fn run(&self, shared: &Arc<Shared>) {
        let mut seen = Seen::default();
        let mut confirms = false;
        while !shared.is_shut_down() {
            let before = self.armed.begin_look();
            let next_timer = catch_waker_panic(|| shared.driver.fire_if_unattended()).flatten();
            let steps = shared.slots.iter().map(Slot::steps).collect();
            let look = seen.look(shared.queues(), steps);
            if look.stuck.is_some() {
                shared.idle.call_one();
                shared.spawn_substitutes();
            }
            let all_are_awake = shared.idle.workers().sleeping == 0;
            let stuck = look.stuck.filter(|_| all_are_awake);
            self.stuck.store(stuck.unwrap_or(NONE), Relaxed);
            let is_left = self.attend_to_driver(shared, &look);
            let found = match (look.has_work, is_left) {
                (true, _) => Duty::Queues,
                (false, true) => Duty::Driver,
                (false, false) => Duty::Rest,
            };
            self.armed.set(found);
            // A worker that has queued a task during the look may have seen the watchdog armed: look once more.
            let next = match before {
                Duty::Queues => found.max(Duty::Driver),
                _ => found,
            };
            shared.idle.set_mode(match next {
                Duty::Rest => seen.rest(),
                _ => look.mode,
            });
            confirms = is_left && !confirms;
            self.set_alarm(next, next_timer, confirms);
            self.alarm.wait();
        }
    }

    /// If no worker attends to the driver, makes a sleeper hold it or polls for I/O. Returns whether the driver is left to a
    /// worker and must be watched further.
    fn attend_to_driver(&self, shared: &Shared, look: &Look) -> bool {
        let driver = &shared.driver;
        self.watched
            .store(self.watched.load(Relaxed).saturating_sub(1), Relaxed);
        if !driver.is_unattended() {
            return false;
        }
        if look.is_blocked {
            self.note_block();
        }
        if look.is_blocked || look.is_idle {
            driver.want_holder();
            if !shared.idle.unpark_one() {
                catch_waker_panic(|| driver.poll_io());
            }
        }
        true
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

/// The greatest duty that the watchdog attends to or is being woken for.
pub(super) struct Armed(AtomicUsize);

impl Armed {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(Duty::Rest as usize))
    }

    /// Called after a task was queued: if set, the next look sees the task. The look comes a tick later, which is longer
    /// than a store takes to become visible.
    #[inline]
    pub(super) fn is_set(&self, duty: Duty) -> bool {
        self.0.load(Relaxed) >= duty as usize
    }

    /// Returns the duty before. If it was a lesser one, the caller must set the alarm.
    pub(super) fn set(&self, duty: Duty) -> Duty {
        // ORDERING: SeqCst pairs with the swap of `begin_look`: a later look sees the tasks that were queued before.
        Duty::from(self.0.fetch_max(duty as usize, SeqCst))
    }

    fn unset(&self) {
        self.0.store(Duty::Rest as usize, Relaxed);
    }

    /// Called before a look. Returns the duty that the watchdog was armed for.
    pub(super) fn begin_look(&self) -> Duty {
        // ORDERING: SeqCst pairs with the exchange of `set`.
        let before = Duty::from(self.0.swap(Duty::Rest as usize, SeqCst));
        // ORDERING: SeqCst pairs with the fences of `attend_to_driver` and `notify_holder`: this look sees a driver that was
        // left by a worker that saw the watchdog armed. It also orders the reset before the reads of the next look.
        fence(SeqCst);
        before
    }
}

impl Shared {
    /// The queue of each slot, and last the inject queue.
    fn queues(&self) -> Vec<QueueState> {
        let slots = self.slots.iter().map(|Slot { queue, .. }| QueueState {
            taken: queue.taken(),
            is_empty: queue.is_empty(),
        });
        let inject = QueueState {
            taken: self.inject.taken(),
            is_empty: self.inject.is_empty(),
        };
        slots.chain([inject]).collect()
    }
}
