//! The parker of a thread, and blocking a thread on a future.
//!
//! Each thread has one parker, so that blocking does not allocate. The parker is the waker of the future that the thread
//! blocks on, and the scheduler calls a sleeping worker through it.
//!
//! # Invariants
//!
//! - After [`ThreadParker::park`] the thread sees what happened before the unpark that ended it.
//! - The poll that a wake-up causes sees what happened before the wake-up.
//!
//! Cost: one store to wake the thread's own future; one exchange to wake that of another thread, and a system call if the
//! thread sleeps.

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
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Only its own thread may park.
pub(crate) struct ThreadParker {
    /// The number of the thread. A later thread may get the same number, but only after this one has ended, and then there
    /// is nothing to wake.
    thread: usize,
    parker: Parker,
    /// Whether another thread has woken the future.
    is_notified: AtomicBool,
    /// Whether the thread itself has woken the future. Only the thread uses it.
    has_notified_itself: AtomicBool,
    /// Whether the scheduler has called the thread to search; see `runtime::scheduler::idle`.
    is_called: AtomicBool,
    /// Whether the thread holds a driver. Set by the thread itself.
    holds_driver: AtomicBool,
}

impl ThreadParker {
    fn new() -> Self {
        Self {
            thread: thread_number(),
            parker: Parker::current(),
            is_notified: AtomicBool::new(false),
            has_notified_itself: AtomicBool::new(false),
            is_called: AtomicBool::new(false),
            holds_driver: AtomicBool::new(false),
        }
    }

    pub(crate) fn current() -> Arc<Self> {
        Self::with_current(|parker, _| Arc::clone(parker))
    }

    /// Calls `use_parker` with the parker of this thread and a waker that notifies it.
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
            // The thread is ending, and its parker has been destroyed.
            let (parker, waker) = make();
            let use_parker = use_parker.expect("the closure above was not called");
            use_parker(&parker, &waker)
        }
        #[cfg(all(test, loom))]
        {
            let (parker, waker) = make();
            use_parker(&parker, &waker)
        }
    }

    /// Returns whether the future was woken since the last call. Called by the thread itself.
    pub(crate) fn take_notified(&self) -> bool {
        let by_itself = self.has_notified_itself.load(Relaxed);
        if by_itself {
            self.has_notified_itself.store(false, Relaxed);
        }
        // ORDERING: Acquire pairs with the release of `notify`.
        let by_others = self.is_notified.load(Relaxed) && self.is_notified.swap(false, Acquire);
        by_itself || by_others
    }

    /// Whether the future was woken since the last [`take_notified`](Self::take_notified). Called by the thread itself.
    pub(crate) fn is_notified(&self) -> bool {
        self.has_notified_itself.load(Relaxed) || self.is_notified.load(Relaxed)
    }

    /// Wakes the future.
    pub(crate) fn notify(&self) {
        if self.thread == thread_number() {
            // In a flag of its own: a plain store to `is_notified` could hide the release of another thread. The thread is
            // awake, and reads this flag before it parks.
            self.has_notified_itself.store(true, Relaxed);
            return;
        }
        // ORDERING: Release pairs with the acquire of `take_notified`. If the flag was set already, the thread that
        // set it calls `unpark`, and the exchange keeps the order that it has published.
        if !self.is_notified.swap(true, Release) {
            self.parker.unpark();
        }
    }

    /// Calls the thread to search. The caller has removed it from the sleepers.
    pub(crate) fn call(&self) {
        // ORDERING: Release pairs with the acquire of `take_called`.
        self.is_called.store(true, Release);
        self.parker.unpark();
    }

    pub(crate) fn take_called(&self) -> bool {
        // ORDERING: Acquire pairs with the release of `call`. There is one call per sleep, so the store below loses none.
        let is_called = self.is_called.load(Acquire);
        if is_called {
            self.is_called.store(false, Relaxed);
        }
        is_called
    }

    /// Ends the thread's current or next [`park`](Self::park).
    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    /// As [`park`](Self::park), by calling `wait`, which returns once `reactor` was woken.
    #[cfg(feature = "reactor")]
    pub(crate) fn park_in(&self, reactor: &Waker, wait: impl FnOnce()) {
        self.parker.park_in(reactor, wait);
    }

    /// Whether the thread holds a driver. May be out of date when another thread reads it.
    pub(crate) fn holds_driver(&self) -> bool {
        self.holds_driver.load(Relaxed)
    }

    pub(crate) fn set_holds_driver(&self, holds: bool) {
        self.holds_driver.store(holds, Relaxed);
    }

    /// Waits for an unpark, at most for `timeout`. May return spuriously. Called by the thread itself.
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
    /// Whether the thread is in a `block_on`.
    static BLOCKS: Cell<bool> = Cell::new(false);
}

/// Marks this thread as blocked on a future until the mark is dropped. Within another `block_on`, a wake-up that was taken
/// here may have been for the outer future, so the drop notifies the thread again.
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
        // The waker would keep the reactor's descriptor open as long as the thread lives.
        #[cfg(feature = "reactor")]
        self.parker.parker.forget_reactor();
        if self.is_nested {
            self.parker.notify();
        }
    }
}

/// Blocks this thread until the future is ready, for the blocking variants of operations.
///
/// # Panics
/// If the thread runs tasks.
#[track_caller]
pub(crate) fn block_outside<F: Future>(future: F) -> F::Output {
    assert!(
        work() == Work::None,
        "Cannot block the current thread from within a runtime. This happens because a function attempted \
         to block the current thread while the thread is being used to drive asynchronous tasks."
    );
    block_on_unchecked(future)
}

/// Blocks this thread until the future is ready. The caller has checked that the thread may block.
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
    fn a_self_wake_up_does_not_hide_one_of_another_thread() {
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
