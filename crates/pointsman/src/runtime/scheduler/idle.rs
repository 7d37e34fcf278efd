//! Tracks which workers are searching, awake or asleep, and wakes them.
//!
//! The counts live in one atomic word; the decisions are pure functions in [`policy`]. [sleep.md](./sleep.md) proves the
//! protocol.
//!
//! # Invariants
//!
//! - At most `max(1, working)` workers search or have been called to search; see [`policy::should_call`]. A searcher that
//!   finds a task calls another worker if more tasks remain.
//! - A producer that sees a searcher wakes no worker. So a searching worker holds a [`Searching`], runs no user code while
//!   it holds it, and gives it up only in [`finish_search`](super::worker::Worker::finish_search), which re-checks the
//!   queues.
//! - Sleep and submit cannot miss each other: a worker announces that it sleeps and then re-checks the queues; a producer
//!   enqueues and then checks for sleepers. Both sides use a SeqCst fence.
//! - A queued task for which no worker was called and no worker searches is watched; see
//!   [`watchdog`](super::watchdog).

use std::sync::Arc;

use super::policy::{self, Mode, Workers};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, AtomicU64, fence};
use crate::park::ThreadParker;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

const SEARCHING: u64 = 1;
const AWAKE: u64 = 1 << 16;
const SLEEPING: u64 = 1 << 32;
const OTHERS: u64 = 1 << 48;

fn unpack(counts: u64) -> Workers {
    let part = |shift: u32| (counts >> shift) as usize & 0xffff;
    Workers {
        searching: part(0),
        awake: part(16),
        sleeping: part(32),
        others: part(48),
    }
}

pub(super) struct Idle {
    /// [`Workers`], packed.
    counts: AtomicU64,
    cores: usize,
    is_eager: AtomicBool,
    sleepers: Mutex<Vec<Sleeper>>,
}

struct Sleeper {
    slot: usize,
    parker: Arc<ThreadParker>,
}

/// One searching worker's share of the count. Producers rely on the search for as long as this exists.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "the worker counts as searching until `finish_search` takes this"]
pub(super) struct Searching(());

/// Why a worker is awake.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum WakeReason {
    /// The worker found something to do by itself.
    Spontaneous,
    /// Another thread called the worker to search.
    Notified(Searching),
}

/// Whether a worker will take a task that was just queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// A worker was called or is searching.
    Attended,
    /// The caller must have the task watched.
    Unattended,
}

impl Idle {
    pub(super) fn new(cores: usize) -> Self {
        Self {
            counts: AtomicU64::new(0),
            cores,
            is_eager: AtomicBool::new(false),
            sleepers: Mutex::new(Vec::new()),
        }
    }

    #[inline]
    pub(super) fn workers(&self) -> Workers {
        unpack(self.counts.load(Relaxed))
    }

    #[inline]
    pub(super) fn mode(&self) -> Mode {
        match self.is_eager.load(Relaxed) {
            true => Mode::Eager,
            false => Mode::Lazy,
        }
    }

    pub(super) fn set_mode(&self, mode: Mode) {
        self.is_eager.store(mode == Mode::Eager, Relaxed);
    }

    pub(super) fn cores(&self) -> usize {
        self.cores
    }

    // --- called by producers ---

    /// Called after a worker has queued a task at its own slot, where `waiting` tasks are queued now. `wake_threshold` is
    /// the queue length up to which waking a worker costs more than it saves.
    #[inline]
    pub(super) fn notify_local(&self, waiting: usize, wake_threshold: usize) -> Outcome {
        self.notify(self.workers(), waiting, wake_threshold)
    }

    /// Called after a task was put into the inject queue, or left at a vacant slot.
    pub(super) fn notify_remote(&self) -> Outcome {
        // ORDERING: SeqCst pairs with the fences of `sleep` and `end_search`: the worker sees the task there, or this
        // thread sees here that it sleeps or has ended its search.
        fence(SeqCst);
        // ORDERING: SeqCst, after the fence.
        self.notify(unpack(self.counts.load(SeqCst)), 1, 0)
    }

    #[inline]
    fn notify(&self, workers: Workers, waiting: usize, wake_threshold: usize) -> Outcome {
        let mode = self.mode();
        let is_attended =
            match policy::should_call(workers, self.cores, mode, waiting, wake_threshold) {
                true => self.call_several(mode, waiting, wake_threshold),
                false => workers.searching > 0,
            };
        match mode {
            Mode::Lazy if is_attended => Outcome::Attended,
            // In eager mode a called worker may block in turn, so the queues stay watched.
            _ => Outcome::Unattended,
        }
    }

    /// Calls workers while the policy wants one, [`policy::MAX_CALLED`] at most. Returns whether a worker searches then.
    #[cold]
    fn call_several(&self, mode: Mode, waiting: usize, wake_threshold: usize) -> bool {
        let should_call =
            |workers| policy::should_call(workers, self.cores, mode, waiting, wake_threshold);
        let mut is_attended = false;
        for _ in 0..policy::MAX_CALLED {
            is_attended = self.call_one_if(should_call);
            if !should_call(self.workers()) {
                break;
            }
        }
        is_attended
    }

    /// Calls a sleeping worker to search, unless a worker is searching.
    pub(super) fn call_one(&self) {
        self.call_one_if(|workers| workers.searching == 0);
    }

