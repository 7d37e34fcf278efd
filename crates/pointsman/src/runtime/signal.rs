//! What a thread of a runtime is woken by.
//!
//! Each thread has one for all its life, so that `block_on` allocates nothing: it is the waker of the future
//! that the thread blocks on, and what the scheduler calls the thread by when it sleeps.
//!
//! Invariant: what was said before is seen after [`Signal::park`] has returned.
//!
//! Cost: to wake the future of one's own thread a load and a store; that of another an exchange, and a
//! system call if it sleeps.

#[cfg(not(loom))]
use std::cell::OnceCell;
use std::ptr;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::loom::Parker;
use crate::loom::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

pub(crate) struct Signal {
    parker: Parker,
    /// The future was woken.
    is_notified: AtomicBool,
    /// The scheduler has taken the thread from those that sleep.
    is_called: AtomicBool,
}

impl Signal {
    fn new() -> Self {
        Self {
            parker: Parker::current(),
            is_notified: AtomicBool::new(false),
            is_called: AtomicBool::new(false),
        }
    }

    /// That of this thread.
    pub(crate) fn current() -> Arc<Self> {
        Self::with_current(|signal, _| Arc::clone(signal))
    }

    /// That of this thread, and the waker that notifies it.
    pub(crate) fn with_current<R>(use_signal: impl FnOnce(&Arc<Self>, &Waker) -> R) -> R {
        let make = || {
            let signal = Arc::new(Self::new());
            let waker = Waker::from(Arc::clone(&signal));
            (signal, waker)
        };
        #[cfg(not(loom))]
        {
            std::thread_local! {
                static CURRENT: OnceCell<(Arc<Signal>, Waker)> = const { OnceCell::new() };
            }
            let mut use_signal = Some(use_signal);
            let result = CURRENT.try_with(|current| {
                let (signal, waker) = current.get_or_init(make);
                use_signal
                    .take()
                    .map(|use_signal| use_signal(signal, waker))
            });
            if let Ok(Some(result)) = result {
                return result;
            }
            // A thread that is ending has none any more.
            let (signal, waker) = make();
            let use_signal = use_signal.expect("it was not used");
            use_signal(&signal, &waker)
        }
        #[cfg(loom)]
        {
            let (signal, waker) = make();
            use_signal(&signal, &waker)
        }
    }

    fn is_of_this_thread(&self) -> bool {
        super::context::signal_is(ptr::from_ref(self))
    }

    /// Whether the future was woken since this was last asked.
    pub(crate) fn take_notified(&self) -> bool {
        // ORDERING: Acquire pairs with the release in `notify`.
        self.is_notified.load(Relaxed) && self.is_notified.swap(false, AcqRel)
    }

    pub(crate) fn is_notified(&self) -> bool {
        self.is_notified.load(Relaxed)
    }

    /// Wakes the future.
    pub(crate) fn notify(&self) {
        if self.is_of_this_thread() {
            // ORDERING: Release, as below.
            self.is_notified.store(true, Release);
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

    /// Waits for a wake-up, at most so long. Returns without one now and then. Only for this thread.
    pub(crate) fn park(&self, timeout: Option<Duration>) {
        self.parker.park(timeout);
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}
