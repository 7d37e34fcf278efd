//! The scheduler: decides which thread runs which task.
//!
//! ```text
//!   threads in block_on, other threads          workers
//!        │                                ┌────────┬────────┐
//!        └──────► inject queue ──────────►│ slot 0 │ slot 1 │ …
//!                                         │  queue ◄──────► │  steal
//!                                         │  arena  │        │
//!                                         └────────┴────────┘
//! ```
//!
//! | file | purpose |
//! |---|---|
//! | `slot`, `queue`, `super::inject` | where tasks are queued |
//! | `worker`, `steal`, `park` | what a worker does: run tasks, search for tasks, sleep |
//! | `policy`, `idle`, `watchdog`, `blockers` | which worker is woken, and when; see [sleep.md](./sleep.md) |
//! | `handoff` | the slot of a worker whose task blocks in place |
//! | `block_on`, `current_thread` | threads that block on a future |
//! | `observe` | the hooks and measurements of the builder's options |
//! | `arenas`, `shutdown` | where tasks are stored; the end of a runtime |
//! | `context`, `threads` | the thread-local state; starting threads and blocking jobs |
//! | `alarm`, `inspect`, `explore` | the timer of the watchdog; what dumps read; the order of tasks in tests |
//!
//! Invariant: each woken task is in exactly one queue or running, until it completes or the runtime shuts down. A queued
//! task is run by some worker eventually, even if other workers block.

mod alarm;
mod arenas;
mod block_on;
mod blockers;
pub(in crate::runtime) mod context;
mod current_thread;
#[cfg(feature = "test-util")]
mod explore;
mod handoff;
mod idle;
#[cfg(feature = "diagnostics")]
mod inspect;
#[cfg(all(test, loom))]
mod loom_tests;
mod observe;
mod park;
mod policy;
mod queue;
mod shutdown;
mod slot;
mod steal;
mod threads;
mod watchdog;
mod worker;

use std::ptr::NonNull;
use std::sync::{Arc, Weak};
use std::thread::ThreadId;
use std::time::Instant;

pub(super) use alarm::Alarm;
pub(super) use block_on::BlockingThread;
pub(super) use slot::{Counters, Current, Slot};

use self::arenas::Arenas;
use self::block_on::Spin;
use self::blockers::Blockers;
use self::current_thread::OnlySlotLock;
use self::handoff::Handoff;
use self::idle::{Idle, Outcome};
use self::observe::IS_SHUT_DOWN;
use self::policy::Duty;
use self::watchdog::Watchdog;
use super::blocking::Pool;
use super::config::Config;
use super::counter::Counter;
use super::driver::{Driver, Reactor};
use super::id::Id;
use super::inject::Inject;
use super::random::{RngSeed, Seeds};
#[cfg(feature = "diagnostics")]
use super::stall;
use crate::context::{SeedGuard, seed_random};
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicU8;
use crate::task::arena::{Arena, Schedule};
#[cfg(feature = "diagnostics")]
use crate::task::clock;
use crate::task::coop;
use crate::task::id::try_id;
use crate::task::raw::{Notified, RawTask};
use crate::time;
use std::sync::atomic::Ordering::Relaxed;

/// The state of a runtime, which its handles and threads share.
pub(crate) struct Shared {
    this: Weak<Shared>,
    pub(super) id: Id,
    pub(super) config: Config,
    /// One per worker; a single one in a current-thread runtime.
    pub(super) slots: Box<[Slot]>,
    /// The lock of the slot of a current-thread runtime.
    only_slot: OnlySlotLock,
    inject: Inject,
    /// The seeds of its threads' random numbers, if the builder has a seed.
    seeds: Option<Seeds>,
    idle: Idle,
    watchdog: Watchdog,
    blockers: Blockers,
    handoff: Handoff,
    spin: Spin,
    arenas: Mutex<Arenas>,
    /// The counters of threads without a slot.
    pub(super) outside_counters: Counters,
    /// The number of times that a task has spent its budget.
    pub(super) forced_yields: Counter,
    pub(super) blocking: Pool,
    driver: Driver,
    #[cfg(feature = "diagnostics")]
    watches_stalls: bool,
    /// See [`observe`].
    flags: AtomicU8,
}

