//! Utilities for tests of tasks: an arena with a plain queue as its scheduler, and counters that show leaks.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize as Count, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use super::arena::{Arena, Schedule};
use super::origin::SpawnSite;
use super::raw::{Notified, RawTask};
use super::{JoinError, JoinHandle};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::thread;

pub(crate) struct TestScheduler {
    queue: Mutex<VecDeque<Notified>>,
    completed: Count,
    owner: thread::ThreadId,
    is_open: AtomicBool,
}

impl Schedule for Arc<TestScheduler> {
    fn schedule(&self, entry: Notified) {
        // `self` is the arena's reference: it may be freed with the task.
        let scheduler = Arc::clone(self);
        lock(&scheduler.queue).push_back(entry);
    }

    fn completed(&self) {
        self.completed.fetch_add(1, Relaxed);
    }

    fn owns(arena: NonNull<Arena<Self>>) -> bool {
        // SAFETY: the callers hold a slot of the arena, which keeps it alive.
        let scheduler = unsafe { arena.as_ref() }.scheduler();
        scheduler.owner == thread::current().id() && scheduler.is_open.load(Relaxed)
    }
}

/// Runs queued tasks on any thread.
#[derive(Clone)]
pub(crate) struct Runner(Arc<TestScheduler>);

impl Runner {
    /// Runs one entry and queues it again if necessary.
    pub(crate) fn run(&self, entry: Notified) {
        if let Some(again) = entry.run() {
            self.0.schedule(again);
        }
    }

    /// Runs entries until the queue is empty.
    pub(crate) fn run_queued(&self) {
        loop {
            let next = lock(&self.0.queue).pop_front();
            let Some(entry) = next else { return };
            self.run(entry);
        }
    }
}

/// An arena owned by the current thread.
pub(crate) struct Workbench {
    scheduler: Arc<TestScheduler>,
    arena: NonNull<Arena<Arc<TestScheduler>>>,
}

impl Workbench {
    pub(crate) fn new() -> Self {
        let scheduler = Arc::new(TestScheduler {
            queue: Mutex::new(VecDeque::new()),
            completed: Count::new(0),
            owner: thread::current().id(),
            is_open: AtomicBool::new(true),
        });
        let arena = Arena::new(Arc::clone(&scheduler));
        Self { scheduler, arena }
    }

    pub(crate) fn runner(&self) -> Runner {
        Runner(Arc::clone(&self.scheduler))
    }

    /// Makes a task and returns its queue entry.
    pub(crate) fn make<F: Future>(&self, future: F) -> (Notified, JoinHandle<F::Output>) {
        self.make_at(SpawnSite::caller(), future)
    }

    #[cfg(all(loom, feature = "diagnostics"))]
    pub(crate) fn make_named<F: Future>(
        &self,
        name: &str,
        future: F,
    ) -> (Notified, JoinHandle<F::Output>) {
        self.make_at(SpawnSite::named_caller(Some(&name)), future)
    }

    fn make_at<F: Future>(
        &self,
        site: SpawnSite<'_>,
        future: F,
    ) -> (Notified, JoinHandle<F::Output>) {
        // SAFETY: this thread owns the arena. A new task has the references of an entry and a join handle.
        unsafe {
            let task = RawTask::new(self.arena, future, false, site);
            (Notified::woken(task), JoinHandle::new(task))
        }
    }

    /// Makes a task and queues it.
    pub(crate) fn spawn<F: Future>(&self, future: F) -> JoinHandle<F::Output> {
        let (entry, handle) = self.make(future);
        self.scheduler.schedule(entry);
        handle
    }

    /// Makes entries of empty tasks.
    pub(crate) fn entries(&self, count: usize) -> Vec<Notified> {
        (0..count).map(|_| self.make(async {}).0).collect()
    }

    pub(crate) fn completed(&self) -> usize {
        self.scheduler.completed.load(Relaxed)
    }

    /// Cancels all tasks, as the shutdown of a runtime does.
    pub(crate) fn shut_down(&self) {
        // SAFETY: this thread owns the arena.
        unsafe { Arena::shut_down(self.arena) };
    }

    /// Returns a function that finds all tasks, for another thread, to be called before `close`.
    #[cfg(all(test, loom))]
    pub(crate) fn finder(&self) -> impl FnOnce() -> super::arena::FoundTasks + Send + use<> {
        struct Finder(NonNull<Arena<Arc<TestScheduler>>>);
        // SAFETY: `Arena::find` may be called on any thread.
        unsafe impl Send for Finder {}
        impl Finder {
            fn find(&self) -> super::arena::FoundTasks {
                let mut found = super::arena::FoundTasks::default();
                // SAFETY: the test closes the arena after it joined this thread.
                unsafe { self.0.as_ref() }.find(&mut found);
                found
            }
        }
        let finder = Finder(self.arena);
        move || finder.find()
    }

    /// Cancels all tasks and closes the arena. The result checks that it was freed.
    pub(crate) fn close(self) -> ArenaFreed {
        self.shut_down();
        loop {
            let next = lock(&self.scheduler.queue).pop_front();
            let Some(entry) = next else { break };
            entry.give_up();
        }
        self.scheduler.is_open.store(false, Relaxed);
        // SAFETY: this thread owned the arena and shut it down above; `is_open` makes `owns` false.
        unsafe { Arena::close(self.arena) };
        ArenaFreed(Arc::downgrade(&self.scheduler))
    }
}

/// See [`Workbench::close`].
#[must_use]
pub(crate) struct ArenaFreed(Weak<TestScheduler>);

impl ArenaFreed {
    /// Asserts that all tasks were freed, and the arena with the last. All runners must be dropped.
    pub(crate) fn check(self) {
        assert_eq!(self.0.strong_count(), 0, "the arena was not freed");
    }
}

/// Counts how many of its witnesses were dropped.
#[derive(Default)]
pub(crate) struct Drops(Arc<Count>);

impl Drops {
    pub(crate) fn witness(&self) -> Witness {
        Witness(Arc::clone(&self.0))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

#[derive(Debug)]
pub(crate) struct Witness(Arc<Count>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A waker that counts its wake-ups. The strong count shows how many clones are left.
#[derive(Default)]
pub(crate) struct WakeCounter(Count);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl WakeCounter {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let counter = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&counter));
        (counter, waker)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// Polls a handle once.
pub(crate) fn poll<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(handle).poll(&mut Context::from_waker(waker))
}
