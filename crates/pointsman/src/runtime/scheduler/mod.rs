//! The scheduler: which thread runs which task.
//!
//! A runtime has seats. Each worker thread holds one for life; a thread that blocks on a future takes a free
//! one for as long as it has tasks to run or to wait for, and runs what it has queued itself. So what the
//! future spawns and wakes stays in one thread, and nobody has to be woken. A runtime of one thread has a single
//! seat, for whoever blocks on a future, who is the worker.
//!
//! A seat has a queue, from which everyone may take ([`queue`]), and a home for tasks. Tasks from other
//! threads come over [`inject`]. Who sleeps and who is woken: [`idle`].
//!
//! Rows of the lab that resist, level with the best peer (0.9 to 1.25 of its time from run to run), because no
//! scheduler has much of a part in them: `sync_mpsc/uncontented` is a single poll, all of it the foreign channel; in
//! `sync_notify` with a foreign `Notify` the cost is the cache line of its word, 110 ns for each time that it
//! goes to the main thread and back. Fewer looks by who searches, and a spin before the sleep, changed nothing
//! there; with a `Notify` of one's own it is the layout of that which counts (see `sync::notify`).
//!
//! Invariant: what belongs to a seat's owner is touched by the thread that holds the seat, and by nobody
//! else: a worker thread, or whoever has taken the seat's bit out of `free`.

mod aside;
mod guest;
mod idle;
mod inject;
#[cfg(all(test, loom))]
mod models;
mod queue;
mod worker;

use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};
use std::time::Duration;

pub(super) use guest::Guest;
pub(super) use worker::run_worker;

use self::aside::Aside;
use self::idle::Idle;
use self::inject::Inject;
pub(super) use self::queue::Queue;
use super::blocking::Pool;
use super::builder::Config;
use super::context;
use super::metrics::Counter;
use super::signal::Signal;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};
use crate::task::{Entry, Home, RawTask, Schedule};
use crate::time;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

/// Seats for threads that block on futures at the same time. More of them have none, and leave their tasks to
/// the others.
const GUESTS: usize = if cfg!(loom) { 1 } else { 16 };

/// A place to work at.
pub(crate) struct Seat {
    pub(super) index: usize,
    queue: Queue,
    /// Whether its thread runs what blocks, and does not use the seat. Who has the lock then is the owner.
    is_aside: Mutex<bool>,
    /// Set when the runtime is made.
    home: Cell<NonNull<Home<Arc<Shared>>>>,
    pub(super) counters: Counters,
}

/// Written by whoever holds the seat.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) spawned: Counter,
    pub(super) completed: Counter,
    pub(super) parked: Counter,
    pub(super) unparked: Counter,
    /// Nanoseconds.
    pub(super) busy: Counter,
}

// SAFETY: the home is set before others see the seat, and its own rules hold from then on.
unsafe impl Send for Seat {}
// SAFETY: as above.
unsafe impl Sync for Seat {}

impl Seat {
    #[inline]
    pub(super) fn home(&self) -> NonNull<Home<Arc<Shared>>> {
        self.home.get()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }
}

/// What all handles and threads of a runtime share.
pub(crate) struct Shared {
    this: Weak<Shared>,
    pub(super) id: u64,
    pub(super) config: Config,
    /// Those of the workers first.
    pub(super) seats: Box<[Seat]>,
    /// A bit for each seat behind those of the workers, set if it can be taken.
    free: AtomicU64,
    /// Seats that were ever held.
    used: AtomicUsize,
    /// Whoever blocks on a future and has no seat.
    standing: Mutex<VecDeque<Arc<Signal>>>,
    standing_count: AtomicUsize,
    inject: Inject,
    idle: Idle,
    aside: Aside,
    /// The home of tasks that threads without a seat make.
    outside: Mutex<Outside>,
    pub(super) outside_counters: Counters,
    pub(super) blocking: Pool,
    pub(super) driver: Option<time::Driver>,
    is_shut_down: AtomicBool,
}

/// `None` when the runtime has ended.
struct Outside(Option<NonNull<Home<Arc<Shared>>>>);

// SAFETY: whoever has the lock owns the home.
unsafe impl Send for Outside {}

