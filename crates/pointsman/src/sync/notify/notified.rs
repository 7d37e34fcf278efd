//! The futures that wait for notifications.
//!
//! Invariant: the node of a future is in a list of its `Notify` only while the future is in the state
//! `Waiting`, and has no notice then.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::waiter::{Notice, Waiter};
use super::{HAS_WAITERS, Notify, PERMIT, calls};
use crate::loom::lock;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::task::activity::note_wait;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitState {
    Unpolled,
    /// The node was put in the list of waiters.
    Waiting,
    Done,
}

/// The implementation of both futures, which differ in how they refer to the `Notify`.
#[derive(Debug)]
struct NotifiedInner<N: Deref<Target = Notify>> {
    notify: N,
    state: WaitState,
    /// The count of `notify_waiters` calls when the future was made.
    calls: usize,
    waiter: Waiter,
}

impl<N: Deref<Target = Notify>> NotifiedInner<N> {
    #[inline]
    fn new(notify: N, calls: usize) -> Self {
        Self {
            notify,
            state: WaitState::Unpolled,
            calls,
            waiter: Waiter::new(),
        }
    }

    /// Polls the future. Without a context it joins the waiters but registers no waker.
    ///
    /// # Safety
    /// `self` is pinned.
    #[inline]
    unsafe fn poll(&mut self, mut cx: Option<&mut Context<'_>>) -> Poll<()> {
        let received = match self.state {
            // SAFETY: the caller promises that `self` is pinned.
            WaitState::Unpolled => self.take_first() || unsafe { self.join(cx.as_deref_mut()) },
            WaitState::Waiting => self.waiter.notice().is_some() || self.wait_on(cx.as_deref_mut()),
            WaitState::Done => true,
        };
        if !received {
            self.state = WaitState::Waiting;
            if let Some(cx) = cx {
                let address = std::ptr::from_ref(&*self.notify).addr();
                note_wait(self.notify.kind, address, cx.waker());
            }
            return Poll::Pending;
        }
        self.state = WaitState::Done;
        Poll::Ready(())
    }

