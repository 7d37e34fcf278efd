//! The futures that receive notifications.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::waiter::{Notice, Waiter};
use super::{Notify, PERMIT, WAITED_FOR, calls};
use crate::loom::lock;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fresh,
    /// Has joined those who wait.
    Waits,
    Done,
}

/// What both futures are, whatever they keep the notify by.
#[derive(Debug)]
struct Receiver<N: Deref<Target = Notify>> {
    notify: N,
    state: State,
    /// How often all had been notified when this was made.
    calls: usize,
    waiter: Waiter,
}

impl<N: Deref<Target = Notify>> Receiver<N> {
    #[inline]
    fn new(notify: N, calls: usize) -> Self {
        Self {
            notify,
            state: State::Fresh,
            calls,
            waiter: Waiter::new(),
        }
    }

    /// Without a context it joins those who wait, and nobody is woken for it.
    ///
    /// # Safety
    /// `self` is pinned.
    #[inline]
    unsafe fn poll(&mut self, cx: Option<&mut Context<'_>>) -> Poll<()> {
        let received = match self.state {
            // SAFETY: as above.
            State::Fresh => self.take_at_first() || unsafe { self.join(cx) },
            State::Waits => self.waiter.notice().is_some() || self.wait_on(cx),
            State::Done => true,
        };
        if !received {
            self.state = State::Waits;
            return Poll::Pending;
        }
        self.state = State::Done;
        Poll::Ready(())
    }

    /// Receives what was there before this was polled. Expects a permit, without a look: see the module.
    #[inline]
    fn take_at_first(&self) -> bool {
        // ORDERING: as in `take`.
        match self.notify.word.compare_exchange_weak(
            self.calls | PERMIT,
            self.calls,
            Acquire,
            Acquire,
        ) {
            Ok(_) => true,
            Err(word) => self.take(word),
        }
    }

