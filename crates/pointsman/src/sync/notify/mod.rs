//! Notifications without data.
//!
//! Invariant: the word says whether a permit is stored or someone waits, never both, and how often all were
//! notified. While someone waits it changes under the lock only. Who waits is in `waiting`; those that a call
//! for all has met, and that are not yet woken, are in `leaving`: a waiter's own count of such calls says in
//! which of the two it is.
//!
//! Cost with nobody waiting: one RMW to notify one or all, one to take the permit, no lock: 12 ns to notify one
//! and receive it, 6 ns to notify all. Who joins those who wait and is notified costs 48 ns, and takes the lock
//! twice. Between two threads it is the cache line of the word that counts, which goes to and fro once for each
//! RMW, and once more for a load before it. So the word is last, where it shares a line with what lies behind
//! the notify and is told of by it: notifying all is 1.9 times as fast. And who comes to wait expects a permit:
//! 6 of the 48 ns, and a fifth off where one thread notifies as fast as it can.

#[cfg(all(test, loom))]
mod loom_tests;
mod notified;
mod waiter;

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::task::Waker;

pub use notified::{Notified, OwnedNotified};

use self::waiter::{End, Notice, Waiter};
use crate::list::List;
use crate::loom::lock;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::loom::sync::{Mutex, MutexGuard};
use crate::wake_batch::WakeBatch;

/// A permit is stored.
const PERMIT: usize = 1;
/// Someone is in `waiting`.
const WAITED_FOR: usize = 2;
/// All were notified once more. The rest of the word counts these.
const CALL: usize = 4;

/// How often all were notified.
fn calls(word: usize) -> usize {
    word & !(PERMIT | WAITED_FOR)
}

#[derive(Debug)]
struct Waiters {
    waiting: List<Waiter>,
    leaving: List<Waiter>,
}

/// Tells a task, or all that wait, that something has happened.
///
/// [`notify_one`](Self::notify_one) wakes the task that has waited longest, or stores one permit for the next
/// that waits. [`notify_waiters`](Self::notify_waiters) wakes all, and stores nothing. What has happened is
/// for the tasks to know: a notification carries no data.
///
/// Everything done before a notification is seen by who receives it.
///
/// ```
/// use std::sync::Arc;
/// use pointsman::sync::Notify;
///
/// # futures::executor::block_on(async {
/// let notify = Arc::new(Notify::new());
/// let thread = std::thread::spawn({
///     let notify = notify.clone();
///     move || notify.notify_one()
/// });
/// notify.notified().await;
/// assert!(thread.join().is_ok());
/// # });
/// ```
///
/// To wait for a condition, make the future first, then look, then wait: what happens between looking and
/// waiting is not missed.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use pointsman::sync::Notify;
///
/// struct Door { open: AtomicBool, changed: Notify }
///
/// impl Door {
///     fn open(&self) {
///         self.open.store(true, Ordering::Release);
///         self.changed.notify_waiters();
///     }
///
///     async fn wait_until_open(&self) {
///         loop {
///             let changed = self.changed.notified();
///             if self.open.load(Ordering::Acquire) {
///                 return;
///             }
///             changed.await;
///         }
///     }
/// }
/// # let door = Door { open: AtomicBool::new(false), changed: Notify::new() };
/// # futures::executor::block_on(async { futures::join!(door.wait_until_open(), async { door.open() }) });
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Notify {
    waiters: Mutex<Waiters>,
    word: AtomicUsize,
}

impl UnwindSafe for Notify {}
impl RefUnwindSafe for Notify {}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl Notify {
    const_unless_loom! {
        const fn create() -> Self {
            Self {
                waiters: Mutex::new(Waiters {
                    waiting: List::new(),
                    leaving: List::new(),
                }),
                word: AtomicUsize::new(0),
            }
        }
    }

    /// A notify without a permit.
    ///
    /// ```
    /// # use futures::FutureExt;
    /// # use pointsman::sync::Notify;
    /// let notify = Notify::new();
    /// assert!(notify.notified().now_or_never().is_none());
    /// notify.notify_one();
    /// assert!(notify.notified().now_or_never().is_some());
    /// ```
    pub fn new() -> Self {
        Self::create()
    }