    /// Takes a notification that came before the first poll. Tries a stored permit without loading the word;
    /// see the module.
    #[inline]
    fn take_first(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `notify`, which stored the permit; on failure with that
        // of `notify_waiters` and `notify_all`.
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

    /// Takes a notification if there is one. `word` is a recent value of the word.
    #[inline]
    fn take(&self, mut word: usize) -> bool {
        loop {
            // Comes first, so that a future notified by `notify_waiters` leaves the permit to others.
            if calls(word) != self.calls {
                return true;
            }
            if word & PERMIT == 0 {
                return false;
            }
            // ORDERING: Acquire pairs with the Release of `notify`, which stored the permit; on failure with
            // that of `notify_waiters` and `notify_all`. As a read-modify-write it continues the release
            // sequences of earlier operations.
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

    /// Joins the waiters, unless there is a notification by now. Returns whether there is.
    ///
    /// # Safety
    /// `self` is pinned.
    #[cold]
    unsafe fn join(&mut self, cx: Option<&mut Context<'_>>) -> bool {
        // Cloning a custom waker runs foreign code, which may notify, so it happens before the lock.
        let waker = cx.map(|cx| cx.waker().clone());
        let mut waiters = lock(&self.notify.waiters);
        loop {
            // ORDERING: Acquire pairs with the Release of `notify`, `notify_waiters` and `notify_all`.
            if self.take(self.notify.word.load(Acquire)) {
                drop(waiters);
                return true;
            }
            let word = self.notify.word.load(Relaxed);
            if calls(word) == self.calls && word & HAS_WAITERS != 0 {
                break;
            }
            // ORDERING: Acquire pairs with the Release of earlier operations on the word, whose order the lock
            // passes on to `clear_flag_if_empty`. Release pairs with the Acquire loads of the word. Success
            // means that there was no notification when the flag was set.
            let joined = calls(word) == self.calls
                && word & PERMIT == 0
                && self
                    .notify
                    .word
                    .compare_exchange_weak(word, word | HAS_WAITERS, AcqRel, Relaxed)
                    .is_ok();
            if joined {
                break;
            }
        }
        // SAFETY: the lock is held, which guards the waker of a waiter without a notice.
        self.waiter
            .waker
            .with_mut(|place| unsafe { *place = waker });
        // SAFETY: the node is pinned and in no list. `leave` takes it out before it is dropped.
        unsafe { waiters.waiting.push_back(NonNull::from(&mut self.waiter)) };
        false
    }

    /// Registers the waker of `cx`, unless the waiter was notified. Returns whether it was.
    #[cold]
    fn wait_on(&mut self, cx: Option<&mut Context<'_>>) -> bool {
        let mut clone = None;
        loop {
            let mut waiters = lock(&self.notify.waiters);
            if self.waiter.notice().is_some() {
                return true;
            }
            if self.notify.calls() != self.calls {
                // A `notify_waiters` call has claimed this waiter and not woken it yet.
                // SAFETY: the lock is held. The waiter has no notice and its count differs, so it is in
                // `waking`.
                unsafe { waiters.waking.remove(NonNull::from(&mut self.waiter)) };
                return true;
            }
            let Some(cx) = cx.as_deref() else {
                return false;
            };
            // SAFETY: the lock is held, which guards the waker of a waiter without a notice.
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
            // Cloning a custom waker runs foreign code, so it happens without the lock.
            clone = Some(cx.waker().clone());
        }
    }

    #[cold]
    fn leave(&mut self) {
        if self.waiter.notice().is_none() {
            let mut waiters = lock(&self.notify.waiters);
            if self.waiter.notice().is_none() {
                let waiter = NonNull::from(&mut self.waiter);
                // SAFETY: the lock is held, and the waiter has no notice, so it is in one of the lists. A
                // call that changes the count moves all waiters to `waking` under the same lock, so the count
                // says which list it is in.
                unsafe {
                    if self.notify.calls() == self.calls {
                        waiters.waiting.remove(waiter);
                        self.notify.clear_flag_if_empty(&waiters);
                    } else {
                        waiters.waking.remove(waiter);
                    }
                }
                return;
            }
        }
        // The notification was received and not returned: passes it on to the next waiter.
        if let Some(Notice::One(end)) = self.waiter.notice() {
            self.notify.notify(end);
        }
    }
}

impl<N: Deref<Target = Notify>> Drop for NotifiedInner<N> {
    #[inline]
    fn drop(&mut self) {
        if self.state == WaitState::Waiting {
            self.leave();
        }
    }
}

macro_rules! impl_future {
    ([$($parameters:tt)*] $future:ty) => {
        impl<$($parameters)*> $future {
            /// Joins the queue without a poll. Returns whether there is a notification; the future is ready
            /// then.
            ///
            /// From here on [`Notify::notify_one`] can notify this future. No task is woken before the future
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
                // SAFETY: `self` is pinned, and nothing is moved out of it.
                unsafe { self.get_unchecked_mut().inner.poll(None) }.is_ready()
            }
        }

        impl<$($parameters)*> Future for $future {
            type Output = ();

            #[inline]
            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                // SAFETY: `self` is pinned, and nothing is moved out of it.
                unsafe { self.get_unchecked_mut().inner.poll(Some(cx)) }
            }
        }
    };
}

/// Future of [`Notify::notified`].
///
/// It is ready once it was notified, and stays so. [`Notify::notify_waiters`] notifies it from its creation
/// on, [`Notify::notify_one`] from its first poll or [`enable`](Self::enable) on.
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
/// // A notified future stays ready.
/// notified.await;
/// # });
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Notified<'a> {
    inner: NotifiedInner<&'a Notify>,
}

impl<'a> Notified<'a> {
    #[inline]
    pub(super) fn new(notify: &'a Notify, calls: usize) -> Self {
        Self {
            inner: NotifiedInner::new(notify, calls),
        }
    }
}

impl_future!(['a] Notified<'a>);

/// Future of [`Notify::notified_owned`]: a [`Notified`] that keeps the `Notify` alive.
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
    inner: NotifiedInner<Arc<Notify>>,
}

impl OwnedNotified {
    pub(super) fn new(notify: Arc<Notify>, calls: usize) -> Self {
        Self {
            inner: NotifiedInner::new(notify, calls),
        }
    }
}

impl_future!([] OwnedNotified);