impl Shared {
    pub(super) fn new(
        id: Id,
        config: Config,
        time: impl FnOnce(Weak<Self>) -> Option<Arc<time::Driver>>,
        io: Option<(Arc<Reactor>, Alarm)>,
    ) -> Arc<Self> {
        let (reactor, alarm) = match io {
            Some((reactor, alarm)) => (Some(reactor), alarm),
            None => (None, Alarm::new()),
        };
        let cores = match cfg!(all(test, loom)) {
            true => 2,
            false => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let flags = observe::flags(&config);
        coop::COUNT_FORCED_YIELD.get_or_init(|| context::count_forced_yield);
        let shared = Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            id,
            blocking: Pool::new(&config),
            slots: (0..config.worker_threads.max(1))
                .map(|index| Slot::new(index, &config))
                .collect(),
            seeds: config.rng_seed.as_ref().map(Seeds::new),
            #[cfg(feature = "diagnostics")]
            watches_stalls: stall::register(
                id.0,
                this,
                &config.stall,
                config.worker_threads.max(1),
            ),
            config,
            only_slot: OnlySlotLock::new(),
            inject: Inject::new(),
            idle: Idle::new(cores),
            watchdog: Watchdog::new(alarm),
            blockers: Blockers::new(),
            handoff: Handoff::new(),
            spin: Spin::default(),
            arenas: Mutex::default(),
            outside_counters: Counters::default(),
            forced_yields: Counter::default(),
            driver: Driver::new(time(Weak::clone(this)), reactor),
            flags: AtomicU8::new(flags),
        });
        shared.open_arenas();
        shared
    }

    #[inline]
    pub(super) fn is_current_thread(&self) -> bool {
        self.config.worker_threads == 0
    }

    #[inline]
    pub(crate) fn is_shut_down(&self) -> bool {
        self.flags() & IS_SHUT_DOWN != 0
    }

    #[inline]
    fn flags(&self) -> u8 {
        self.flags.load(Relaxed)
    }

    pub(super) fn global_queue_depth(&self) -> usize {
        self.inject.len()
    }

    pub(super) fn time(&self) -> Option<&Arc<time::Driver>> {
        self.driver.time()
    }

    #[cfg(feature = "reactor")]
    pub(super) fn reactor(&self) -> Option<&Arc<Reactor>> {
        self.driver.reactor()
    }

    // --- random numbers ---

    /// Seeds the random numbers of a thread that blocks on a future, until the guard is dropped.
    pub(super) fn seed_block_on(&self) -> Option<SeedGuard> {
        self.seeds.as_ref().map(|seeds| self.seed(&seeds.next()))
    }

    /// Seeds the random numbers of a worker thread, until the guard is dropped.
    fn seed_worker(&self, slot: &Slot) -> Option<SeedGuard> {
        let seeds = self.seeds.as_ref()?;
        Some(self.seed(&seeds.of_worker(slot.index)))
    }

    fn seed(&self, seed: &RngSeed) -> SeedGuard {
        let number = seed.number();
        seed_random(
            number,
            #[cfg(feature = "test-util")]
            match self.config.exploration {
                Some(exploration) if exploration.changes_order => number.max(1),
                _ => 0,
            },
        )
    }

    // --- spawning ---

    /// Queues the task that `make` creates in the given arena, which this thread owns during the call. If the runtime has
    /// shut down, cancels the task instead.
    #[inline]
    pub(crate) fn spawn(&self, make: impl FnOnce(NonNull<Arena<Arc<Self>>>) -> RawTask) -> RawTask {
        let Some(slot) = self.own_slot() else {
            return self.spawn_outside(make);
        };
        let task = make(slot.arena());
        slot.counters.spawned.add(1);
        if self.flags() != 0 {
            self.spawn_observed(task);
        } else {
            // SAFETY: the task is new, and this is the only entry that is made of its first reference.
            let entry = unsafe { Notified::woken(task) };
            self.push(slot, entry);
        }
        task
    }

    /// Queues a new task if the runtime has hooks or has shut down.
    #[cold]
    fn spawn_observed(&self, task: RawTask) {
        let _alive = self.call_spawn_hook(task);
        // SAFETY: the task is new, and is in no queue.
        unsafe { task.begin(self.is_shut_down()) };
    }

    fn spawn_outside(&self, make: impl FnOnce(NonNull<Arena<Arc<Self>>>) -> RawTask) -> RawTask {
        #[cfg(all(feature = "diagnostics", not(all(test, loom))))]
        if !stall::is_armed() && self.idle.workers().awake == 0 {
            // Neither the monitor nor a worker keeps the clock up to date.
            clock::refresh(Instant::now());
        }
        let (task, is_shut_down) = self.make(make);
        self.outside_counters.spawned.add_shared(1);
        let _alive = self.call_spawn_hook(task);
        // SAFETY: the task is new, and is in no queue.
        unsafe { task.begin(is_shut_down) };
        // Queueing the task has passed the SeqCst fence of `Idle::notify_remote`, or has found the queue closed: either
        // this load sees the shutdown, or `end_tasks` sees this task.
        if !is_shut_down && self.is_shut_down() {
            task.shut_down();
        }
        task
    }

    pub(super) fn worker_index(&self) -> Option<usize> {
        self.own_slot().map(|slot| slot.index)
    }

    /// The slot that this thread holds.
    #[inline]
    fn own_slot(&self) -> Option<&Slot> {
        let slot = context::slot();
        self.slots
            .as_ptr_range()
            .contains(&slot)
            // SAFETY: `context::hold` sets the pointer to a slot only, and one within `slots` lives as long as `self`.
            .then(|| unsafe { &*slot })
    }

    // --- queueing ---

    /// Queues a task at the slot, which this thread holds. Returns the number of tasks that are queued there afterwards.
    #[inline]
    fn push(&self, slot: &Slot, entry: Notified) -> usize {
        // SAFETY: this thread holds the slot, so it is the owner of the queue: see `slot`.
        let waiting = unsafe { slot.queue.push(entry) };
        self.notify_local(slot, waiting);
        waiting
    }

    /// Queues a woken task: at this thread's slot, or in the inject queue.
    #[inline]
    pub(super) fn schedule_entry(&self, entry: Notified) {
        if let Some(slot) = self.own_slot() {
            self.push(slot, entry);
            return;
        }
        match self.inject.push(entry) {
            Ok(()) => {
                #[cfg(feature = "diagnostics")]
                self.arm_stall_watch();
                self.notify_remote();
            }
            // The runtime has shut down. `end_tasks` cancels the task, or `spawn_outside` if it is new.
            Err(entry) => entry.give_up(),
        }
    }

    /// Wakes a worker for the `waiting` tasks that are queued at this thread's slot if one is needed, or has the
    /// watchdog check the queues.
    #[inline]
    fn notify_local(&self, slot: &Slot, waiting: usize) {
        if self.is_current_thread() {
            return;
        }
        // Outside of tasks and hooks, this worker runs a single queued task next.
        if waiting <= 1 && try_id().is_none() && !context::is_in_hook() {
            return;
        }
        if self.idle.notify_local(waiting, slot.wake_threshold()) == Outcome::Unattended {
            self.watch();
        }
    }

    /// Wakes a worker for a task in the inject queue or at a vacant slot if one is needed, or has the watchdog check
    /// the queues.
    fn notify_remote(&self) {
        if self.idle.notify_remote() == Outcome::Unattended {
            self.watch();
        }
    }

    /// Makes the watchdog check the queues.
    fn watch(&self) {
        self.watchdog.arm(self, Duty::Queues);
    }

    // --- counting ---

    /// Counts tasks that were queued elsewhere and that the holder of the slot has pushed to its queue.
    fn count_moved(slot: &Slot, tasks: usize) {
        slot.counters.moved_here.add(tasks as u64);
    }

    /// The thread of a worker, once it has begun.
    pub(super) fn thread_of(&self, slot: &Slot) -> Option<ThreadId> {
        match self.is_current_thread() {
            true => self.only_slot.thread(),
            false => slot.thread(),
        }
    }

    /// The number of tasks that threads without a slot have queued.
    pub(super) fn remote_schedules(&self) -> u64 {
        let fetched: u64 = self
            .slots
            .iter()
            .map(|slot| slot.counters.fetched.get())
            .sum();
        fetched + self.inject.len() as u64
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        #[cfg(feature = "diagnostics")]
        if self.watches_stalls {
            stall::forget(self.id.0);
        }
        debug_assert!(
            self.inject.is_empty(),
            "a runtime is emptied before it is dropped"
        );
    }
}

impl time::Waiter for Shared {
    fn timer_is_earlier(&self) {
        self.notify_driver();
    }
}

impl Schedule for Arc<Shared> {
    #[inline]
    fn schedule(&self, entry: Notified) {
        match self.own_slot() {
            // The thread that holds a slot keeps the runtime alive.
            Some(slot) => {
                self.push(slot, entry);
            }
            // `self` is the arena's reference, which may be dropped with the task as soon as another thread can run it.
            None => Arc::clone(self).schedule_entry(entry),
        }
    }

    #[inline]
    fn completed(&self) {
        match self.own_slot() {
            Some(slot) => slot.counters.completed.add(1),
            None => self.outside_counters.completed.add_shared(1),
        }
    }

    #[inline]
    fn ended(&self, task: RawTask) {
        self.call_terminate_hook(task);
    }

    fn panicked(&self) {
        self.task_panicked();
    }

    #[inline]
    fn owns(arena: NonNull<Arena<Self>>) -> bool {
        context::owns_arena(arena.as_ptr().cast_const().cast())
    }
}
