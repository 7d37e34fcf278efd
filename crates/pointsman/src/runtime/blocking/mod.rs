//! Threads for work that blocks.
//!
//! A burst of short jobs should not start a thread for each, and a job must not wait for one that blocks. So
//! one thread takes jobs off the queue, and as long as some wait there, another watches: when the queue has
//! got nowhere for a tenth of a millisecond, it takes a job itself, and each time twice as many threads as the
//! time before are added.
//!
//! Invariants:
//! - While jobs wait, a thread is on its way to them: one that looks for work, or one that watches.
//! - A job that was taken from the queue is run; one that was not when the runtime ends is cancelled.
//!
//! Cost: a lock to put a job in, an exchange to take it out, a wake-up only if nobody looks for work.

#[cfg(all(test, loom))]
mod models;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::builder::Config;
use super::handle::Handle;
use super::scheduler::Queue;
use crate::loom::sync::atomic::{AtomicUsize, fence};
use crate::loom::sync::{Condvar, Mutex, MutexGuard};
use crate::loom::{Parker, lock, thread};
use crate::task::Entry;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

/// How long a queue may get nowhere.
const PATIENCE: Duration = match cfg!(loom) {
    true => Duration::ZERO,
    false => Duration::from_micros(100),
};
/// Looks without a job that waits, after which nobody need watch.
const LINGER: u32 = if cfg!(loom) { 1 } else { 20 };
/// How often a thread looks for work before it sleeps: about 30 µs.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 900 };

pub(crate) struct Pool {
    /// Those who put in have the lock, and are the owner of the queue.
    queue: Queue,
    /// Threads that look for a job. More than one only for a moment.
    searching: AtomicUsize,
    /// Whether somebody watches.
    watching: AtomicUsize,
    /// Jobs that run, as far as they have begun.
    running: AtomicUsize,
    threads: AtomicUsize,
    idle: AtomicUsize,
    state: Mutex<State>,
    /// A thread has ended.
    ended: Condvar,
    most_threads: usize,
    keep_alive: Duration,
}

struct State {
    is_shut_down: bool,
    /// Threads that sleep, the last at the end.
    sleepers: VecDeque<Arc<Sleeper>>,
    handles: Vec<(usize, thread::JoinHandle<()>)>,
    threads: usize,
    next_thread: usize,
}

struct Sleeper {
    parker: Parker,
    /// What it was woken for: 0 if it was not.
    order: AtomicUsize,
}

const SEARCH_ORDER: usize = 1;
const WATCH_ORDER: usize = 2;

/// What a thread does first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Search,
    Watch,
}

