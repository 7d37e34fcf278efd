//! Tasks that wait for one and the same event. When it comes they are all woken, the one that has waited
//! longest first.
//!
//! Invariant: a waiter is in the list from the moment it finds that it has to wait until it is woken or
//! given up, and both ends of that are under the lock. The lock is never held while a waker runs or is
//! dropped. An event wakes those only who came before it: each waiter carries the number of the events
//! that it has missed, so that one who comes back while others are being woken is not woken twice.
//!
//! Waiting costs one lock and no allocation. Waking costs one lock for every 32 waiters; the owner keeps a
//! bit of its own that spares it the lock when nobody waits.

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
use crate::wake_batch::WakeBatch;

#[derive(Debug)]
struct Waiter {
    links: Links<Waiter>,
    waker: Option<Waker>,
    /// How many events had been when it came.
    events: u64,
    /// Whether it is in the list. Changes under the lock only.
    queued: AtomicBool,
}

// SAFETY: the links are a field of the waiter.
unsafe impl Node for Waiter {
    unsafe fn links(node: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the node is live.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

// SAFETY: a waiter's links are used under the lock of its set alone.
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

    /// Wakes everyone who waits now. `emptied` is called under the lock if nobody waits then: the owner
    /// takes its bit back there.
    pub(crate) fn wake_all(&self, emptied: impl FnOnce()) {
        let mut batch = WakeBatch::new();
        let mut waiters = lock(&self.waiters);
        let event = waiters.events;
        waiters.events += 1;
        while let Some(first) = waiters.list.first() {
            // SAFETY: what is in the list is live, and the lock is held.
            let waiter = unsafe { first.as_ref() };
            if waiter.events > event {
                break;
            }
            waiters.list.pop_front();
            // SAFETY: as above; nobody else looks at the waker without the lock.
            let waker = unsafe { (*first.as_ptr()).waker.take() };
            // ORDERING: pairs with the Acquire in `Wait::drop` and `poll`: whoever sees that the waiter is
            // out may free it, so nothing of it is touched after this.
            // SAFETY: live until this store.
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

    /// Waits until `check` gives something. It is asked without the lock first (`false`), and under the lock
    /// (`true`) before the task is put in: there the owner makes sure that the next event comes here.
    pub(crate) fn wait<R, F: FnMut(bool) -> Option<R>>(&self, check: F) -> Wait<'_, F> {
        Wait {
            set: self,
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

/// Future of [`WaitSet::wait`]. Dropped early, it leaves the set.
#[derive(Debug)]
pub(crate) struct Wait<'a, F> {
    set: &'a WaitSet,
    check: F,
    waiter: UnsafeCell<Waiter>,
    _pinned: PhantomPinned,
}

// SAFETY: the waiter is shared under the lock of the set.
unsafe impl<F: Send> Send for Wait<'_, F> {}
// SAFETY: nothing can be done with a shared `Wait`.
unsafe impl<F: Sync> Sync for Wait<'_, F> {}

impl<F> Wait<'_, F> {
    fn is_queued(&self) -> bool {
        // ORDERING: pairs with the Release in `wake_all`, which touches the waiter no more after it.
        // SAFETY: an atomic of a waiter that lives as long as this.
        unsafe { (*self.waiter.get()).queued.load(Acquire) }
    }

    /// Takes the waiter out of the list, if it is in.
    fn leave(&self) {
        if self.is_queued() {
            let mut waiters = lock(&self.set.waiters);
            // SAFETY: the waiter is live, and in the list of this set or in none.
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
        // SAFETY: the waiter is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(result) = (this.check)(false) {
            this.leave();
            return Poll::Ready(result);
        }
        // A clone may run code of others, which may use the set.
        let mut waker = Some(cx.waker().clone());
        let mut waiters = lock(&this.set.waiters);
        if let Some(result) = (this.check)(true) {
            drop(waiters);
            this.leave();
            return Poll::Ready(result);
        }
        let events = waiters.events;
        // SAFETY: the waiter is pinned, its fields are used under the lock alone, and it leaves the list
        // before it is dropped.
        unsafe {
            let waiter = this.waiter.get();
            (*waiter).events = events;
            std::mem::swap(&mut (*waiter).waker, &mut waker);
            // The events of a list must ascend, so whoever comes again goes to the end.
            let node = NonNull::new_unchecked(waiter);
            waiters.list.remove(node);
            waiters.list.push_back(node);
            (*waiter).queued.store(true, Relaxed);
        }
        drop(waiters);
        drop(waker);
        Poll::Pending
    }
}

impl<F> Drop for Wait<'_, F> {
    fn drop(&mut self) {
        self.leave();
    }
}
