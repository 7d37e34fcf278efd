//! Who sleeps, who looks for work, and when somebody is woken.
//!
//! To wake a thread that sleeps on another core costs as much as hundreds of tasks. So a seat that gets a
//! task or two wakes nobody. That is safe because one of those that sleep, the keeper, wakes up by itself
//! each millisecond as long as anybody is awake: it takes what is queued and gets nowhere. The keeper also
//! wakes up for the next timer, so a task that blocks its thread keeps neither tasks nor timers waiting. A
//! guest, which could take nothing, is the keeper only where nobody else sleeps, and wakes up for timers alone.
//!
//! Invariants:
//! - At most one thread looks for work, and no guest does; whoever brings some wakes nobody but a keeper while
//!   there is one. It looks at what comes from outside once more when it has found something, as that may keep
//!   it busy.
//! - Not more threads are awake than there are cores, unless a queue or a thread gets nowhere.
//! - A thread that goes to sleep looks once more after it has said so. Whoever brings work from outside looks
//!   after bringing it. So one of them sees the other.
//! - While somebody is awake and has more than it runs, a keeper ticks.

use std::sync::Arc;
use std::time::Duration;

use super::super::signal::Signal;
use super::worker::Role;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicU64, AtomicUsize, fence};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// How long a keeper that can take something sleeps while others are awake.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// Ticks with nobody awake, after which the keeper sleeps for as long as it can.
const LINGER: u32 = 10;
/// Tasks that a seat may have queued without anybody being woken.
const FEW: usize = 2;

const SEARCHING: u64 = 1;
const AWAKE: u64 = 1 << 16;
const SLEEPING: u64 = 1 << 32;
const TICKING: u64 = 1 << 48;
/// Of those who sleep, those who look for no work.
const GUEST: u64 = 1 << 49;

#[derive(Clone, Copy)]
struct Counts(u64);

impl Counts {
    fn searching(self) -> bool {
        self.0 & 0xffff != 0
    }

    fn awake(self) -> u64 {
        (self.0 >> 16) & 0xffff
    }

    /// Whether somebody sleeps who can be called.
    fn sleeping(self) -> bool {
        (self.0 >> 32) & 0xffff != 0
    }

    fn can_tick(self) -> bool {
        self.sleeping() || self.0 >= GUEST
    }

    fn ticking(self) -> bool {
        self.0 & TICKING != 0
    }
}

pub(super) struct Idle {
    counts: AtomicU64,
    cores: u64,
    /// Seat of the keeper, or [`NOBODY`]. Changed under the lock.
    keeper: AtomicUsize,
    sleepers: Mutex<Vec<Sleeper>>,
}

struct Sleeper {
    seat: usize,
    signal: Arc<Signal>,
    role: Role,
}

/// As which a thread of this role counts while it sleeps.
fn sleeping_as(role: Role) -> u64 {
    match role {
        Role::Guest => GUEST,
        Role::Substitute | Role::Worker => SLEEPING,
    }
}

const NOBODY: usize = usize::MAX;

/// How a thread has come to be awake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Woken {
    /// By itself.
    Alone,
    /// Somebody has called it to look for work: it is the one that looks.
    Called,
}

impl Idle {
    pub(super) fn new(cores: usize) -> Self {
        Self {
            counts: AtomicU64::new(0),
            cores: cores as u64,
            keeper: AtomicUsize::new(NOBODY),
            sleepers: Mutex::new(Vec::new()),
        }
    }

    #[inline]
    fn counts(&self) -> Counts {
        Counts(self.counts.load(Relaxed))
    }

    // --- those who bring work ---

    /// A seat has so many tasks queued.
    #[inline]
    pub(super) fn queued(&self, waiting: usize) {
        let counts = self.counts();
        if !counts.sleeping() {
            return;
        }
        if waiting > FEW && !counts.searching() && counts.awake() < self.cores {
            self.call_one();
        } else if !counts.ticking() {
            self.tick();
        }
    }

    /// A task was brought from outside, or left in a seat that nobody holds.
    pub(super) fn brought(&self) {
        // ORDERING: SeqCst pairs with that of `sleep`: the task is seen there, or the sleeper here.
        fence(SeqCst);
        let counts = Counts(self.counts.load(SeqCst));
        if !counts.sleeping() {
            return;
        }
        if !counts.searching() && counts.awake() < self.cores {
            self.call_one();
        } else if !counts.ticking() {
            self.tick();
        }
    }