    /// Calls a sleeping worker to search, if `should_call` holds for the current counts. Returns whether a worker searches
    /// then.
    fn call_one_if(&self, should_call: impl Fn(Workers) -> bool) -> bool {
        let mut sleepers = lock(&self.sleepers);
        if sleepers.is_empty() {
            return self.workers().searching > 0;
        }
        // Under the lock, so that each counted call removes a sleeper.
        // ORDERING: SeqCst, as for all changes of this word but those of `others`: a worker that ends its search changes
        // it before it re-checks the queues.
        let claimed = self.counts.fetch_update(SeqCst, Relaxed, |counts| {
            let called = (counts + SEARCHING + AWAKE).wrapping_sub(SLEEPING);
            should_call(unpack(counts)).then_some(called)
        });
        if let Err(counts) = claimed {
            return unpack(counts).searching > 0;
        }
        let called = take_best(&mut sleepers);
        drop(sleepers);
        called.parker.call();
        true
    }

    /// Unparks the worker that has slept longest, which then looks for something to do. Returns false if none sleeps.
    pub(super) fn unpark_one(&self) -> bool {
        match lock(&self.sleepers).first() {
            Some(sleeper) => {
                sleeper.parker.unpark();
                true
            }
            None => false,
        }
    }

    pub(super) fn unpark_all(&self) {
        for sleeper in lock(&self.sleepers).iter() {
            sleeper.parker.unpark();
        }
    }

    // --- called by workers ---

    pub(super) fn inc_awake(&self) {
        // ORDERING: SeqCst, as for all changes of this word: see `call_one_if`.
        self.counts.fetch_add(AWAKE, SeqCst);
    }

    pub(super) fn dec_awake(&self) {
        // ORDERING: SeqCst, as for all changes of this word: see `call_one_if`.
        self.counts.fetch_sub(AWAKE, SeqCst);
    }

    /// Counts a thread that is no worker but needs a core.
    pub(super) fn inc_others(&self) {
        self.counts.fetch_add(OTHERS, Relaxed);
    }

    pub(super) fn dec_others(&self) {
        self.counts.fetch_sub(OTHERS, Relaxed);
    }

    /// Begins a search, if the policy allows one.
    pub(super) fn try_search(&self) -> Option<Searching> {
        let counts = self.counts.load(Relaxed);
        let may_search = policy::may_search(unpack(counts), self.cores, self.mode())
            // ORDERING: SeqCst, as for all changes of this word: see `call_one_if`.
            && self
                .counts
                .compare_exchange(counts, counts + SEARCHING, SeqCst, Relaxed)
                .is_ok();
        may_search.then_some(Searching(()))
    }

    /// Ends a search; the worker stays awake. Returns how many other workers were awake.
    ///
    /// The caller must then re-check the queues: see [`finish_search`](super::worker::Worker::finish_search).
    pub(super) fn end_search(&self, Searching(()): Searching) -> usize {
        // ORDERING: SeqCst, before the fence.
        let before = unpack(self.counts.fetch_sub(SEARCHING, SeqCst));
        // ORDERING: SeqCst pairs with the fence of `notify_remote`: a producer whose task is not seen from here on sees
        // that the search is over.
        fence(SeqCst);
        before.awake - 1
    }

    /// Announces that this worker sleeps, and ends its search if there is one. Returns how many other workers were
    /// awake.
    ///
    /// The caller must then re-check the queues: see [`finish_search`](super::worker::Worker::finish_search).
    pub(super) fn sleep(
        &self,
        slot: usize,
        parker: &Arc<ThreadParker>,
        searching: Option<Searching>,
    ) -> usize {
        let mut sleepers = lock(&self.sleepers);
        sleepers.push(Sleeper {
            slot,
            parker: Arc::clone(parker),
        });
        let searching = searching.map_or(0, |Searching(())| SEARCHING);
        let change = SLEEPING.wrapping_sub(AWAKE).wrapping_sub(searching);
        // ORDERING: SeqCst, before the fence.
        let before = unpack(self.counts.fetch_add(change, SeqCst));
        drop(sleepers);
        // ORDERING: SeqCst pairs with the fence of `notify_remote`: a producer whose task is not seen from here on sees the
        // sleeper.
        fence(SeqCst);
        before.awake - 1
    }

    /// Takes the call that a sleeping worker has received, if there is one.
    pub(super) fn take_call(&self, parker: &ThreadParker) -> Option<Searching> {
        // The calling thread has already counted the search: see `call_one_if`.
        parker.take_called().then_some(Searching(()))
    }

    /// Removes this worker from the sleepers, unless a call has done so already.
    pub(super) fn wake(&self, slot: usize, parker: &ThreadParker) -> WakeReason {
        let mut sleepers = lock(&self.sleepers);
        let Some(index) = sleepers.iter().position(|sleeper| sleeper.slot == slot) else {
            drop(sleepers);
            // The calling thread has removed the sleeper and is about to call it.
            loop {
                match self.take_call(parker) {
                    Some(searching) => return WakeReason::Notified(searching),
                    None => parker.park(None),
                }
            }
        };
        sleepers.remove(index);
        // ORDERING: SeqCst, as for all changes of this word: `Shared::spawn_substitutes_if_needed` fences after it.
        self.counts.fetch_add(AWAKE.wrapping_sub(SLEEPING), SeqCst);
        WakeReason::Spontaneous
    }
}

/// Takes the worker that fell asleep last, since its memory is warm. Prefers one that does not hold the driver, which then
/// stays attended.
fn take_best(sleepers: &mut Vec<Sleeper>) -> Sleeper {
    let is_free = |sleeper: &Sleeper| !sleeper.parker.holds_driver();
    let best = sleepers.iter().rposition(is_free);
    sleepers.remove(best.unwrap_or(sleepers.len() - 1))
}
