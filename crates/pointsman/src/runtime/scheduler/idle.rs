//! Who sleeps, who looks for work, and whom to wake.
//!
//! What decides is in [`policy`]; here are the counts that it goes by, and the list of those who sleep.
//!
//! Invariants:
//! - Those who look for work, or were called to, are no more than those who work, or one, as [`policy::calls_one`] says.
//!   Who has found some calls the next, if there is more than it wants. Each of them looks at the inject queue once more
//!   after it has ceased to look: whoever brings something may rely on any of them.
//! - A worker that goes to sleep looks once more after it has said so, and whoever brings work from outside looks
//!   who sleeps after bringing it: one of them sees the other.
//! - What is queued is watched if nobody is called for it and nobody searches (see [`watchdog`](super::watchdog)).

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

/// How a worker has come to be awake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Woken {
    /// By itself.
    Alone,
    /// Somebody has called it to look for work, and it is counted for that.
    Called,
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

    /// Whether this worker may look for work, and is counted for it then.
    pub(super) fn try_search(&self) -> bool {
        let counts = self.counts.load(Relaxed);
        policy::may_search(counted(counts), self.cores, self.mode())
            // ORDERING: SeqCst, as all changes of this word.
            && self
                .counts
                .compare_exchange(counts, counts + SEARCHING, SeqCst, Relaxed)
                .is_ok()
    }

    /// It looks no more, as it has found something.
    pub(super) fn end_search(&self) {
        // ORDERING: SeqCst, as all changes of this word.
        self.counts.fetch_sub(SEARCHING, SeqCst);
    }

    /// Says that this worker sleeps. It has to look once more before it does. Gives who else was awake.
    pub(super) fn sleep(
        &self,
        slot: usize,
        parker: &Arc<ThreadParker>,
        is_searching: bool,
    ) -> usize {
        let mut sleepers = lock(&self.sleepers);
        sleepers.push(Sleeper {
            slot,
            parker: Arc::clone(parker),
        });
        let searching = if is_searching { SEARCHING } else { 0 };
        let change = SLEEPING.wrapping_sub(AWAKE).wrapping_sub(searching);
        // ORDERING: SeqCst pairs with those who bring work: they see the sleeper, or it sees the work.
        let before = counted(self.counts.fetch_add(change, SeqCst));
        drop(sleepers);
        // ORDERING: SeqCst pairs with that of `notify_remote`: whoever brings what is not seen from here on sees the
        // sleeper.
        fence(SeqCst);
        before.awake - 1
    }

    /// Takes this worker out of those who sleep. [`Called`](Woken::Called) if somebody has done so already.
    pub(super) fn wake(&self, slot: usize, parker: &ThreadParker) -> Woken {
        let mut sleepers = lock(&self.sleepers);
        let Some(index) = sleepers.iter().position(|sleeper| sleeper.slot == slot) else {
            drop(sleepers);
            // It was called in this moment.
            while !parker.take_called() {
                parker.park(None);
            }
            return Woken::Called;
        };
        sleepers.remove(index);
        // ORDERING: SeqCst, as all changes of this word: see `sleep`.
        self.counts.fetch_add(AWAKE.wrapping_sub(SLEEPING), SeqCst);
        Woken::Alone
    }
}

/// The one that fell asleep last, as its memory is warm; but rather not one that waits for I/O, which another would have
/// to do then.
fn take_best(sleepers: &mut Vec<Sleeper>) -> Sleeper {
    let is_free = |sleeper: &Sleeper| !sleeper.parker.is_in_reactor();
    let best = sleepers.iter().rposition(is_free);
    sleepers.remove(best.unwrap_or(sleepers.len() - 1))
}