    /// There is a timer that fires before all others, within a tick or later.
    pub(super) fn timer_is_earlier(&self, is_soon: bool) {
        // ORDERING: SeqCst pairs with that of `sleep`, as for tasks.
        fence(SeqCst);
        let counts = Counts(self.counts.load(SeqCst));
        // A guest that is the keeper does not look each tick.
        if counts.can_tick() && (is_soon || !counts.ticking() || !counts.sleeping()) {
            self.tick();
        }
    }

    /// There is something to do that those who are awake should take.
    pub(super) fn watch(&self) {
        if !self.counts().ticking() {
            self.tick();
        }
    }

    /// Wakes one of those that sleep, to look for work.
    fn call_one(&self) {
        // ORDERING: SeqCst: who gives up looking says so by a change of this word too.
        let claimed = self.counts.fetch_update(SeqCst, Relaxed, |counts| {
            (!Counts(counts).searching()).then_some(counts + SEARCHING)
        });
        if claimed.is_err() {
            return;
        }
        let mut sleepers = lock(&self.sleepers);
        // The keeper last, as another would have to be made one; workers before substitutes, who may have to
        // leave at any moment.
        let keeper = self.keeper.load(Relaxed);
        let rank = |sleeper: &Sleeper| (sleeper.seat != keeper, sleeper.role);
        let Some(index) = (0..sleepers.len())
            .filter(|&index| sleepers[index].role != Role::Guest)
            .max_by_key(|&index| rank(&sleepers[index]))
        else {
            // ORDERING: SeqCst, as all changes of this word.
            self.counts.fetch_sub(SEARCHING, SeqCst);
            return;
        };
        let called = sleepers.swap_remove(index);
        self.removed(&called);
        drop(sleepers);
        called.signal.call();
    }

    /// One that is awake: the counts, and the keeper's place if it had it.
    fn removed(&self, sleeper: &Sleeper) {
        // ORDERING: SeqCst, as all changes of this word: see `sleep`.
        let change = AWAKE.wrapping_sub(sleeping_as(sleeper.role));
        self.counts.fetch_add(change, SeqCst);
        if self.keeper.load(Relaxed) == sleeper.seat {
            self.keeper.store(NOBODY, Relaxed);
            self.counts.fetch_and(!TICKING, SeqCst);
        }
    }

    /// Sees that there is a keeper, and that it ticks and knows the next timer.
    fn tick(&self) {
        self.tick_with(&lock(&self.sleepers));
    }

    fn tick_with(&self, sleepers: &[Sleeper]) {
        let keeper = self.keeper.load(Relaxed);
        let Some(sleeper) = sleepers
            .iter()
            .find(|sleeper| sleeper.seat == keeper)
            .or_else(|| sleepers.iter().max_by_key(|sleeper| sleeper.role))
        else {
            return;
        };
        self.keeper.store(sleeper.seat, Relaxed);
        // ORDERING: SeqCst, as all changes of this word.
        self.counts.fetch_or(TICKING, SeqCst);
        sleeper.signal.unpark();
    }

    // --- those who work ---

    pub(super) fn came(&self) {
        // ORDERING: SeqCst: see `ticked`.
        self.counts.fetch_add(AWAKE, SeqCst);
    }

    pub(super) fn left(&self) {
        // ORDERING: SeqCst, as all changes of this word.
        self.counts.fetch_sub(AWAKE, SeqCst);
    }

    /// Whether a worker sleeps that can do the work of a thread that blocks. Others may leave at any moment.
    pub(super) fn has_worker(&self) -> bool {
        let sleepers = lock(&self.sleepers);
        sleepers.iter().any(|sleeper| sleeper.role == Role::Worker)
    }

    /// Whether this thread may be the one that looks for work. `is_needed`: a queue gets nowhere, so those that
    /// are awake are blocked.
    pub(super) fn try_search(&self, is_needed: bool) -> bool {
        let counts = self.counts();
        !counts.searching()
            && (is_needed || self.is_within_cores())
            // ORDERING: SeqCst, as all changes of this word.
            && self
                .counts
                .compare_exchange(counts.0, counts.0 + SEARCHING, SeqCst, Relaxed)
                .is_ok()
    }

