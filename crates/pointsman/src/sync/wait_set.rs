//! A set of tasks that wait for the same event. An event wakes all of them, in the order in which they began
//! to wait.
//!
//! # Invariants
//!
//! - A waiter enters the list under the lock when it finds that it has to wait. It leaves the list under the
//!   lock when it is woken or cancelled.
//! - The lock is not held while a waker is cloned, woken or dropped.
//! - An event wakes only waiters that came before it: each waiter carries the number of events so far. A
//!   waiter that returns while others are being woken is not woken twice.
//!
//! # Cost
//!
//! One lock and no allocation to wait. One lock per batch of wakers to wake. The owner keeps a flag of its
//! own that spares it the lock when no task waits.

use std::cell::UnsafeCell;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use crate::list::{Links, List, Node};
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicBool;
use crate::loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::task::activity::{WaitKind, note_wait};
use crate::wake_batch::WakeBatch;

#[derive(Debug)]
struct Waiter {
    links: Links<Waiter>,
    waker: Option<Waker>,
    /// The number of events when the waiter entered the list.
    events: u64,
    /// Whether the waiter is in the list. Changes only under the lock.
    queued: AtomicBool,
}

// SAFETY: `links` returns the address of a field of the node.
unsafe impl Node for Waiter {
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the caller passes a live node, so the address of its field is not null.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

// SAFETY: all fields but the atomic flag are used under the lock of the set only.
unsafe impl Send for Waiter {}

#[derive(Debug)]
struct Waiters {
    list: List<Waiter>,
    events: u64,
}

#[derive(Debug)]
pub(crate) struct WaitSet {
    waiters: Mutex<Waiters>,
}

impl WaitSet {
    pub(crate) fn new() -> Self {
        Self {
            waiters: Mutex::new(Waiters {
                list: List::new(),
                events: 0,
            }),
        }
    }

    /// Wakes all current waiters. If the list is empty afterwards, calls `emptied` under the lock: the owner
    /// clears its flag there.
    pub(crate) fn wake_all(&self, emptied: impl FnOnce()) {
        let mut batch = WakeBatch::new();
        let mut waiters = lock(&self.waiters);
        let event = waiters.events;
        waiters.events += 1;
        while let Some(first) = waiters.list.first() {
            // SAFETY: a waiter leaves the list under this lock before it is dropped, so it is live.
            let waiter = unsafe { first.as_ref() };
            if waiter.events > event {
                break;
            }
            waiters.list.pop_front();
            // SAFETY: the waiter is live until `queued` is cleared, and the lock guards its waker.
            let waker = unsafe { (*first.as_ptr()).waker.take() };
            // ORDERING: Release pairs with the Acquire of `Wait::is_queued`. An owner that sees `false` may
            // free the waiter, so this is the last access to it.
            // SAFETY: the waiter is live until this store, as its owner cannot see `false` before.
            unsafe { (*first.as_ptr()).queued.store(false, Release) };
            if let Some(waker) = waker {
                batch.push(waker);
            }
            if !batch.has_room() {
                drop(waiters);
                batch.wake_all();
                waiters = lock(&self.waiters);
            }
        }
        if waiters.list.is_empty() {
            emptied();
        }
        drop(waiters);
        batch.finish();
    }

    /// Waits until `check` returns `Some`. It is called with `false` without the lock first, and with `true`
    /// under the lock before the task is added. In the second call the owner sets its flag, so that the next
    /// event calls [`wake_all`](Self::wake_all).
    pub(crate) fn wait<R, F: FnMut(bool) -> Option<R>>(
        &self,
        kind: WaitKind,
        check: F,
    ) -> Wait<'_, F> {
        Wait {
            set: self,
            kind,
            check,
            waiter: UnsafeCell::new(Waiter {
                links: Links::new(),
                waker: None,
                events: 0,
                queued: AtomicBool::new(false),
            }),
            _pinned: PhantomPinned,
        }
    }
}

/// Future of [`WaitSet::wait`].
#[derive(Debug)]
pub(crate) struct Wait<'a, F> {
    set: &'a WaitSet,
    kind: WaitKind,
    check: F,
    waiter: UnsafeCell<Waiter>,
    _pinned: PhantomPinned,
}

// SAFETY: other threads use the waiter only under the lock of the set, so the future may change its thread.
unsafe impl<F: Send> Send for Wait<'_, F> {}
// SAFETY: no method takes a shared `Wait` but `Debug`, which reads nothing of the waiter.
unsafe impl<F: Sync> Sync for Wait<'_, F> {}

impl<F> Wait<'_, F> {
    fn is_queued(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `wake_all`, whose accesses to the waiter end before
        // this thread frees it.
        // SAFETY: the waiter is a field of `self`, and the flag is atomic.
        unsafe { (*self.waiter.get()).queued.load(Acquire) }
    }

    /// Takes the waiter out of the list.
    fn leave(&self) {
        if self.is_queued() {
            let mut waiters = lock(&self.set.waiters);
            // SAFETY: the waiter is a field of `self`, hence live, and in the list of this set or in none.
            // The lock is held.
            unsafe {
                let waiter = NonNull::new_unchecked(self.waiter.get());
                if waiters.list.remove(waiter) {
                    (*self.waiter.get()).queued.store(false, Relaxed);
                }
            }
        }
    }
}

impl<R, F: FnMut(bool) -> Option<R>> Future for Wait<'_, F> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // SAFETY: nothing is moved out of the future, so the waiter stays where it is.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(result) = (this.check)(false) {
            this.leave();
            return Poll::Ready(result);
        }
        // Cloning a custom waker runs foreign code, which may use this set.
        let mut waker = Some(cx.waker().clone());
        let mut waiters = lock(&this.set.waiters);
        if let Some(result) = (this.check)(true) {
            drop(waiters);
            this.leave();
            return Poll::Ready(result);
        }
        let events = waiters.events;
        // SAFETY: the lock is held, which guards the waiter's fields. The waiter is pinned, and `drop` takes
        // it out of the list.
        unsafe {
            let waiter = this.waiter.get();
            (*waiter).events = events;
            std::mem::swap(&mut (*waiter).waker, &mut waker);
            // `wake_all` relies on ascending event numbers, so a returning waiter moves to the end.
            let node = NonNull::new_unchecked(waiter);
            waiters.list.remove(node);
            waiters.list.push_back(node);
            (*waiter).queued.store(true, Relaxed);
        }
        drop(waiters);
        drop(waker);
        note_wait(this.kind, std::ptr::from_ref(this.set).addr(), cx.waker());
        Poll::Pending
    }
}

impl<F> Drop for Wait<'_, F> {
    fn drop(&mut self) {
        self.leave();
    }
}