impl Pool {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            queue: Queue::new(),
            searching: AtomicUsize::new(0),
            watching: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
            idle: AtomicUsize::new(0),
            state: Mutex::new(State {
                is_shut_down: false,
                sleepers: VecDeque::new(),
                handles: Vec::new(),
                threads: 0,
                next_thread: 0,
            }),
            ended: Condvar::new(),
            most_threads: config.max_blocking_threads,
            keep_alive: config.thread_keep_alive,
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads.load(Relaxed)
    }

    pub(super) fn idle_threads(&self) -> usize {
        self.idle.load(Relaxed)
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether no job waits or runs.
    pub(super) fn is_idle(&self) -> bool {
        if !self.queue.is_empty() {
            return false;
        }
        // ORDERING: Acquire pairs with the release of whoever took the last job: it is counted as running.
        fence(Acquire);
        self.running.load(Relaxed) == 0
    }

    /// Puts a job in. An error if no thread at all can be had.
    pub(super) fn submit(&self, handle: &Handle, entry: Entry) -> Option<std::io::Error> {
        let mut state = lock(&self.state);
        if state.is_shut_down {
            drop(state);
            cancel(entry);
            return None;
        }
        // SAFETY: the lock makes this thread the owner.
        unsafe { self.queue.push(entry) };
        // ORDERING: SeqCst pairs with a thread that goes to sleep, or ends its search: it sees the job, or is
        // seen here.
        fence(SeqCst);
        if self.searching.load(SeqCst) > 0 {
            return None;
        }
        if self.watching.load(SeqCst) > 0 && self.running.load(SeqCst) > 0 {
            return None;
        }
        self.send(&mut state, handle, Order::Search)
    }

    /// Wakes or starts a thread. An error only if there is no thread at all.
    fn send(&self, state: &mut State, handle: &Handle, order: Order) -> Option<std::io::Error> {
        let count = match order {
            Order::Search => &self.searching,
            Order::Watch => &self.watching,
        };
        // The latest first: its memory is warm, and the others may end.
        if let Some(sleeper) = state.sleepers.pop_back() {
            self.idle.fetch_sub(1, Relaxed);
            // ORDERING: SeqCst, as all changes of these counts: see `submit`.
            count.fetch_add(1, SeqCst);
            let order = match order {
                Order::Search => SEARCH_ORDER,
                Order::Watch => WATCH_ORDER,
            };
            // ORDERING: SeqCst pairs with the sleeper's load.
            sleeper.order.store(order, SeqCst);
            sleeper.parker.unpark();
            return None;
        }
        if state.threads >= self.most_threads {
            return None;
        }
        let index = state.next_thread;
        let expected = Expected::new(count);
        // Before its first job could ask.
        self.threads.fetch_add(1, Relaxed);
        match super::start_thread(handle, move |handle| {
            handle.shared.blocking.run(handle, index, order)
        }) {
            Ok(thread) => {
                mem::forget(expected);
                state.next_thread += 1;
                state.threads += 1;
                state.handles.push((index, thread));
                None
            }
            Err(error) => {
                self.threads.fetch_sub(1, Relaxed);
                (state.threads == 0).then_some(error)
            }
        }
    }

    // --- a thread ---

    fn run(&self, handle: &Handle, index: usize, first: Order) {
        let mut order = first;
        loop {
            match order {
                Order::Search => self.search(handle),
                Order::Watch => self.watch(handle),
            }
            match self.sleep(index) {
                Some(next) => order = next,
                None => return,
            }
        }
    }

    /// This thread ends. It has looked in the same lock: what comes later finds one thread less.
    fn end(&self, mut state: MutexGuard<'_, State>, index: usize) {
        state.threads -= 1;
        self.threads.fetch_sub(1, Relaxed);
        if !state.is_shut_down {
            // Nobody waits for it.
            state.handles.retain(|&(each, _)| each != index);
        }
        self.ended.notify_all();
    }

    /// Runs jobs as long as some come. The thread is counted as searching.
    fn search(&self, handle: &Handle) {
        loop {
            let Some(entry) = self.find(handle) else {
                // ORDERING: SeqCst pairs with `submit`.
                self.searching.fetch_sub(1, SeqCst);
                fence(SeqCst);
                if self.queue.is_empty() || self.searching.load(SeqCst) > 0 {
                    return;
                }
                self.searching.fetch_add(1, SeqCst);
                continue;
            };
            // ORDERING: SeqCst, with the fence, pairs with `submit`: who has seen this thread search has put in
            // what is seen from here on, and somebody watches it.
            self.searching.fetch_sub(1, SeqCst);
            fence(SeqCst);
            self.run_all(handle, entry);
            // ORDERING: SeqCst pairs with `submit`: whoever sees nobody running sees somebody searching.
            self.searching.fetch_add(1, SeqCst);
            self.rest(handle);
        }
    }

    /// This thread runs no job any more.
    fn rest(&self, handle: &Handle) {
        if self.running.fetch_sub(1, SeqCst) == 1 {
            handle.shared.jobs_done();
        }
    }

    /// Runs this job and all that wait.
    fn run_all(&self, handle: &Handle, first: Entry) {
        let mut next = Some(first);
        while let Some(entry) = next {
            if !self.queue.is_empty() && self.watching.load(Relaxed) == 0 {
                self.see_that_somebody_watches(handle);
            }
            let again = entry.run();
            debug_assert!(again.is_none(), "a job runs once");
            next = self.queue.pop();
        }
    }

    fn see_that_somebody_watches(&self, handle: &Handle) {
        let mut state = lock(&self.state);
        // ORDERING: SeqCst pairs with the end of `watch`.
        if self.watching.load(SeqCst) == 0 && !state.is_shut_down {
            self.send(&mut state, handle, Order::Watch);
        }
    }

    /// Takes a job, as soon as there is one. The thread is counted as running then.
    fn find(&self, handle: &Handle) -> Option<Entry> {
        for _ in 0..LOOKS {
            if !self.queue.is_empty() {
                // Before the job is taken, so that it is seen in one place or the other.
                // ORDERING: SeqCst pairs with `submit`.
                self.running.fetch_add(1, SeqCst);
                if let Some(entry) = self.queue.pop() {
                    return Some(entry);
                }
                self.rest(handle);
            }
            // Not loom's, which would let another thread run: that is not waited for here.
            std::hint::spin_loop();
        }
        None
    }

    /// Sees that the queue gets on. The thread is counted as watching.
    fn watch(&self, handle: &Handle) {
        let pause = Parker::current();
        let mut taken = self.queue.taken();
        let mut quiet = 0;
        let mut more = 1;
        loop {
            pause.park(Some(PATIENCE));
            let now = self.queue.taken();
            if self.queue.is_empty() {
                quiet += 1;
                more = 1;
                if quiet < LINGER && !lock(&self.state).is_shut_down {
                    continue;
                }
                // ORDERING: SeqCst pairs with `submit`: it sees that nobody watches, or its job is seen.
                self.watching.fetch_sub(1, SeqCst);
                fence(SeqCst);
                if self.queue.is_empty() {
                    return;
                }
                self.watching.fetch_add(1, SeqCst);
                quiet = 0;
                continue;
            }
            quiet = 0;
            // Those that were added may have taken one each, and be blocked by it.
            let is_getting_on = now - taken > more;
            taken = now;
            if is_getting_on {
                more = 1;
                continue;
            }
            let mut state = lock(&self.state);
            // Those that are on their way, which may have to be started, take one each.
            let unmet = self
                .queue
                .len()
                .saturating_sub(self.searching.load(Relaxed));
            let sent = unmet.min(more);
            for _ in 0..sent {
                self.send(&mut state, handle, Order::Search);
            }
            if sent == more {
                more *= 2;
            }
            if state.sleepers.is_empty() && state.threads >= self.most_threads {
                // There is no other: this one has to do it.
                drop(state);
                // ORDERING: SeqCst, in this order, pairs with `submit`: it sees one or the other.
                self.searching.fetch_add(1, SeqCst);
                self.watching.fetch_sub(1, SeqCst);
                self.search(handle);
                return;
            }
        }
    }

    /// Waits for an order. `None`: the thread is not needed, and ends.
    fn sleep(&self, index: usize) -> Option<Order> {
        let sleeper = Arc::new(Sleeper {
            parker: Parker::current(),
            order: AtomicUsize::new(0),
        });
        let mut state = lock(&self.state);
        if state.is_shut_down {
            self.end(state, index);
            return None;
        }
        if !self.queue.is_empty() {
            // It came after the last look, and there was neither a sleeper nor room for one more thread.
            // ORDERING: SeqCst, as all changes of these counts: see `submit`.
            self.searching.fetch_add(1, SeqCst);
            return Some(Order::Search);
        }
        state.sleepers.push_back(Arc::clone(&sleeper));
        self.idle.fetch_add(1, Relaxed);
        drop(state);
        let until = Instant::now().checked_add(self.keep_alive);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            sleeper.parker.park(left);
            // ORDERING: SeqCst pairs with the store in `send`.
            match sleeper.order.load(SeqCst) {
                SEARCH_ORDER => return Some(Order::Search),
                WATCH_ORDER => return Some(Order::Watch),
                _ => {}
            }
            let mut state = lock(&self.state);
            let is_over = state.is_shut_down || until.is_some_and(|until| Instant::now() >= until);
            if !is_over {
                continue;
            }
            if let Some(place) = state
                .sleepers
                .iter()
                .position(|each| Arc::ptr_eq(each, &sleeper))
            {
                state.sleepers.remove(place);
                self.idle.fetch_sub(1, Relaxed);
                self.end(state, index);
                return None;
            }
        }
    }

    // --- the end ---

    /// Cancels what waits, but for jobs that a thread is on its way to, and lets the threads end.
    pub(super) fn begin_shutdown(&self) {
        let mut state = lock(&self.state);
        state.is_shut_down = true;
        for sleeper in &state.sleepers {
            sleeper.parker.unpark();
        }
        drop(state);
        // ORDERING: SeqCst, as all changes of this count: see `submit`.
        while self.queue.len() > self.searching.load(SeqCst) {
            let Some(entry) = self.queue.pop() else { break };
            cancel(entry);
        }
    }

    /// Waits until all threads have ended, at most until then.
    pub(super) fn wait(&self, until: Option<Instant>) {
        let mut state = lock(&self.state);
        while state.threads > 0 {
            state = match until {
                None => self
                    .ended
                    .wait(state)
                    .unwrap_or_else(|error| error.into_inner()),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    let waited = self.ended.wait_timeout(state, left);
                    waited.unwrap_or_else(|error| error.into_inner()).0
                }
            };
        }
        let handles = mem::take(&mut state.handles);
        drop(state);
        for (_, handle) in handles {
            // A thread that ends the runtime it works for cannot wait for itself.
            if handle.thread().id() != thread::current().id() {
                let _ = handle.join();
            }
        }
    }
}

/// One more thread in a count, unless this is dropped: the thread could not be started, or what gives it its
/// name has panicked.
struct Expected<'a>(&'a AtomicUsize);

impl<'a> Expected<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        // ORDERING: SeqCst, as all changes of these counts: see `submit`.
        count.fetch_add(1, SeqCst);
        Self(count)
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        // ORDERING: as above.
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Ends a job that was not begun.
fn cancel(entry: Entry) {
    entry.task.shut_down();
    entry.give_up();
}
