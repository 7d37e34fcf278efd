//! The scheduler: which thread runs which task.
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
//! | file | what it is for |
//! |---|---|
//! | `slot`, `queue`, `super::inject` | where tasks wait |
//! | `worker`, `steal`, `park` | what a worker does: run, look for work, sleep |
//! | `policy`, `idle`, `watchdog` | who is woken, and when |
//! | `handoff` | what happens to the slot of a worker that blocks in place |
//! | `block_on`, `current_thread` | threads that block on a future |
//!
//! Invariant: each task that was woken is in one queue, or runs, until it is complete or the runtime ends. What is
//! queued is run by some worker in the end, whatever other workers do.

mod alarm;
mod block_on;
mod current_thread;
mod handoff;
mod idle;
#[cfg(all(test, loom))]
mod loom_tests;
mod park;
mod policy;
mod queue;
mod slot;
mod steal;
mod watchdog;
mod worker;

use std::ptr::NonNull;
use std::sync::{Arc, Weak};

pub(super) use alarm::Alarm;
pub(super) use block_on::BlockingThread;
pub(super) use slot::{Counters, Slot};
pub(super) use worker::run_worker;

use self::block_on::Spin;
use self::current_thread::SlotLock;
use self::handoff::Handoff;
use self::idle::{Idle, Outcome};
use self::policy::Mode;
use self::queue::Queue;
use self::watchdog::Watchdog;
use super::blocking::Pool;
use super::builder::Config;
use super::context;
use super::driver::{Driver, Reactor};
use super::inject::Inject;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, fence};
use crate::loom::{lock, thread};
use crate::task::{self, Arena, FoundTasks, Notified, RawTask, Schedule};
use crate::time;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// What all handles and threads of a runtime share.
pub(crate) struct Shared {
    this: Weak<Shared>,
    pub(super) id: u64,
    pub(super) config: Config,
    /// One for each worker; a single one in a runtime of the current thread.
    pub(super) slots: Box<[Slot]>,
    /// Who has the only slot of a runtime of the current thread.
    slot_lock: SlotLock,
    inject: Inject,
    idle: Idle,
    watchdog: Watchdog,
    handoff: Handoff,
    spin: Spin,
    arenas: Mutex<Arenas>,
    /// Of tasks that were made without a slot.
    pub(super) outside_counters: Counters,
    pub(super) blocking: Pool,
    driver: Driver,
    is_shut_down: AtomicBool,
}

/// Where the tasks of the runtime live.
struct Arenas {
    /// All that are not closed.
    all: Vec<NonNull<Arena<Arc<Shared>>>>,
    /// Those that threads in `block_on` borrow, while nobody has them.
    spare: Vec<NonNull<Arena<Arc<Shared>>>>,
    /// Of tasks that all other threads make, under this lock.
    outside: Option<NonNull<Arena<Arc<Shared>>>>,
    /// The runtime has ended.
    is_closed: bool,
}

// SAFETY: each arena says who may use it; the fields above say who owns it.
unsafe impl Send for Arenas {}

