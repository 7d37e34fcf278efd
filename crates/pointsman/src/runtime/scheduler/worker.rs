//! A thread at its seat: it runs what is queued, looks for more, and sleeps.
//!
//! Invariant: a thread that goes to sleep has seen that there is nothing to do after it has said so (see
//! [`idle`](super::idle)), and one that leaves its seat lets others know of what it leaves there.
//!
//! Measured (two busy cores): a task that is spawned, run and joined in one thread takes 50 ns, one that
//! yields 10 ns more. The floor of a wake-up between two cores is a thousand times that.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::builder::Callback;
use super::super::context;
use super::super::handle::Handle;
use super::super::signal::Signal;
use super::idle::{TICK, Woken};
use super::{Seat, Shared};
use crate::loom::hint;
use crate::loom::sync::atomic::fence;
use crate::task::Entry;
use crate::time;
use std::sync::atomic::Ordering::SeqCst;

/// Tasks after which a thread looks at what comes from outside.
const INJECT_INTERVAL: u32 = 7;
/// How long one looks for work before it sleeps: about as long as it would take to wake it, 30 µs. Counted,
/// because by the clock it would be over whenever another thread had the core for a while, which may have
/// brought work. The core is not yielded: whoever does is made to wait when it is woken the next time.
const SPINS: u32 = if cfg!(loom) { 1 } else { 450 };
/// How often it looks at the others: each look takes the cache lines from those who use them.
const SPINS_PER_LOOK: u32 = 8;

/// For how many looks a task that is alone in its queue is left to the owner, a microsecond. If that is about to
/// run it, it would only be made to wait for another core: chains of tasks took 140 ns for each, not 80.
const LOOKS_ALONE: u32 = if cfg!(loom) { 0 } else { 2 };

/// How often a thread that has endless work looks whether another gets nowhere. Longer than a thread waits for a
/// core, so that what waits with it is left to it.
const RELIEF: Duration = Duration::from_millis(10);
/// Tasks after which it asks the clock for that: as many as it runs in this time, at most so many.
const MOST_TASKS_PER_LOOK: u32 = 512;

/// How long tasks may keep the future waiting that the thread blocks on, once it was woken.
const MOST_WAITING: Duration = Duration::from_micros(100);

/// What a thread does for the runtime, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// It blocks on a future, and runs what it has queued itself meanwhile.
    Guest,
    /// It works in the place of a worker, and leaves when that is back.
    Substitute,
    /// It is a thread of the runtime, or the only one.
    Worker,
}