    /// It looks no more, as it has found something.
    pub(super) fn found(&self) {
        // ORDERING: SeqCst, as all changes of this word.
        self.counts.fetch_sub(SEARCHING, SeqCst);
    }

    /// Says that this thread sleeps. It has to look once more before it does.
    pub(super) fn sleep(&self, seat: usize, signal: &Arc<Signal>, role: Role, is_searching: bool) {
        let mut sleepers = lock(&self.sleepers);
        let keeper = self.keeper.load(Relaxed);
        // A keeper should be able to take what gets nowhere.
        let is_better = |sleeper: &Sleeper| {
            sleeper.role > role || (sleeper.role == role && sleeper.seat == keeper)
        };
        if !sleepers.iter().any(is_better) {
            self.keeper.store(seat, Relaxed);
        }
        sleepers.push(Sleeper {
            seat,
            signal: Arc::clone(signal),
            role,
        });
        let searching = if is_searching { SEARCHING } else { 0 };
        let change = sleeping_as(role)
            .wrapping_sub(AWAKE)
            .wrapping_sub(searching);
        // ORDERING: SeqCst pairs with those who bring work: they see the sleeper, or it sees the work.
        let before = Counts(self.counts.fetch_add(change, SeqCst));
        // Others may have queued something in this moment, and have seen nobody who sleeps; or this thread may
        // not take what it sees.
        if before.awake() > 1 && !before.ticking() {
            self.tick_with(&sleepers);
        }
        drop(sleepers);
        // ORDERING: SeqCst pairs with that of `brought`: whoever brings what is not seen from here on sees the
        // sleeper.
        fence(SeqCst);
    }

    /// Wants to be awake again.
    pub(super) fn wake(&self, seat: usize, signal: &Signal) -> Woken {
        let mut sleepers = lock(&self.sleepers);
        let Some(index) = sleepers.iter().position(|sleeper| sleeper.seat == seat) else {
            drop(sleepers);
            // It was called in this moment.
            while !signal.take_called() {
                signal.park(None);
            }
            return Woken::Called;
        };
        let sleeper = sleepers.swap_remove(index);
        self.removed(&sleeper);
        Woken::Alone
    }

    /// This thread is awake again. If it was the keeper, and there are timers, somebody else has to keep them.
    pub(super) fn hand_over(&self, has_timers: impl FnOnce() -> bool) {
        if self.keeper.load(Relaxed) != NOBODY || !self.counts().can_tick() {
            return;
        }
        // ORDERING: SeqCst pairs with that of `timer_is_earlier`: a timer that was left to the keeper is seen.
        fence(SeqCst);
        if has_timers() {
            self.tick();
        }
    }

    pub(super) fn is_keeper(&self, seat: usize) -> bool {
        self.keeper.load(Relaxed) == seat
    }

    pub(super) fn is_ticking(&self) -> bool {
        self.counts().ticking()
    }

    /// Whether all that are awake have a core.
    pub(super) fn is_within_cores(&self) -> bool {
        self.counts().awake() <= self.cores
    }

    /// Whether one more may be awake, as far as cores go.
    pub(super) fn has_core(&self) -> bool {
        self.has_core_beside(self.counts().awake() as usize)
    }

    /// Whether one more may be awake, if so many use a core.
    pub(super) fn has_core_beside(&self, others: usize) -> bool {
        (others as u64) < self.cores
    }

    /// The keeper has ticked. `quiet` counts the ticks with nobody awake; after some of them it need not tick.
    pub(super) fn ticked(&self, quiet: &mut u32) {
        if self.counts().awake() > 0 {
            *quiet = 0;
            return;
        }
        *quiet += 1;
        if *quiet < LINGER {
            return;
        }
        *quiet = 0;
        // In one step: another may have become the keeper, and look in between.
        // ORDERING: SeqCst pairs with that of `came`: who comes later sees that nobody ticks, and who came
        // before is seen here.
        let _ = self.counts.fetch_update(SeqCst, Relaxed, |counts| {
            (Counts(counts).awake() == 0).then_some(counts & !TICKING)
        });
    }

    /// Lets all that sleep look again.
    pub(super) fn unpark_all(&self) {
        for sleeper in lock(&self.sleepers).iter() {
            sleeper.signal.unpark();
        }
    }
}
