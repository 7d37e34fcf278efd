//! Notifications without data.
//!
//! # Invariants
//!
//! - The word holds the permit flag, the waiters flag and the number of `notify_waiters` calls. The two flags
//!   are never set together. While the waiters flag is set, the word changes only under the lock.
//! - A waiter without a notice is in `waiting`, or in `waking` if a `notify_waiters` call has claimed it. It
//!   is in `waking` exactly if the word's count differs from the waiter's own.
//!
//! # Cost
//!
//! Without waiters: one read-modify-write to notify one or all, one to take the permit, no lock. A waiter
//! takes the lock when it joins, and the notifier when it wakes it.
//!
//! Between two threads the transfers of the word's cache line dominate (rows `notify_one/*` and
//! `notify_waiters/*`). So the word is the last field, where it shares a line with the data behind the
//! `Notify`, which a notified task reads next; and a future's first poll tries to exchange a stored permit
//! without loading the word first.

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
use crate::task::activity::WaitKind;
use crate::wake_batch::WakeBatch;

/// A permit is stored: the next `notified` is ready at once.
const PERMIT: usize = 1;
/// `waiting` is not empty.
const HAS_WAITERS: usize = 2;
/// The count of `notify_waiters` calls is in units of this.
const CALL: usize = 4;

/// The count of `notify_waiters` calls in a word.
fn calls(word: usize) -> usize {
    word & !(PERMIT | HAS_WAITERS)
}

#[derive(Debug)]
struct Waiters {
    waiting: List<Waiter>,
    waking: List<Waiter>,
}

/// Notifies a single task, or all waiting tasks.
///
/// [`notify_one`](Self::notify_one) wakes the task that has waited longest, or stores one permit for the next
/// one to wait. [`notify_waiters`](Self::notify_waiters) wakes all waiting tasks and stores nothing. A
/// notification carries no data.
///
/// What a task did before it notified is visible to the tasks that it notified.
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
/// To wait for a condition, first create the future, then check the condition, then await the future. A
/// notification between the check and the await is not missed.
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
    /// What its waiters wait for, in a dump.
    kind: WaitKind,
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
        pub(crate) const fn of_kind(kind: WaitKind) -> Self {
            Self {
                waiters: Mutex::new(Waiters {
                    waiting: List::new(),
                    waking: List::new(),
                }),
                word: AtomicUsize::new(0),
                kind,
            }
        }
    }

    /// Creates a `Notify` without a stored permit.
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
        Self::of_kind(WaitKind::Notify)
    }

    /// Like [`new`](Self::new), in a constant.
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
        Self::of_kind(WaitKind::Notify)
    }

    /// Waits for a notification.
    ///
    /// If a permit is stored, the first poll takes it and is ready. Otherwise the future joins the queue of
    /// [`notify_one`](Self::notify_one). A call of [`notify_waiters`](Self::notify_waiters) notifies all
    /// futures that exist at the time, polled or not.
    ///
    /// # Cancel safety
    /// Dropping the future gives up its place in the queue. A notification by `notify_one` that it received
    /// and did not return goes to the next waiter, or is stored.
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

    /// Like [`notified`](Self::notified). The future keeps the `Notify` alive.
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

    /// Notifies the task that has waited longest. Without waiters, stores a permit, with which the next
    /// `notified` is ready at once.
    ///
    /// At most one permit is stored, however often this is called.
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

    /// Notifies the task that has waited shortest; otherwise as [`notify_one`](Self::notify_one).
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

    /// Notifies all waiting tasks: all existing futures of [`notified`](Self::notified), polled or not.
    ///
    /// Stores no permit, and leaves a stored one. A later `notified` waits.
    ///
    /// If a waker panics, the others are woken before the panic is resumed.
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
        // ORDERING: Acquire pairs with the Release of earlier exchanges of the word. The exchange below
        // passes their order on.
        let mut word = self.word.load(Acquire);
        while word & HAS_WAITERS == 0 {
            // ORDERING: Release pairs with the Acquire of `Notify::calls`, `take_first` and `take`, which see
            // the new count. Acquire pairs with the Release of earlier exchanges.
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

    /// Calls `change` under the lock, and notifies all waiters if it returns true.
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
        // ORDERING: Acquire pairs with the Release of `notify_waiters` and `notify_all`: a future that sees
        // the count sees what came before the call.
        calls(self.word.load(Acquire))
    }

    #[inline]
    fn notify(&self, end: End) {
        let mut word = self.word.load(Relaxed);
        loop {
            if word & HAS_WAITERS != 0 {
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
            // ORDERING: Release pairs with the Acquire of `take_first` and `take`. The exchange is made even
            // if a permit is stored: its taker must see what both callers did.
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

    /// Notifies one waiter and returns its waker. Without waiters, fails with the current word.
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
        self.clear_flag_if_empty(&waiters);
        // SAFETY: the waiter was in the list, so it is live. The lock is held, and the waiter is out of the
        // list.
        Ok(unsafe { waiter.as_ref().give(Notice::One(end)) })
    }

    /// Clears HAS_WAITERS if `waiting` is empty. The caller holds the lock and has taken a waiter out of
    /// `waiting`, so no other thread changes the word, and a load and a store replace a read-modify-write.
    fn clear_flag_if_empty(&self, waiters: &Waiters) {
        if waiters.waiting.is_empty() {
            let word = self.word.load(Relaxed);
            debug_assert_eq!(word & (HAS_WAITERS | PERMIT), HAS_WAITERS);
            // ORDERING: Release pairs with the Acquire loads of the word. A store hides the earlier Release
            // operations on the word; they happened before this thread got the lock, so this one covers them.
            self.word.store(word & !HAS_WAITERS, Release);
        }
    }

    fn notify_all<'a>(&'a self, mut guard: MutexGuard<'a, Waiters>) {
        // The flag changes only under the lock, which is held.
        let flag = self.word.load(Relaxed) & HAS_WAITERS;
        // ORDERING: Release pairs with the Acquire of `Notify::calls`, `take_first` and `take`, which see the
        // new count. Acquire pairs with the Release of earlier exchanges, whose order this passes on.
        self.word.fetch_add(CALL.wrapping_sub(flag), AcqRel);
        let waiters = &mut *guard;
        waiters.waking.append(&mut waiters.waiting);
        let mut batch = WakeBatch::new();
        loop {
            while batch.has_room() {
                let Some(waiter) = guard.waking.pop_front() else {
                    break;
                };
                // SAFETY: the waiter was in the list, so it is live. The lock is held, and the waiter is out
                // of the list.
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