/// See the module.
pub(super) struct Worker<'a> {
    shared: &'a Arc<Shared>,
    seat: &'a Seat,
    signal: &'a Arc<Signal>,
    /// Whether nobody else takes from its queue.
    is_alone: bool,
    role: Role,
    turn: u32,
    /// When it was last woken.
    awake_since: Instant,
    quiet_ticks: u32,
    /// Blocking work went on when the clock was to be moved on.
    awaits_jobs: bool,
    /// For each seat, once this thread has searched. Whoever blocks on a future allocates nothing.
    alone: Vec<Alone>,
    /// How many tasks each seat had given away at the last tick.
    taken: Vec<usize>,
    taken_at: Instant,
    /// After how many tasks to look at the clock, and those that were run when it was looked at last.
    tasks_per_look: u32,
    looked_at: (u32, Instant),
    /// When to look whether a seat gets nowhere.
    relieves_at: Instant,
    /// It woke up for what gets nowhere, and has to look for it though all cores are taken.
    is_needed: bool,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        shared: &'a Arc<Shared>,
        seat: &'a Seat,
        signal: &'a Arc<Signal>,
        role: Role,
    ) -> Self {
        let now = Instant::now();
        Self {
            shared,
            seat,
            signal,
            is_alone: shared.is_current_thread(),
            role,
            turn: 0,
            awake_since: now,
            quiet_ticks: 0,
            awaits_jobs: false,
            alone: Vec::new(),
            taken: Vec::new(),
            taken_at: now,
            tasks_per_look: 0,
            looked_at: (0, now),
            relieves_at: now + RELIEF,
            is_needed: false,
        }
    }

    /// Works until `poll` gives something, or the runtime ends. `poll` is called when the signal was notified,
    /// after what is queued had its turn.
    pub(super) fn work<R>(&mut self, mut poll: impl FnMut() -> Option<R>) -> Option<R> {
        loop {
            if self.shared.is_shut_down() {
                return None;
            }
            let mut waiting = Waiting::default();
            let mut has_looked = false;
            for _ in 0..self.shared.config.event_interval {
                let Some(entry) = self.next() else {
                    self.idle();
                    has_looked = true;
                    break;
                };
                self.run(entry);
                if self.signal.is_notified() && waiting.is_too_long() {
                    break;
                }
            }
            self.fire_timers();
            if self.signal.take_notified() {
                if has_looked && self.role == Role::Substitute {
                    self.pass_on();
                }
                if let Some(result) = poll() {
                    return Some(result);
                }
            }
        }
    }

    fn fire_timers(&self) {
        if let Some(driver) = self.shared.driver.as_ref().filter(|it| it.next_is_due()) {
            // Whose timers these are has nothing to do with the future of a guest.
            let _standing = (self.role == Role::Guest).then(context::stand_up);
            driver.fire();
        }
    }

    fn next(&mut self) -> Option<Entry> {
        if self.role == Role::Guest {
            return self.pop();
        }
        self.turn = self.turn.wrapping_add(1);
        if self.turn % INJECT_INTERVAL == 0 {
            self.fetch();
            self.relieve();
        }
        self.pop().or_else(|| {
            self.fetch();
            self.pop()
        })
    }

    fn pop(&self) -> Option<Entry> {
        if self.is_alone {
            // SAFETY: this thread holds the only seat.
            unsafe { self.seat.queue.pop_alone() }
        } else {
            self.seat.queue.pop()
        }
    }

    /// Queues here what has come from outside.
    fn fetch(&self) {
        if self.shared.inject.is_empty() {
            return;
        }
        let mut waiting = 0;
        for entry in self.shared.inject.take() {
            // SAFETY: this thread holds the seat.
            waiting = unsafe { self.seat.queue.push(entry) };
        }
        self.shared.idle.queued(waiting);
    }

    /// Takes what waits behind a thread that is blocked. Those that sleep would, but all that are awake may be
    /// blocked or have endless work.
    fn relieve(&mut self) {
        let (turn, before) = self.looked_at;
        let tasks = self.turn.wrapping_sub(turn);
        // The clock costs as much as a short task.
        if self.is_alone || cfg!(loom) || tasks < self.tasks_per_look {
            return;
        }
        let now = Instant::now();
        self.looked_at = (self.turn, now);
        let in_time = u128::from(tasks) * RELIEF.as_nanos() / (now - before).as_nanos().max(1);
        self.tasks_per_look = in_time.min(MOST_TASKS_PER_LOOK.into()) as u32;
        if now < self.relieves_at {
            return;
        }
        self.relieves_at = now + RELIEF;
        let taken = self.shared.taken();
        let seats = self.shared.used_seats();
        for ((seat, after), before) in seats.iter().zip(&taken).zip(&self.taken) {
            if after == before && seat.index != self.seat.index {
                // SAFETY: this thread holds its seat.
                let stolen = unsafe { seat.queue.steal(&self.seat.queue) };
                if let Some(entry) = stolen {
                    self.shared.push(self.seat, entry);
                }
            }
        }
        self.taken = taken;
        self.taken_at = now;
    }

    fn run(&self, entry: Entry) {
        if let Some(again) = entry.run() {
            self.shared.push(self.seat, again);
        }
    }

    // --- nothing to do ---

    fn idle(&mut self) {
        if self.signal.is_notified() {
            return;
        }
        if self.role == Role::Guest {
            if !self.is_woken_soon() {
                self.sleep(false);
            }
            return;
        }
        let is_needed = mem::take(&mut self.is_needed);
        let mut is_searching = self.shared.idle.try_search(is_needed);
        loop {
            if is_searching && self.search() {
                self.shared.idle.found();
                // ORDERING: SeqCst pairs with that of `brought`: who brings something in this moment sees that
                // nobody looks for it, or it is seen here.
                fence(SeqCst);
                if !self.shared.inject.is_empty() {
                    // What was found may be the future of this thread, which leaves then, or blocks.
                    self.shared.idle.brought();
                }
                return;
            }
            if self.advance_clock(is_searching) {
                return;
            }
            match self.sleep(is_searching) {
                Woken::Alone => return,
                Woken::Called => is_searching = true,
            }
        }
    }

    /// Whether the future of this thread, which has nothing else to do, is woken before it would be asleep.
    fn is_woken_soon(&self) -> bool {
        let is_over = || self.signal.is_notified() || self.shared.is_shut_down();
        let mut spins = match self.shared.idle.is_within_cores() {
            true => SPINS,
            false => 0,
        };
        while spins > 0 && !is_over() {
            hint::spin_loop();
            spins -= 1;
        }
        spins > 0
    }

    /// A substitute that was idle and is to end leaves. Whoever has brought work meanwhile has relied on it.
    /// The look after a search does not stand in for this one: a thread may also come here without having searched,
    /// and what a guest has left in its queue is seen only here.
    fn pass_on(&self) {
        // ORDERING: SeqCst pairs with that of `brought`: the search is seen to be over there, or the work here.
        fence(SeqCst);
        let shared = self.shared;
        let is_left = |seat: &Seat| {
            seat.index >= shared.config.worker_threads
                && seat.index != self.seat.index
                && !seat.queue.is_empty()
        };
        if !shared.inject.is_empty() || shared.used_seats().iter().any(is_left) {
            shared.idle.brought();
        }
    }

    /// With a clock that stands still nothing happens until it is moved on.
    fn advance_clock(&mut self, is_searching: bool) -> bool {
        let Some(driver) = &self.shared.driver else {
            return false;
        };
        self.awaits_jobs = !self.shared.blocking.is_idle();
        let moved = self.clock_may_advance() && driver.auto_advance();
        if moved && is_searching {
            self.shared.idle.found();
        }
        moved
    }

    /// Looks for work for a while. Whether there is some for this thread.
    fn search(&mut self) -> bool {
        self.alone.clear();
        let seats = self.shared.seats.len();
        self.alone.resize_with(seats, Alone::default);
        (0..SPINS).any(|spin| {
            hint::spin_loop();
            self.signal.is_notified() || (spin % SPINS_PER_LOOK == 0 && self.look())
        })
    }

    /// Whether there is something to do for this thread; work is taken.
    fn look(&mut self) -> bool {
        if self.shared.is_shut_down() {
            return true;
        }
        self.fetch();
        !self.seat.queue.is_empty() || self.steal()
    }

    fn steal(&mut self) -> bool {
        let seats = self.shared.used_seats();
        let first = context::random_below(seats.len() as u32) as usize;
        let (behind, ahead) = seats.split_at(first);
        for victim in ahead.iter().chain(behind) {
            let waiting = victim.queue.len();
            if victim.index == self.seat.index
                || waiting == 0
                || (waiting == 1 && !self.alone[victim.index].is_left(victim))
            {
                continue;
            }
            // SAFETY: this thread holds its seat.
            if let Some(entry) = unsafe { victim.queue.steal(&self.seat.queue) } {
                self.shared.push(self.seat, entry);
                return true;
            }
        }
        false
    }

    /// Whether anything waits for anyone.
    fn sees_work(&self) -> bool {
        let seats = self.shared.used_seats();
        self.signal.is_notified()
            || self.shared.is_shut_down()
            || self.role != Role::Guest
                && (!self.shared.inject.is_empty()
                    || seats.iter().any(|seat| !seat.queue.is_empty()))
    }

    fn sleep(&mut self, is_searching: bool) -> Woken {
        let shared = self.shared;
        let idle = &shared.idle;
        self.count_busy();
        self.call(&shared.config.on_thread_park, is_searching);
        idle.sleep(self.seat.index, self.signal, self.role, is_searching);
        self.seat.counters.parked.add(1);
        let woken = loop {
            let is_done = self.awaits_jobs && self.clock_may_advance();
            if is_done || self.sees_work() {
                if is_done || self.may_take() {
                    break idle.wake(self.seat.index, self.signal);
                }
                // Whoever has brought it may have seen nobody asleep, and go on to block.
                idle.watch();
            }
            self.signal.park(self.timeout());
            if self.signal.take_called() {
                break Woken::Called;
            }
            if idle.is_keeper(self.seat.index) && idle.is_ticking() {
                idle.ticked(&mut self.quiet_ticks);
            }
            if self.is_due() || self.clock_may_advance() {
                break idle.wake(self.seat.index, self.signal);
            }
        };
        idle.hand_over(|| self.has_timers());
        self.seat.counters.unparked.add(1);
        self.call(&shared.config.on_thread_unpark, woken == Woken::Called);
        self.awake_since = Instant::now();
        shared.see_to_substitutes();
        woken
    }

    /// Calls what the user wants to be called. If that panics this thread leaves, and is no more the one that
    /// looks for work.
    fn call(&self, callback: &Option<Callback>, is_searching: bool) {
        let Some(callback) = callback.as_ref().filter(|_| self.role == Role::Worker) else {
            return;
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| callback())) {
            if is_searching {
                self.shared.idle.found();
            }
            resume_unwind(panic);
        }
    }

    fn count_busy(&self) {
        let busy = self.awake_since.elapsed();
        self.seat.counters.busy.add(busy.as_nanos() as u64);
    }

    /// Whether the clock stands still and nothing but that is waited for.
    fn clock_may_advance(&self) -> bool {
        self.shared.blocking.is_idle()
            && self
                .shared
                .driver
                .as_ref()
                .is_some_and(time::Driver::is_paused)
    }

    fn has_timers(&self) -> bool {
        self.shared
            .driver
            .as_ref()
            .is_some_and(|driver| driver.until_next().is_some())
    }

    fn is_due(&self) -> bool {
        self.shared.idle.is_keeper(self.seat.index)
            && self
                .shared
                .driver
                .as_ref()
                .is_some_and(time::Driver::next_is_due)
    }

    /// How long this thread may sleep.
    fn timeout(&self) -> Option<Duration> {
        let idle = &self.shared.idle;
        if !idle.is_keeper(self.seat.index) {
            return None;
        }
        let next = self
            .shared
            .driver
            .as_ref()
            .and_then(time::Driver::until_next);
        // A guest takes nothing, so there is nothing to look at but timers.
        match (idle.is_ticking() && self.role != Role::Guest, next) {
            (true, Some(next)) => Some(next.min(TICK)),
            (true, None) => Some(TICK),
            (false, next) => next,
        }
    }

    /// Whether this thread takes what it sees: what has a core, or gets nowhere. What is for itself in any case.
    fn may_take(&mut self) -> bool {
        if self.signal.is_notified() || self.shared.is_shut_down() {
            return true;
        }
        let idle = &self.shared.idle;
        if idle.has_core() {
            return true;
        }
        let now = Instant::now();
        let is_known = !self.taken.is_empty();
        if is_known && now - self.taken_at < TICK / 2 {
            return false;
        }
        let taken = self.shared.taken();
        let seats = self.shared.used_seats();
        let stood_still = seats
            .iter()
            .zip(&taken)
            .zip(&self.taken)
            .filter(|((_, now), before)| now == before)
            .map(|((seat, _), _)| seat);
        let is_left = is_known && !self.shared.inject.is_empty()
            || stood_still.clone().any(|seat| !seat.queue.is_empty());
        // Who gets nowhere may be blocked, and need no core.
        self.is_needed =
            is_left || (is_known && idle.has_core_beside(seats.len() - stood_still.count()));
        self.taken_at = now;
        self.taken = if self.is_needed { Vec::new() } else { taken };
        self.is_needed
    }
}