    /// Receives what is there, if it is in this word or what the word has become.
    #[inline]
    fn take(&self, mut word: usize) -> bool {
        loop {
            // First, so that a permit is left for who was not notified with all.
            if calls(word) != self.calls {
                return true;
            }
            if word & PERMIT == 0 {
                return false;
            }
            // ORDERING: Acquire pairs with the Release of who stored the permit, on failure of who notifies
            // all. What was in the word goes on, as this is an RMW.
            match self
                .notify
                .word
                .compare_exchange_weak(word, word & !PERMIT, Acquire, Acquire)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Joins those who wait, unless there is something to receive by now.
    ///
    /// # Safety
    /// `self` is pinned.
    #[cold]
    unsafe fn join(&mut self, cx: Option<&mut Context<'_>>) -> bool {
        // Before the lock: a waker's own code may notify.
        let waker = cx.map(|cx| cx.waker().clone());
        let mut waiters = lock(&self.notify.waiters);
        loop {
            // ORDERING: pairs with the Release of who notifies all.
            if self.take(self.notify.word.load(Acquire)) {
                drop(waiters);
                return true;
            }
            let word = self.notify.word.load(Relaxed);
            if calls(word) == self.calls && word & WAITED_FOR != 0 {
                break;
            }
            // ORDERING: as in `take`. If nothing is there to receive, nothing was when the flag was set.
            let joined = calls(word) == self.calls
                && word & PERMIT == 0
                && self
                    .notify
                    .word
                    .compare_exchange_weak(word, word | WAITED_FOR, AcqRel, Relaxed)
                    .is_ok();
            if joined {
                break;
            }
        }
        // SAFETY: the lock is held.
        self.waiter
            .waker
            .with_mut(|place| unsafe { *place = waker });
        // SAFETY: it is pinned and in no list, and taken out before it is dropped.
        unsafe { waiters.waiting.push_back(NonNull::from(&mut self.waiter)) };
        false
    }

    /// Is woken through `cx` from now on, unless it has been notified. Whether it has.
    #[cold]
    fn wait_on(&mut self, cx: Option<&mut Context<'_>>) -> bool {
        let mut clone = None;
        loop {
            let mut waiters = lock(&self.notify.waiters);
            if self.waiter.notice().is_some() {
                return true;
            }
            if self.notify.calls() != self.calls {
                // Someone is notifying all, and has not come to this one.
                // SAFETY: it has waited and was not given a notice, so it is in this list.
                unsafe { waiters.leaving.remove(NonNull::from(&mut self.waiter)) };
                return true;
            }
            let Some(cx) = cx.as_deref() else {
                return false;
            };
            // SAFETY: the lock is held.
            let (registered, old) = self.waiter.waker.with_mut(|place| unsafe {
                match (&*place, clone.take()) {
                    (Some(waker), _) if waker.will_wake(cx.waker()) => (true, None),
                    (_, Some(clone)) => (true, (*place).replace(clone)),
                    (_, None) => (false, None),
                }
            });
            drop(waiters);
            drop(old);
            if registered {
                return false;
            }
            // A waker's own code runs without the lock.
            clone = Some(cx.waker().clone());
        }
    }

    #[cold]
    fn leave(&mut self) {
        if self.waiter.notice().is_none() {
            let mut waiters = lock(&self.notify.waiters);
            if self.waiter.notice().is_none() {
                let waiter = NonNull::from(&mut self.waiter);
                // SAFETY: it has waited and was not given a notice. While someone waits the count changes
                // under the lock only, and then all go to `leaving`.
                unsafe {
                    if self.notify.calls() == self.calls {
                        waiters.waiting.remove(waiter);
                        self.notify.mark_if_empty(&waiters);
                    } else {
                        waiters.leaving.remove(waiter);
                    }
                }
                return;
            }
        }
        // It was notified and will not say so: the next is.
        if let Some(Notice::One(end)) = self.waiter.notice() {
            self.notify.notify(end);
        }
    }
}

impl<N: Deref<Target = Notify>> Drop for Receiver<N> {
    #[inline]
    fn drop(&mut self) {
        if self.state == State::Waits {
            self.leave();
        }
    }
}

macro_rules! future {
    ([$($parameters:tt)*] $future:ty) => {
        impl<$($parameters)*> $future {
            /// Joins the queue without being polled. Whether there is a notification: then the future is
            /// ready.
            ///
            /// From here on [`Notify::notify_one`] can reach this future. Nobody is woken before the future
            /// is polled.
            ///
            /// ```
            /// # use std::pin::pin;
            /// # use pointsman::sync::Notify;
            /// # futures::executor::block_on(async {
            /// let notify = Notify::new();
            /// let mut first = pin!(notify.notified());
            /// assert!(!first.as_mut().enable());
            /// notify.notify_one();
            /// first.await;
            /// # });
            /// ```
            pub fn enable(self: Pin<&mut Self>) -> bool {
                // SAFETY: it is pinned, and nothing is moved out.
                unsafe { self.get_unchecked_mut().receiver.poll(None) }.is_ready()
            }
        }

        impl<$($parameters)*> Future for $future {
            type Output = ();

            #[inline]
            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                // SAFETY: it is pinned, and nothing is moved out.
                unsafe { self.get_unchecked_mut().receiver.poll(Some(cx)) }
            }
        }
    };
}

/// Future of [`Notify::notified`].
///
/// It is ready when a notification has come, and stays so. It takes part in [`Notify::notify_waiters`] from
/// when it is made, and in [`Notify::notify_one`] from when it is first polled or
/// [enabled](Self::enable).
///
/// ```
/// # use std::pin::pin;
/// # use pointsman::sync::Notify;
/// # futures::executor::block_on(async {
/// let notify = Notify::new();
/// let mut notified = pin!(notify.notified());
/// assert!(futures::poll!(notified.as_mut()).is_pending());
/// notify.notify_one();
/// assert!(futures::poll!(notified.as_mut()).is_ready());
/// // It stays ready.
/// notified.await;
/// # });
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Notified<'a> {
    receiver: Receiver<&'a Notify>,
}

impl<'a> Notified<'a> {
    #[inline]
    pub(super) fn new(notify: &'a Notify, calls: usize) -> Self {
        Self {
            receiver: Receiver::new(notify, calls),
        }
    }
}

future!(['a] Notified<'a>);

/// Future of [`Notify::notified_owned`]: a [`Notified`] that keeps the notify alive.
///
/// ```
/// # use std::sync::Arc;
/// # use futures::FutureExt;
/// # use pointsman::sync::{Notify, futures::OwnedNotified};
/// let notify = Arc::new(Notify::new());
/// let notified: OwnedNotified = notify.clone().notified_owned();
/// notify.notify_waiters();
/// drop(notify);
/// assert!(notified.now_or_never().is_some());
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct OwnedNotified {
    receiver: Receiver<Arc<Notify>>,
}

impl OwnedNotified {
    pub(super) fn new(notify: Arc<Notify>, calls: usize) -> Self {
        Self {
            receiver: Receiver::new(notify, calls),
        }
    }
}

future!([] OwnedNotified);