impl Shared {
    pub(super) fn new(id: u64, config: Config, driver: Option<time::Driver>) -> Arc<Self> {
        let workers = config.worker_threads;
        // One that blocks on a future is the only worker of a runtime without any.
        let guests = if workers == 0 { 1 } else { GUESTS };
        let seats = (0..workers + guests)
            .map(|index| Seat {
                index,
                queue: Queue::new(),
                is_aside: Mutex::new(false),
                home: Cell::new(NonNull::dangling()),
                counters: Counters::default(),
            })
            .collect();
        let cores = match cfg!(loom) {
            true => 2,
            false => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let shared = Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            id,
            blocking: Pool::new(&config),
            config,
            seats,
            free: AtomicU64::new(0),
            used: AtomicUsize::new(workers),
            standing: Mutex::new(VecDeque::new()),
            standing_count: AtomicUsize::new(0),
            inject: Inject::new(),
            idle: Idle::new(cores),
            aside: Aside::new(),
            outside: Mutex::new(Outside(None)),
            outside_counters: Counters::default(),
            driver,
            is_shut_down: AtomicBool::new(false),
        });
        for seat in &shared.seats {
            seat.home.set(Home::new(Arc::clone(&shared)));
        }
        lock(&shared.outside).0 = Some(Home::new(Arc::clone(&shared)));
        // ORDERING: Release pairs with the acquire of whoever takes a seat: the homes are there.
        shared.free.store((1 << guests) - 1, Release);
        shared
    }

    /// Whether tasks run in one thread only.
    #[inline]
    pub(super) fn is_current_thread(&self) -> bool {
        self.config.worker_threads == 0
    }

    #[inline]
    pub(super) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Relaxed)
    }

    /// How many tasks wait that are at no worker.
    pub(super) fn global_queue_depth(&self) -> usize {
        let guests = self.used_seats().get(self.config.worker_threads.max(1)..);
        let queued = guests.unwrap_or_default().iter().map(Seat::queued);
        self.inject.len() + queued.sum::<usize>()
    }

    /// The seats that may have something in them.
    #[inline]
    fn used_seats(&self) -> &[Seat] {
        &self.seats[..self.used.load(Relaxed)]
    }

    /// How many tasks each of these seats has given away so far: where that does not grow, a queue stands still.
    fn taken(&self) -> Vec<usize> {
        let seats = self.used_seats().iter();
        seats.map(|seat| seat.queue.taken()).collect()
    }

    // --- seats ---

    /// Takes a free seat.
    fn take_seat(&self) -> Option<&Seat> {
        let mut free = self.free.load(Relaxed);
        loop {
            if free == 0 {
                return None;
            }
            let taken = free & free.wrapping_neg();
            // ORDERING: Acquire pairs with the release of whoever held it before.
            match self
                .free
                .compare_exchange_weak(free, free & !taken, SeqCst, Relaxed)
            {
                Ok(_) => {
                    let index = self.config.worker_threads + taken.trailing_zeros() as usize;
                    if self.used.load(Relaxed) <= index {
                        self.used.fetch_max(index + 1, Relaxed);
                    }
                    return Some(&self.seats[index]);
                }
                Err(seen) => free = seen,
            }
        }
    }

    /// The seats of workers from this one on are not used: their threads could not be started.
    pub(super) fn close_seats_from(&self, first: usize) {
        for seat in &self.seats[first..self.config.worker_threads] {
            self.close_seat(seat, &Signal::current());
        }
    }

    fn leave_seat(&self, seat: &Seat) {
        // ORDERING: Release pairs with the acquire of whoever takes it next. SeqCst pairs with whoever stands
        // and looks for a seat once more: it sees the seat, or is seen standing here.
        let guest = seat.index - self.config.worker_threads;
        self.free.fetch_or(1 << guest, SeqCst);
        self.offer_seat();
        // Who has ended the runtime may not have found the seat free.
        if self.is_shut_down() {
            self.finish_shutdown();
        }
    }

    /// Wakes one that stands, if there is a seat for it.
    fn offer_seat(&self) {
        // ORDERING: SeqCst: see `leave_seat`.
        fence(SeqCst);
        if self.standing_count.load(Relaxed) == 0 || self.free.load(Relaxed) == 0 {
            return;
        }
        let mut standing = lock(&self.standing);
        if let Some(next) = standing.pop_front() {
            self.standing_count.fetch_sub(1, Relaxed);
            next.unpark();
        }
    }

    // --- spawning ---

    /// Makes a task by `make`, in a home that is this thread's meanwhile, and puts it in a queue. If the runtime
    /// has ended the task is ended at once.
    #[inline]
    pub(crate) fn spawn(&self, make: impl FnOnce(NonNull<Home<Arc<Self>>>) -> RawTask) -> RawTask {
        let Some(seat) = self.own_seat() else {
            return self.spawn_outside(make);
        };
        let home = seat.home();
        let task = make(home);
        seat.counters.spawned.add(1);
        // SAFETY: this thread holds the seat.
        if unsafe { home.as_ref().is_shut_down() } {
            // SAFETY: the task was just made.
            unsafe { task.begin(true) };
        } else {
            // SAFETY: as above.
            self.push(seat, unsafe { Entry::woken(task) });
        }
        task
    }

    fn spawn_outside(&self, make: impl FnOnce(NonNull<Home<Arc<Self>>>) -> RawTask) -> RawTask {
        let (task, is_over) = self.make_outside(make);
        self.outside_counters.spawned.add_shared(1);
        // SAFETY: the task was just made.
        unsafe { task.begin(is_over) };
        task
    }

    /// As [`spawn`](Self::spawn), for what runs elsewhere: it is put in no queue. Also says whether the
    /// runtime has ended: then the task has to be ended at once.
    pub(crate) fn make(
        &self,
        make: impl FnOnce(NonNull<Home<Arc<Self>>>) -> RawTask,
    ) -> (RawTask, bool) {
        match self.own_seat() {
            // SAFETY: this thread holds the seat.
            Some(seat) => (make(seat.home()), unsafe {
                seat.home().as_ref().is_shut_down()
            }),
            None => self.make_outside(make),
        }
    }

    fn make_outside(
        &self,
        make: impl FnOnce(NonNull<Home<Arc<Self>>>) -> RawTask,
    ) -> (RawTask, bool) {
        let outside = lock(&self.outside);
        if let Some(home) = outside.0 {
            return (make(home), false);
        }
        drop(outside);
        let this = self.this.upgrade().expect("it is in use");
        let home = Home::new(this);
        let task = make(home);
        // SAFETY: nobody else knows the home, which goes with its only task.
        unsafe { Home::close(home) };
        (task, true)
    }

    pub(super) fn worker_index(&self) -> Option<usize> {
        let index = self.own_seat()?.index;
        (index < self.config.worker_threads.max(1)).then_some(index)
    }

    #[inline]
    fn own_seat(&self) -> Option<&Seat> {
        let seat = context::seat();
        let range = self.seats.as_ptr_range();
        if range.contains(&seat) {
            // SAFETY: within the seats, so it is one of them.
            return Some(unsafe { &*seat });
        }
        context::with_guest(self, Guest::sit)
    }

    #[inline]
    fn push(&self, seat: &Seat, entry: Entry) {
        // SAFETY: this thread holds the seat.
        let waiting = unsafe { seat.queue.push(entry) };
        self.idle.queued(waiting);
    }

    /// Puts the entry of a woken task in a queue.
    #[inline]
    pub(super) fn schedule_entry(&self, entry: Entry) {
        if let Some(seat) = self.own_seat() {
            self.push(seat, entry);
            return;
        }
        match self.inject.push(entry) {
            Ok(()) => self.idle.brought(),
            // The runtime has ended, and with it the task.
            Err(entry) => entry.give_up(),
        }
    }

    /// The driver has a timer that fires before all others.
    pub(super) fn timer_is_earlier(&self, after: Duration) {
        self.idle.timer_is_earlier(after < idle::TICK);
    }

    /// No blocking work runs: a clock that stands still may be moved on now.
    pub(super) fn jobs_done(&self) {
        if self.driver.as_ref().is_some_and(time::Driver::is_paused) {
            self.idle.unpark_all();
        }
    }

    // --- the end ---

    /// Lets nobody begin anything any more.
    pub(super) fn begin_shutdown(&self) {
        // ORDERING: SeqCst, before those that sleep are woken.
        self.is_shut_down.store(true, SeqCst);
        self.inject.close().for_each(Entry::give_up);
        self.idle.unpark_all();
    }

    /// Ends the tasks of a seat that this thread holds, and gives the seat up for good.
    fn close_seat(&self, seat: &Seat, signal: &Signal) {
        let home = seat.home();
        // What is dropped here may spawn where this thread blocks on a future: not from a seat that would be
        // taken within this one, and left after it.
        let _standing = context::set_no_guest();
        let sitting = context::sit_down(seat, signal);
        // SAFETY: this thread holds the seat.
        unsafe { Home::shut_down(home) };
        while let Some(entry) = seat.queue.pop() {
            entry.give_up();
        }
        drop(sitting);
        // SAFETY: this thread has held the seat, which nobody takes any more.
        unsafe { Home::close(home) };
    }

    /// Ends the tasks of all seats that nobody uses, and of those outside.
    pub(super) fn finish_shutdown(&self) {
        // ORDERING: SeqCst pairs with `leave_seat`: who leaves sees the end, or the seat is seen here.
        fence(SeqCst);
        for seat in &self.seats[..self.config.worker_threads] {
            let is_aside = lock(&seat.is_aside);
            if *is_aside {
                // SAFETY: the lock makes this thread the owner.
                unsafe { Home::shut_down(seat.home()) };
            }
        }
        while let Some(seat) = self.take_seat() {
            self.close_seat(seat, &Signal::current());
        }
        let home = lock(&self.outside).0.take();
        if let Some(home) = home {
            // SAFETY: it was taken out, so it is this thread's. What others give back comes over its stack.
            unsafe {
                Home::shut_down(home);
                Home::close(home);
            }
        }
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

impl Schedule for Arc<Shared> {
    #[inline]
    fn schedule(&self, entry: Entry) {
        self.schedule_entry(entry);
    }

    #[inline]
    fn completed(&self) {
        match self.own_seat() {
            Some(seat) => seat.counters.completed.add(1),
            None => self.outside_counters.completed.add_shared(1),
        }
    }

    #[inline]
    fn owns(home: NonNull<Home<Self>>) -> bool {
        context::owns_home(home.as_ptr().cast_const().cast())
    }
}