/// A task that was alone in its queue when this thread looked.
#[derive(Default)]
struct Alone {
    taken: usize,
    looks: u32,
}

impl Alone {
    /// Whether the owner has had the time to run it.
    fn is_left(&mut self, seat: &Seat) -> bool {
        let taken = seat.queue.taken();
        if self.taken != taken {
            *self = Self { taken, looks: 0 };
        }
        self.looks += 1;
        self.looks > LOOKS_ALONE
    }
}

/// How long a future that is blocked on has been waiting to be polled.
#[derive(Default)]
struct Waiting {
    tasks: u32,
    since: Option<Instant>,
}

impl Waiting {
    /// Asked after each task. The clock, which costs as much as a short task, is not read for the first, and
    /// then less and less often.
    fn is_too_long(&mut self) -> bool {
        self.tasks += 1;
        if !matches!(self.tasks, 2 | 3 | 8) && self.tasks % 32 != 0 {
            return false;
        }
        let now = Instant::now();
        now - *self.since.get_or_insert(now) > MOST_WAITING
    }
}

/// What a worker thread does all its life.
pub(in crate::runtime) fn run_worker(handle: &Handle, index: usize) {
    let _needed = Needed;
    let shared = &handle.shared;
    let signal = Signal::current();
    let seat = &shared.seats[index];
    let _current = context::set_current(handle);
    shared.idle.came();
    let sitting = context::sit_down(seat, &signal);
    context::with_work(context::Work::RunsAndMayBlock, || {
        Worker::new(shared, seat, &signal, Role::Worker).work(|| None::<()>);
    });
    drop(sitting);
    shared.idle.left();
    shared.close_seat(seat, &signal);
}

/// Ends the process if the thread panics: without it tasks would wait for ever. Those of tasks are caught, so
/// it is one of a callback of the builder or of a waker.
struct Needed;

impl Drop for Needed {
    fn drop(&mut self) {
        if cfg!(not(loom)) && std::thread::panicking() {
            eprintln!("a worker thread of a runtime has panicked: the process is aborted");
            std::process::abort();
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.count_busy();
    }
}
