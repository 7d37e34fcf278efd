//! Tracks which workers are searching, awake or asleep, and decides which of them to wake.
//!
//! The counts live in one atomic word; the decisions are pure functions in [`policy`].
//!
//! # Invariants
//!
//! - At most `max(1, working)` workers search or have been called to search; see [`policy::calls_one`]. A searcher that
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

fn counted(counts: u64) -> Workers {
    let part = |shift: u32| (counts >> shift) as usize & 0xffff;
    Workers {
        searching: part(0),
        awake: part(16),
        sleeping: part(32),
        others: part(48),
    }
}

pub(super) struct Idle {
    /// [`Workers`] in one word.
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
    Called(Searching),
}

/// What has become of those who should do something about queued work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// Somebody was called, or is looking.
    Done,
    /// Nobody was called: it is to be watched.
    NotCalled,
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
        counted(self.counts.load(Relaxed))
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

    // --- those who bring work ---

    /// So many tasks wait in a queue in which `few` are not worth a wake-up.
    #[inline]
    pub(super) fn notify_local(&self, waiting: usize, few: usize) -> Outcome {
        self.notify(self.workers(), waiting, few)
    }

    /// A task was brought from outside, or left where nobody is.
    pub(super) fn notify_remote(&self) -> Outcome {
        // ORDERING: SeqCst pairs with that of `sleep`: the task is seen there, or the sleeper here.
        fence(SeqCst);
        self.notify(counted(self.counts.load(SeqCst)), 1, 0)
    }

    #[inline]
    fn notify(&self, workers: Workers, waiting: usize, few: usize) -> Outcome {
        let mode = self.mode();
        let is_attended = match policy::calls_one(workers, self.cores, mode, waiting, few) {
            true => self.call_some(mode, waiting, few),
            false => workers.searching > 0,
        };
        match mode {
            Mode::Lazy if is_attended => Outcome::Done,
            // Until the watchdog has seen that all get on again.
            _ => Outcome::NotCalled,
        }
    }

    /// Wakes as many as pay, to look for work. Whether somebody looks then.
    #[cold]
    fn call_some(&self, mode: Mode, waiting: usize, few: usize) -> bool {
        let pays = |workers| policy::calls_one(workers, self.cores, mode, waiting, few);
        let mut is_attended = false;
        for _ in 0..policy::MOST_CALLED {
            is_attended = self.call_one_if(pays);
            if !pays(self.workers()) {
                break;
            }
        }
        is_attended
    }

    /// Wakes one of those who sleep, to look for work, unless somebody does.
    pub(super) fn call_one(&self) {
        self.call_one_if(|workers| workers.searching == 0);
    }

    /// Wakes one of those who sleep, if that is wanted as things are. Whether somebody looks for work then.
    fn call_one_if(&self, is_wanted: impl Fn(Workers) -> bool) -> bool {
        let mut sleepers = lock(&self.sleepers);
        if sleepers.is_empty() {
            return self.workers().searching > 0;
        }
        // Under the lock: where the counts say that somebody looks, others rely on it.
        // ORDERING: SeqCst: who gives up looking says so by a change of this word too.
        let claimed = self.counts.fetch_update(SeqCst, Relaxed, |counts| {
            let called = (counts + SEARCHING + AWAKE).wrapping_sub(SLEEPING);
            is_wanted(counted(counts)).then_some(called)
        });
        if let Err(counts) = claimed {
            return counted(counts).searching > 0;
        }
        let called = take_best(&mut sleepers);
        drop(sleepers);
        called.parker.call();
        true
    }

    /// Lets one of those who sleep look again, the one that has slept the longest. False if nobody sleeps.
    pub(super) fn unpark_one(&self) -> bool {
        match lock(&self.sleepers).first() {
            Some(sleeper) => {
                sleeper.parker.unpark();
                true
            }
            None => false,
        }
    }

    /// Lets all who sleep look again.
    pub(super) fn unpark_all(&self) {
        for sleeper in lock(&self.sleepers).iter() {
            sleeper.parker.unpark();
        }
    }

    // --- those who work ---

    pub(super) fn inc_awake(&self) {
        // ORDERING: SeqCst, as all changes of this word.
        self.counts.fetch_add(AWAKE, SeqCst);
    }

    pub(super) fn dec_awake(&self) {
        // ORDERING: as above.
        self.counts.fetch_sub(AWAKE, SeqCst);
    }

    /// A thread that is no worker needs a core.
    pub(super) fn inc_others(&self) {
        self.counts.fetch_add(OTHERS, Relaxed);
    }

    pub(super) fn dec_others(&self) {
        self.counts.fetch_sub(OTHERS, Relaxed);
    }

    /// Begins a search, if the policy allows one.
    pub(super) fn try_search(&self) -> Option<Searching> {
        let counts = self.counts.load(Relaxed);
        let may_search = policy::may_search(counted(counts), self.cores, self.mode())
            // ORDERING: SeqCst, as all changes of this word.
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
        // ORDERING: SeqCst, as all changes of this word.
        let before = counted(self.counts.fetch_sub(SEARCHING, SeqCst));
        // ORDERING: SeqCst pairs with the fence of `notify_remote`: a producer whose task is not seen from here on sees
        // that the search is over.
        fence(SeqCst);
        before.awake - 1
    }

    /// Announces that this worker sleeps, and ends its search if there is one. Returns how many other workers were
    /// awake.
    ///
    /// The caller looks at the queues after this: see [`finish_search`](super::worker::Worker::finish_search).
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
        // ORDERING: SeqCst, as all changes of this word.
        let before = counted(self.counts.fetch_add(change, SeqCst));
        drop(sleepers);
        // ORDERING: SeqCst pairs with that of `notify_remote`: a producer whose task is not seen from here on sees the
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
            // The call is on its way.
            loop {
                match self.take_call(parker) {
                    Some(searching) => return WakeReason::Called(searching),
                    None => parker.park(None),
                }
            }
        };
        sleepers.remove(index);
        // ORDERING: SeqCst, as all changes of this word: see `sleep`.
        self.counts.fetch_add(AWAKE.wrapping_sub(SLEEPING), SeqCst);
        WakeReason::Spontaneous
    }
}

/// The one that fell asleep last, as its memory is warm; but rather not one that waits for I/O, which another would have
/// to do then.
fn take_best(sleepers: &mut Vec<Sleeper>) -> Sleeper {
    let is_free = |sleeper: &Sleeper| !sleeper.parker.is_in_reactor();
    let best = sleepers.iter().rposition(is_free);
    sleepers.remove(best.unwrap_or(sleepers.len() - 1))
}