impl Shared {
    pub(super) fn new(
        id: u64,
        config: Config,
        time: impl FnOnce(Weak<Self>) -> Option<Arc<time::Driver>>,
        io: Option<(Reactor, Alarm)>,
    ) -> Arc<Self> {
        let (reactor, alarm) = match io {
            Some((reactor, alarm)) => (Some(reactor), alarm),
            None => (None, Alarm::new()),
        };
        let cores = match cfg!(all(test, loom)) {
            true => 2,
            false => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let shared = Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            id,
            blocking: Pool::new(&config),
            slots: (0..config.worker_threads.max(1)).map(Slot::new).collect(),
            config,
            slot_lock: SlotLock::new(),
            inject: Inject::new(),
            idle: Idle::new(cores),
            watchdog: Watchdog::new(alarm),
            handoff: Handoff::new(),
            spin: Spin::default(),
            arenas: Mutex::new(Arenas {
                all: Vec::new(),
                spare: Vec::new(),
                outside: None,
                is_closed: false,
            }),
            outside_counters: Counters::default(),
            driver: Driver::new(time(Weak::clone(this)), reactor),
            is_shut_down: AtomicBool::new(false),
        });
        let mut arenas = lock(&shared.arenas);
        for slot in &shared.slots {
            let arena = Arena::new(Arc::clone(&shared));
            slot.set_arena(arena);
            arenas.all.push(arena);
        }
        let outside = Arena::new(Arc::clone(&shared));
        arenas.outside = Some(outside);
        arenas.all.push(outside);
        drop(arenas);
        shared
    }

    /// Whether tasks run in one thread only.
    #[inline]
    pub(super) fn is_current_thread(&self) -> bool {
        self.config.worker_threads == 0
    }

    #[inline]
    pub(crate) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Relaxed)
    }

    /// How many tasks wait that are at no worker.
    pub(super) fn global_queue_depth(&self) -> usize {
        self.inject.len()
    }

    pub(super) fn time(&self) -> Option<&Arc<time::Driver>> {
        self.driver.time()
    }

    #[cfg(feature = "reactor")]
    pub(crate) fn reactor(&self) -> Option<&Reactor> {
        self.driver.reactor()
    }

    // --- spawning ---

    /// Makes a task by `make`, in an arena that is this thread's meanwhile, and queues it. If the runtime has ended the
    /// task is ended at once.
    #[inline]
    pub(crate) fn spawn(&self, make: impl FnOnce(NonNull<Arena<Arc<Self>>>) -> RawTask) -> RawTask {
        let Some(slot) = self.own_slot() else {
            return self.spawn_outside(make);
        };
        let task = make(slot.arena());
        slot.counters.spawned.add(1);
        if self.is_shut_down() {
            // SAFETY: the task was just made.
            unsafe { task.begin(true) };
        } else {
            // SAFETY: as above.
            let entry = unsafe { Notified::woken(task) };
            self.push(slot, entry);
        }
        task
    }

    fn spawn_outside(&self, make: impl FnOnce(NonNull<Arena<Arc<Self>>>) -> RawTask) -> RawTask {
        let (task, is_over) = self.make(make);
        self.outside_counters.spawned.add_shared(1);
        // SAFETY: the task was just made.
        unsafe { task.begin(is_over) };
        // Queueing it has a SeqCst fence, or has found the queue closed: either the end is seen here, or who ends all
        // tasks sees this one.
        if !is_over && self.is_shut_down() {
            task.shut_down();
        }
        task
    }

    /// As [`spawn`](Self::spawn), but the task is put in no queue. Also says whether the runtime has ended: then the
    /// task has to be ended at once.
    pub(crate) fn make(
        &self,
        make: impl FnOnce(NonNull<Arena<Arc<Self>>>) -> RawTask,
    ) -> (RawTask, bool) {
        let own = match self.own_slot() {
            Some(slot) => Some(slot.arena()),
            None => context::with_blocking_thread(|thread| thread.arena(self)).flatten(),
        };
        if let Some(arena) = own {
            return (make(arena), self.is_shut_down());
        }
        let arenas = lock(&self.arenas);
        if let Some(arena) = arenas.outside {
            return (make(arena), false);
        }
        drop(arenas);
        let arena = Arena::new(self.this.upgrade().expect("it is in use"));
        let task = make(arena);
        // SAFETY: nobody else knows the arena, which goes with its only task.
        unsafe { Arena::close(arena) };
        (task, true)
    }

    pub(super) fn worker_index(&self) -> Option<usize> {
        self.own_slot().map(|slot| slot.index)
    }

    /// The slot that this thread holds.
    #[inline]
    fn own_slot(&self) -> Option<&Slot> {
        let slot = context::slot();
        // SAFETY: within the slots, so it is one of them.
        self.slots
            .as_ptr_range()
            .contains(&slot)
            .then(|| unsafe { &*slot })
    }

    // --- queueing ---

    /// Returns the number of tasks that are then queued at the slot.
    #[inline]
    fn push(&self, slot: &Slot, entry: Notified) -> usize {
        // SAFETY: this thread holds the slot.
        let waiting = unsafe { slot.queue.push(entry) };
        self.notify_local(slot, waiting);
        waiting
    }

    /// Puts the entry of a woken task in a queue.
    #[inline]
    pub(super) fn schedule_entry(&self, entry: Notified) {
        if let Some(slot) = self.own_slot() {
            self.push(slot, entry);
            return;
        }
        match self.inject.push(entry) {
            Ok(()) => self.notify_remote(),
            // The runtime has ended, and with it the task; who has just made it sees to that.
            Err(entry) => entry.give_up(),
        }
    }

    /// `waiting` tasks are queued at the slot that this thread holds: calls a worker, or has them watched.
    #[inline]
    fn notify_local(&self, slot: &Slot, waiting: usize) {
        if self.is_current_thread() {
            return;
        }
        // Where neither a task nor a hook runs, the only one that waits is the next to run.
        if waiting <= 1 && task::try_id().is_none() && !context::is_in_hook() {
            return;
        }
        if self.idle.notify_local(waiting, slot.few()) == Outcome::NotCalled {
            self.watch();
        }
    }

    /// A task was brought from outside, or left where nobody is.
    fn notify_remote(&self) {
        if self.idle.notify_remote() == Outcome::NotCalled {
            self.watchdog.arm(self);
        }
    }

    /// What is queued is to be watched. With I/O each event may queue a few tasks that are run at once: while no task
    /// has blocked lately to watch each of them closely costs more than it wins.
    fn watch(&self) {
        let may_wait = self.driver.has_sources() && self.idle.mode() == Mode::Lazy;
        if !(may_wait && self.watchdog.arm_later(self)) {
            self.watchdog.arm(self);
        }
    }

    /// No blocking work runs: a clock that stands still may be moved on now.
    pub(super) fn jobs_done(&self) {
        if self.driver.is_paused() {
            self.idle.unpark_all();
        }
    }

    // --- the end ---

    /// Lets nobody begin anything any more. The workers end all tasks on their way out.
    pub(super) fn begin_shutdown(&self) {
        // ORDERING: SeqCst, before those that sleep are woken.
        self.is_shut_down.store(true, SeqCst);
        self.inject.close().for_each(Notified::give_up);
        self.idle.unpark_all();
    }

    /// Ends what no worker ends, as there is none. Gives the watchdog's thread, if there is one.
    pub(super) fn finish_shutdown(&self, has_workers: bool) -> Option<thread::JoinHandle<()>> {
        if !has_workers {
            self.end_tasks();
            if self.is_current_thread() {
                self.close_only_slot();
            }
            self.close_arenas();
        }
        self.close_vacant_slots();
        self.watchdog.stop()
    }

    /// Closes the arenas that belong to nobody, or will when they are given back.
    fn close_arenas(&self) {
        let mut arenas = lock(&self.arenas);
        arenas.is_closed = true;
        let outside = arenas.outside.take();
        let spare = std::mem::take(&mut arenas.spare);
        drop(arenas);
        for arena in outside.into_iter().chain(spare) {
            self.close_arena(arena);
        }
    }

    /// Ends all tasks of the runtime, wherever they are.
    fn end_tasks(&self) {
        // ORDERING: SeqCst pairs with that of `Idle::notify_remote`: see `spawn_outside`.
        fence(SeqCst);
        let mut found = FoundTasks::default();
        for arena in &lock(&self.arenas).all {
            // SAFETY: it is closed after it was taken out of the list.
            unsafe { arena.as_ref() }.find(&mut found);
        }
        // In a worker what is dropped may not block the thread, as in a task.
        match self.is_current_thread() {
            true => found.shut_down(),
            false => context::with_work(context::Work::Runs, || found.shut_down()),
        }
    }

    /// Shuts down timers and I/O, unless a worker is still active: the last worker calls this when it ends. A thread that
    /// has taken over a slot may remain a worker for longer than the started threads.
    pub(super) fn end_driver_after_last_worker(&self) {
        let workers = self.idle.workers();
        if workers.awake + workers.sleeping == 0 {
            self.driver.shut_down();
        }
    }

    /// Gives up for good the slot that this thread holds.
    fn close_slot(&self, slot: &Slot) {
        while let Some(entry) = slot.queue.pop() {
            entry.give_up();
        }
        self.close_arena(slot.arena());
    }

    /// The slots of workers from this one on are not used: their threads could not be started.
    pub(super) fn close_slots_from(&self, first: usize) {
        for slot in &self.slots[first..] {
            self.close_slot(slot);
        }
    }

    /// Ends the tasks of an arena that this thread owns, and gives it up.
    fn close_arena(&self, arena: NonNull<Arena<Arc<Self>>>) {
        let mut arenas = lock(&self.arenas);
        arenas.all.retain(|&each| each != arena);
        drop(arenas);
        let owned = context::own(arena);
        // SAFETY: this thread owns the arena.
        unsafe { Arena::shut_down(arena) };
        drop(owned);
        // SAFETY: as above, and it is in no list any more.
        unsafe { Arena::close(arena) };
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        debug_assert!(
            self.inject.is_empty(),
            "a runtime is emptied before it goes"
        );
    }
}

impl time::Waiter for Shared {
    fn timer_is_earlier(&self) {
        self.tell_driver();
    }
}

impl Schedule for Arc<Shared> {
    #[inline]
    fn schedule(&self, entry: Notified) {
        match self.own_slot() {
            // Who holds a slot keeps the runtime.
            Some(slot) => {
                self.push(slot, entry);
            }
            // This reference is the arena's: it may go with the task.
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
    fn owns(arena: NonNull<Arena<Self>>) -> bool {
        context::owns_arena(arena.as_ptr().cast_const().cast())
    }
}