    /// As [`new`](Self::new), for a `static`.
    ///
    /// ```
    /// # use futures::FutureExt;
    /// use pointsman::sync::Notify;
    ///
    /// static CHANGED: Notify = Notify::const_new();
    /// CHANGED.notify_one();
    /// assert!(CHANGED.notified().now_or_never().is_some());
    /// ```
    #[cfg(not(all(test, loom)))]
    pub const fn const_new() -> Self {
        Self::create()
    }

    /// Waits for a notification.
    ///
    /// If a permit is stored, the first poll takes it and is ready. Otherwise the future joins a queue, from
    /// which [`notify_one`](Self::notify_one) takes the oldest. [`notify_waiters`](Self::notify_waiters) is
    /// received by all futures that exist when it is called, polled or not.
    ///
    /// # Cancel safety
    /// Whoever drops the future loses its place in the queue. A notification of one that it has received and
    /// not returned goes to the next, or is stored.
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// # use futures::executor::block_on;
    /// # use pointsman::sync::Notify;
    /// let (notify, done) = (Notify::new(), AtomicBool::new(false));
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         done.store(true, Relaxed);
    ///         notify.notify_one();
    ///     });
    ///     block_on(notify.notified());
    ///     assert!(done.load(Relaxed));
    /// });
    /// ```
    #[inline]
    pub fn notified(&self) -> Notified<'_> {
        Notified::new(self, self.calls())
    }

    /// As [`notified`](Self::notified), with a future that keeps the notify alive.
    ///
    /// # Cancel safety
    /// As [`notified`](Self::notified).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pointsman::sync::Notify;
    /// let notify = Arc::new(Notify::new());
    /// let notified = notify.clone().notified_owned();
    /// let thread = std::thread::spawn(move || futures::executor::block_on(notified));
    /// notify.notify_one();
    /// assert!(thread.join().is_ok());
    /// ```
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let calls = self.calls();
        OwnedNotified::new(self, calls)
    }

    /// Wakes the task that has waited longest. If none waits, the next that does is ready at once.
    ///
    /// At most one such permit is stored, however often this is called.
    ///
    /// ```
    /// # use futures::FutureExt;
    /// # use pointsman::sync::Notify;
    /// let notify = Notify::new();
    /// notify.notify_one();
    /// notify.notify_one();
    /// // One permit is stored, not two.
    /// assert!(notify.notified().now_or_never().is_some());
    /// assert!(notify.notified().now_or_never().is_none());
    /// ```
    #[inline]
    pub fn notify_one(&self) {
        self.notify(End::Oldest);
    }

    /// As [`notify_one`](Self::notify_one), but wakes the task that has waited shortest.
    ///
    /// ```
    /// # use futures::FutureExt;
    /// # use pointsman::sync::Notify;
    /// # futures::executor::block_on(async {
    /// let notify = Notify::new();
    /// let mut first = Box::pin(notify.notified());
    /// let mut second = Box::pin(notify.notified());
    /// assert!(first.as_mut().now_or_never().is_none());
    /// assert!(second.as_mut().now_or_never().is_none());
    /// notify.notify_last();
    /// assert!(first.as_mut().now_or_never().is_none());
    /// second.await;
    /// # });
    /// ```
    #[inline]
    pub fn notify_last(&self) {
        self.notify(End::Newest);
    }

    /// Wakes all that wait: all futures of [`notified`](Self::notified) that exist, polled or not.
    ///
    /// Stores nothing: who calls `notified` later waits. A stored permit stays.
    ///
    /// If a waker panics, the others are woken before the panic goes on.
    ///
    /// ```
    /// # use futures::FutureExt;
    /// # use pointsman::sync::Notify;
    /// let notify = Notify::new();
    /// let (first, second) = (notify.notified(), notify.notified());
    /// notify.notify_waiters();
    /// assert!(first.now_or_never().is_some() && second.now_or_never().is_some());
    /// assert!(notify.notified().now_or_never().is_none());
    /// ```
    pub fn notify_waiters(&self) {
        // ORDERING: for the CAS below: what it replaces was seen.
        let mut word = self.word.load(Acquire);
        while word & WAITED_FOR == 0 {
            // ORDERING: Release pairs with the loads of the count. Acquire passes on what others released
            // into the word.
            match self
                .word
                .compare_exchange_weak(word, word.wrapping_add(CALL), AcqRel, Acquire)
            {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
        self.notify_all(lock(&self.waiters));
    }

    /// Makes a change under the lock, and then notifies all. Nothing if `change` says that it made none.
    pub(super) fn notify_waiters_if(&self, change: impl FnOnce() -> bool) -> bool {
        let waiters = lock(&self.waiters);
        let changed = change();
        if changed {
            self.notify_all(waiters);
        }
        changed
    }

    #[inline]
    fn calls(&self) -> usize {
        // ORDERING: pairs with the Release of who notifies all: who counts a call sees what was before it.
        calls(self.word.load(Acquire))
    }

    #[inline]
    fn notify(&self, end: End) {
        let mut word = self.word.load(Relaxed);
        loop {
            if word & WAITED_FOR != 0 {
                match self.notify_waiter(end) {
                    Ok(waker) => {
                        if let Some(waker) = waker {
                            waker.wake();
                        }
                        return;
                    }
                    Err(now) => word = now,
                }
            }
            // ORDERING: Release pairs with the Acquire of who takes the permit. Also if there is one: who
            // takes it then sees what both callers did.
            else {
                match self
                    .word
                    .compare_exchange_weak(word, word | PERMIT, Release, Relaxed)
                {
                    Ok(_) => return,
                    Err(now) => word = now,
                }
            }
        }
    }

    /// Takes one out of those who wait. If there is none any more, gives the word as it is now.
    #[cold]
    fn notify_waiter(&self, end: End) -> Result<Option<Waker>, usize> {
        let mut waiters = lock(&self.waiters);
        let taken = match end {
            End::Oldest => waiters.waiting.pop_front(),
            End::Newest => waiters.waiting.pop_back(),
        };
        let Some(waiter) = taken else {
            return Err(self.word.load(Relaxed));
        };
        self.mark_if_empty(&waiters);
        // SAFETY: it was in the list, so it is live, and it is shared through atomics and cells.
        Ok(unsafe { waiter.as_ref().give(Notice::One(end)) })
    }

    /// For who has the lock and has taken a waiter out of `waiting`: until then nobody else changes the word, so
    /// a load and a store do, and spare a read-modify-write.
    fn mark_if_empty(&self, waiters: &Waiters) {
        if waiters.waiting.is_empty() {
            let word = self.word.load(Relaxed);
            debug_assert_eq!(word & (WAITED_FOR | PERMIT), WAITED_FOR);
            // ORDERING: Release keeps what earlier calls for all released: the lock has passed it on.
            self.word.store(word & !WAITED_FOR, Release);
        }
    }

    fn notify_all<'a>(&'a self, mut guard: MutexGuard<'a, Waiters>) {
        // Under the lock the flag does not change.
        let flag = self.word.load(Relaxed) & WAITED_FOR;
        // ORDERING: as in `notify_waiters`.
        self.word.fetch_add(CALL.wrapping_sub(flag), AcqRel);
        let waiters = &mut *guard;
        waiters.leaving.append(&mut waiters.waiting);
        let mut batch = WakeBatch::new();
        loop {
            while batch.has_room() {
                let Some(waiter) = guard.leaving.pop_front() else {
                    break;
                };
                // SAFETY: it was in the list, so it is live, and it is shared through atomics and cells.
                if let Some(waker) = unsafe { waiter.as_ref().give(Notice::All) } {
                    batch.push(waker);
                }
            }
            let done = batch.has_room();
            drop(guard);
            if done {
                return batch.finish();
            }
            batch.wake_all();
            guard = lock(&self.waiters);
        }
    }
}
