//! What a thread sleeps by, and blocking a thread until a future is ready.
//!
//! Each thread has one parker for all its life, so that blocking allocates nothing: it is the waker of the
//! future that the thread blocks on, and what a scheduler calls the thread by when it sleeps.
//!
//! Invariants:
//! - What was said before is seen after [`ThreadParker::park`] has returned.
//! - What was done before a wake-up is seen by the poll that it causes.
//!
//! Cost: to wake the future of one's own thread a store; that of another an exchange, and a system call if
//! it sleeps.

use std::cell::Cell;
#[cfg(not(all(test, loom)))]
use std::cell::OnceCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::context::{Work, thread_number, work};
use crate::loom::Parker;
use crate::loom::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// See the module. Only its own thread may park.
pub(crate) struct ThreadParker {
    /// The number of its thread. A later thread may have the same when that one has ended, and with it whoever
    /// could be woken by this.
    thread: usize,
    parker: Parker,
    /// The future was woken by another thread.
    is_notified: AtomicBool,
    /// The future was woken by its own thread, which alone uses this.
    has_notified_itself: AtomicBool,
    /// The scheduler has taken the thread from those that sleep.
    is_called: AtomicBool,
}

impl ThreadParker {
    fn new() -> Self {
        Self {
            thread: thread_number(),
            parker: Parker::current(),
            is_notified: AtomicBool::new(false),
            has_notified_itself: AtomicBool::new(false),
            is_called: AtomicBool::new(false),
        }
    }

    /// That of this thread.
    pub(crate) fn current() -> Arc<Self> {
        Self::with_current(|parker, _| Arc::clone(parker))
    }

    /// That of this thread, and the waker that notifies it.
    pub(crate) fn with_current<R>(use_parker: impl FnOnce(&Arc<Self>, &Waker) -> R) -> R {
        let make = || {
            let parker = Arc::new(Self::new());
            let waker = Waker::from(Arc::clone(&parker));
            (parker, waker)
        };
        #[cfg(not(all(test, loom)))]
        {
            std::thread_local! {
                static CURRENT: OnceCell<(Arc<ThreadParker>, Waker)> = const { OnceCell::new() };
            }
            let mut use_parker = Some(use_parker);
            let result = CURRENT.try_with(|current| {
                let (parker, waker) = current.get_or_init(make);
                use_parker
                    .take()
                    .map(|use_parker| use_parker(parker, waker))
            });
            if let Ok(Some(result)) = result {
                return result;
            }
            // A thread that is ending has none any more.
            let (parker, waker) = make();
            let use_parker = use_parker.expect("it was not used");
            use_parker(&parker, &waker)
        }
        #[cfg(all(test, loom))]
        {
            let (parker, waker) = make();
            use_parker(&parker, &waker)
        }
    }

    /// Whether the future was woken since this was last asked. Only for this thread, as what follows.
    pub(crate) fn take_notified(&self) -> bool {
        let by_itself = self.has_notified_itself.load(Relaxed);
        if by_itself {
            self.has_notified_itself.store(false, Relaxed);
        }
        // ORDERING: Acquire pairs with the release in `notify`.
        let by_others = self.is_notified.load(Relaxed) && self.is_notified.swap(false, AcqRel);
        by_itself || by_others
    }

    pub(crate) fn is_notified(&self) -> bool {
        self.has_notified_itself.load(Relaxed) || self.is_notified.load(Relaxed)
    }

    /// Wakes the future.
    pub(crate) fn notify(&self) {
        if self.thread == thread_number() {
            // In a place of its own: a plain store to the other one could hide what another thread has done
            // before its wake-up. The thread is awake, and looks here before it parks.
            self.has_notified_itself.store(true, Relaxed);
            return;
        }
        // ORDERING: Release pairs with the acquire in `take_notified`. An exchange, so that the unpark that was
        // done before stands for this one.
        if !self.is_notified.swap(true, AcqRel) {
            self.parker.unpark();
        }
    }

