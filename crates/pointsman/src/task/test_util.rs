//! What tests of tasks need: an arena whose scheduler is a plain queue, and ways to see that nothing is left.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize as Count, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use super::arena::{Arena, Schedule};
use super::raw::{Notified, RawTask};
use super::{JoinError, JoinHandle};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::thread;

pub(crate) struct Tester {
    queue: Mutex<VecDeque<Notified>>,
    completed: Count,
    owner: thread::ThreadId,
    is_open: AtomicBool,
}

impl Schedule for Arc<Tester> {
    fn schedule(&self, entry: Notified) {
        // This reference is the arena's: it may go with the task.
        let tester = Arc::clone(self);
        lock(&tester.queue).push_back(entry);
    }

    fn completed(&self) {
        self.completed.fetch_add(1, Relaxed);
    }

    fn owns(arena: NonNull<Arena<Self>>) -> bool {
        // SAFETY: a task keeps its arena.
        let tester = unsafe { arena.as_ref() }.scheduler();
        tester.owner == thread::current().id() && tester.is_open.load(Relaxed)
    }
}

/// Runs tasks in whatever thread has it.
#[derive(Clone)]
pub(crate) struct Runner(Arc<Tester>);

impl Runner {
    /// Runs one entry; what has to be queued again is.
    pub(crate) fn run(&self, entry: Notified) {
        if let Some(again) = entry.run() {
            self.0.schedule(again);
        }
    }

    /// Runs what is queued until nothing is.
    pub(crate) fn run_queued(&self) {
        loop {
            let next = lock(&self.0.queue).pop_front();
            let Some(entry) = next else { return };
            self.run(entry);
        }
    }
}

/// An arena of this thread.
pub(crate) struct Workbench {
    tester: Arc<Tester>,
    arena: NonNull<Arena<Arc<Tester>>>,
}

impl Workbench {
    pub(crate) fn new() -> Self {
        let tester = Arc::new(Tester {
            queue: Mutex::new(VecDeque::new()),
            completed: Count::new(0),
            owner: thread::current().id(),
            is_open: AtomicBool::new(true),
        });
        let arena = Arena::new(Arc::clone(&tester));
        Self { tester, arena }
    }

    pub(crate) fn runner(&self) -> Runner {
        Runner(Arc::clone(&self.tester))
    }

    /// A task whose queue entry is the caller's.
    pub(crate) fn make<F: Future>(&self, future: F) -> (Notified, JoinHandle<F::Output>) {
        // SAFETY: this thread owns the arena. The references are those of a new task.
        unsafe {
            let task = RawTask::new(self.arena, future, false);
            (Notified::woken(task), JoinHandle::new(task))
        }
    }

    /// A task that was queued.
    pub(crate) fn spawn<F: Future>(&self, future: F) -> JoinHandle<F::Output> {
        let (entry, handle) = self.make(future);
        self.tester.schedule(entry);
        handle
    }

    /// Entries of tasks that do nothing.
    pub(crate) fn entries(&self, count: usize) -> Vec<Notified> {
        (0..count).map(|_| self.make(async {}).0).collect()
    }

    pub(crate) fn completed(&self) -> usize {
        self.tester.completed.load(Relaxed)
    }

    /// Ends all tasks, as the end of a runtime does.
    pub(crate) fn shut_down(&self) {
        // SAFETY: this thread owns the arena.
        unsafe { Arena::shut_down(self.arena) };
    }

    /// What ends all tasks that it finds, in whatever thread, before this is closed.
    #[cfg(all(test, loom))]
    pub(crate) fn finder(&self) -> impl FnOnce() + Send + use<> {
        struct Finder(NonNull<Arena<Arc<Tester>>>);
        // SAFETY: anyone may look for tasks.
        unsafe impl Send for Finder {}
        impl Finder {
            fn find(&self) {
                let mut found = super::arena::Found::default();
                // SAFETY: it is not closed yet.
                unsafe { self.0.as_ref() }.find(&mut found);
                found.shut_down();
            }
        }
        let finder = Finder(self.arena);
        move || finder.find()
    }

    /// Ends all tasks and leaves the arena. What is given back tells whether it is gone.
    pub(crate) fn close(self) -> Gone {
        self.shut_down();
        loop {
            let next = lock(&self.tester.queue).pop_front();
            let Some(entry) = next else { break };
            entry.give_up();
        }
        self.tester.is_open.store(false, Relaxed);
        // SAFETY: this thread has owned the arena until now.
        unsafe { Arena::close(self.arena) };
        Gone(Arc::downgrade(&self.tester))
    }
}

/// See [`Workbench::close`].
#[must_use]
pub(crate) struct Gone(Weak<Tester>);

impl Gone {
    /// When nobody has a runner any more: all tasks were freed, and with the last the arena.
    pub(crate) fn check(self) {
        assert_eq!(self.0.strong_count(), 0, "the arena was not freed");
    }
}

/// Counts how often its copies were dropped, and how many there are.
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

/// A waker that counts, and tells how many of it are left.
#[derive(Default)]
pub(crate) struct Called(Count);

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl Called {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let called = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&called));
        (called, waker)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// Polls a handle once.
pub(crate) fn poll<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(handle).poll(&mut Context::from_waker(waker))
}