    /// Tells the thread that it sleeps no more.
    pub(crate) fn call(&self) {
        // ORDERING: Release pairs with the acquire in `take_called`.
        self.is_called.store(true, Release);
        self.parker.unpark();
    }

    pub(crate) fn take_called(&self) -> bool {
        // ORDERING: Acquire pairs with the release in `call`. Nobody calls twice.
        let is_called = self.is_called.load(Acquire);
        if is_called {
            self.is_called.store(false, Relaxed);
        }
        is_called
    }

    /// Lets the thread look again.
    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    /// As [`park`](Self::park), in a reactor, by `wait`, which returns after `reactor` was woken.
    #[cfg(feature = "reactor")]
    pub(crate) fn park_in(&self, reactor: &Waker, wait: impl FnOnce()) {
        self.parker.park_in(reactor, wait);
    }

    /// Whether its thread sleeps in a reactor. For any thread: it may be over when this is read.
    pub(crate) fn is_in_reactor(&self) -> bool {
        self.parker.is_in_reactor()
    }

    /// Waits for a wake-up, at most so long. Returns without one now and then. Only for this thread.
    pub(crate) fn park(&self, timeout: Option<Duration>) {
        self.parker.park(timeout);
    }
}

impl Wake for ThreadParker {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}

// --- blocking on a future ---

thread_value! {
    /// It blocks on a future.
    static BLOCKS: Cell<bool> = Cell::new(false);
}

/// Says that this thread blocks on a future until it is dropped. If that is within another such future, the
/// wake-up that was taken here may have been for that: it is given again.
pub(crate) struct Blocking<'a> {
    parker: &'a ThreadParker,
    is_nested: bool,
}

pub(crate) fn set_blocking(parker: &ThreadParker) -> Blocking<'_> {
    let is_nested = BLOCKS.with(|blocks| blocks.replace(true));
    Blocking { parker, is_nested }
}

impl Drop for Blocking<'_> {
    fn drop(&mut self) {
        let _ = BLOCKS.try_with(|blocks| blocks.set(self.is_nested));
        // Its descriptor would be kept open for as long as the thread lives.
        #[cfg(feature = "reactor")]
        self.parker.parker.forget_reactor();
        if self.is_nested {
            self.parker.notify();
        }
    }
}

/// Blocks this thread until the future is ready. For the blocking forms of operations.
///
/// # Panics
/// Where tasks run: they would have to wait.
#[track_caller]
pub(crate) fn block_outside<F: Future>(future: F) -> F::Output {
    assert!(
        work() == Work::None,
        "Cannot block the current thread from within a runtime. This happens because a function attempted \
         to block the current thread while the thread is being used to drive asynchronous tasks."
    );
    block_on_unchecked(future)
}

/// As [`block_outside`], for whoever knows that this thread may block.
pub(crate) fn block_on_unchecked<F: Future>(future: F) -> F::Output {
    ThreadParker::with_current(|parker, waker| {
        let _blocking = set_blocking(parker);
        let mut cx = Context::from_waker(waker);
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            while !parker.take_notified() {
                parker.park(None);
            }
        }
    })
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::loom::sync::atomic::AtomicUsize;
    use crate::loom::thread;

    #[test]
    fn a_thread_that_wakes_itself_misses_nothing_that_another_did() {
        loom::model(|| {
            let flag = Arc::new(AtomicUsize::new(0));
            let mut other = None;
            block_on_unchecked(std::future::poll_fn(|cx| {
                if other.is_none() {
                    let (flag, waker) = (Arc::clone(&flag), cx.waker().clone());
                    other = Some(thread::spawn(move || {
                        flag.store(1, Relaxed);
                        waker.wake();
                    }));
                    cx.waker().wake_by_ref();
                }
                match flag.load(Relaxed) {
                    1 => Poll::Ready(()),
                    _ => Poll::Pending,
                }
            }));
            other.map(thread::JoinHandle::join);
        });
    }
}
