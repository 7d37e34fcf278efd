//! The counter and wait queue of the semaphore and all locks.
//!
//! One word holds the number of available permits and two flags: closed, and has waiters. Waiters are in a
//! FIFO queue behind a lock.
//!
//! # Invariants
//!
//! - While HAS_WAITERS is set, only the holder of the queue's lock takes permits out of the word, and assigns
//!   them to the first waiter. So no request overtakes another, although `release` adds permits without the
//!   lock.
//! - Both flags change only under the queue's lock.
//! - A waiter in the queue lacks at least one permit. Waiters behind the first have none.
//!
//! # Cost
//!
//! Without waiters: one read-modify-write to acquire and one to release; no lock, no allocation.

use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use super::super::holders::{Hold, HolderRecord};
use super::super::spans::PermitsSpans;
use super::acquire::{Acquire, AcquireOpen, Waiter};
use super::error::{AcquireError, TryAcquireError};
use crate::list::List;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{Acquire as AcquireOrder, Relaxed, Release};
use crate::task::activity::WaitKind;
use crate::wake_batch::WakeBatch;

/// No more permits are granted.
const CLOSED: usize = 1;
/// The queue is not empty.
const HAS_WAITERS: usize = 2;
/// The count of permits is in units of this.
const PERMIT: usize = 4;

#[derive(Debug)]
pub(in crate::sync) struct Permits {
    word: AtomicUsize,
    queue: Mutex<List<Waiter>>,
    pub(in crate::sync) holder: HolderRecord,
    pub(in crate::sync) spans: PermitsSpans,
}

impl Permits {
    pub(in crate::sync) const MAXIMUM: usize = usize::MAX >> 3;

    const_unless_loom! {
        #[track_caller]
        pub(in crate::sync) const fn new(count: usize, kind: WaitKind) -> Self {
            assert!(
                count <= Self::MAXIMUM,
                "a semaphore may not have more than MAX_PERMITS permits"
            );
            // Permits of a semaphore in a constant often go to other tasks, as they can outlive each task.
            let known = match kind {
                WaitKind::Semaphore => 0,
                _ => count,
            };
            Self {
                word: AtomicUsize::new(count * PERMIT),
                queue: Mutex::new(List::new()),
                holder: HolderRecord::new(kind, known),
                spans: PermitsSpans::none(kind),
            }
        }
    }

    const_unless_loom! {
        pub(in crate::sync) const fn closed(kind: WaitKind) -> Self {
            Self {
                word: AtomicUsize::new(CLOSED),
                queue: Mutex::new(List::new()),
                holder: HolderRecord::new(kind, 0),
                spans: PermitsSpans::none(kind),
            }
        }
    }

    /// Creates permits that are not in a constant, and so may have spans.
    #[track_caller]
    pub(in crate::sync) fn with_spans(count: usize, kind: WaitKind) -> Self {
        Self {
            holder: HolderRecord::new(kind, count),
            spans: PermitsSpans::new(count, kind),
            ..Self::new(count, kind)
        }
    }

    pub(in crate::sync) fn available(&self) -> usize {
        // ORDERING: Acquire pairs with the Release of `release`: a thread that sees a permit sees what its
        // last holder did.
        self.word.load(AcquireOrder) / PERMIT
    }

    #[inline]
    pub(in crate::sync) fn is_closed(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `close`: a thread that sees CLOSED sees what came
        // before it.
        self.word.load(AcquireOrder) & CLOSED != 0
    }

    /// Whether it is closed; for an exclusive borrow.
    pub(in crate::sync) fn is_closed_mut(&mut self) -> bool {
        self.word.load(Relaxed) & CLOSED != 0
    }

    #[inline]
    #[track_caller]
    pub(in crate::sync) fn try_acquire(&self, count: usize) -> Result<Hold, TryAcquireError> {
        check_count(count);
        // ORDERING: Acquire pairs with the Release of `close`, if CLOSED is seen.
        let mut word = self.word.load(AcquireOrder);
        loop {
            if word & CLOSED != 0 {
                return Err(TryAcquireError::Closed);
            }
            // With waiters, the permits in the word belong to the first of them.
            if count > 0 && (word & HAS_WAITERS != 0 || word < count * PERMIT) {
                return Err(TryAcquireError::NoPermits);
            }
            // ORDERING: Acquire pairs with the Release of `release`: the caller sees what the last holders of
            // the permits did. On failure it pairs with the Release of `close`.
            match self.word.compare_exchange_weak(
                word,
                word - count * PERMIT,
                AcquireOrder,
                AcquireOrder,
            ) {
                Ok(_) => return Ok(self.holder.acquired(count)),
                Err(now) => word = now,
            }
        }
    }

    #[inline]
    #[track_caller]
    pub(in crate::sync) fn acquire(&self, count: usize) -> Acquire<'_> {
        check_count(count);
        Acquire::new(self, count)
    }

    /// Like [`acquire`](Self::acquire), for permits that are never closed.
    #[inline]
    pub(in crate::sync) fn acquire_open(&self, count: usize) -> AcquireOpen<'_> {
        AcquireOpen(Acquire::new(self, count))
    }

    /// Releases permits, or adds permits that no task has held, with [`Hold::NONE`]; at most
    /// [`MAXIMUM`](Self::MAXIMUM).
    ///
    /// # Panics
    /// If the number of permits would exceed [`MAXIMUM`](Self::MAXIMUM).
    #[inline]
    #[track_caller]
    pub(in crate::sync) fn release(&self, count: usize, hold: Hold) {
        if count == 0 {
            return;
        }
        if self.holder.released(count, hold) {
            self.forget_holders();
        }
        // ORDERING: Release pairs with the Acquire of `try_acquire`, `acquire_or_enqueue`, `forget` and
        // `assign_to_first`: the next holder sees what this one did.
        let before = self.word.fetch_add(count * PERMIT, Release);
        if before / PERMIT + count > Self::MAXIMUM {
            self.too_many(count);
        }
        if before & HAS_WAITERS != 0 {
            self.assign_permits();
        } else {
            self.spans.added(count);
        }
    }

    #[cold]
    #[track_caller]
    fn too_many(&self, count: usize) -> ! {
        self.word.fetch_sub(count * PERMIT, Relaxed);
        panic!(
            "number of added permits ({count}) would overflow MAX_PERMITS ({})",
            Self::MAXIMUM
        );
    }

    /// Assigns the permits of the word to waiters and wakes those that have all.
    #[cold]
    fn assign_permits(&self) {
        let mut batch = WakeBatch::new();
        loop {
            let mut queue = lock(&self.queue);
            while batch.has_room() && self.assign_to_first(&mut queue, &mut batch) {}
            let done = batch.has_room();
            drop(queue);
            if done {
                return batch.finish();
            }
            batch.wake_all();
        }
    }

    /// Assigns permits to the first waiter. False if there is none or the permits do not suffice.
    fn assign_to_first(&self, queue: &mut List<Waiter>, batch: &mut WakeBatch) -> bool {
        // While HAS_WAITERS is set, only the holder of the lock takes permits. So the count does not fall before
        // the subtractions below.
        let word = self.word.load(Relaxed);
        if word & HAS_WAITERS == 0 || word < PERMIT {
            return false;
        }
        let Some(first) = queue.first() else {
            return false;
        };
        // SAFETY: a node leaves the queue under this lock before it is dropped, so it is live. Its fields are
        // atomics and cells, so a shared reference is sound.
        let waiter = unsafe { first.as_ref() };
        let missing = waiter.missing.load(Relaxed);
        let given = missing.min(word / PERMIT);
        if given < missing {
            // ORDERING: Acquire pairs with the Release of `release`. The lock passes the order on to the
            // thread that assigns the rest.
            self.word.fetch_sub(given * PERMIT, AcquireOrder);
            waiter.missing.store(missing - given, Relaxed);
            waiter.spans.assigned(given);
            self.note_first(queue);
            return false;
        }
        queue.pop_front();
        let flag = if queue.is_empty() { HAS_WAITERS } else { 0 };
        // ORDERING: Acquire pairs with the Release of `release`. The store below passes the order on to the
        // waiter.
        let word = self.word.fetch_sub(given * PERMIT + flag, AcquireOrder);
        // SAFETY: the queue's lock is held, which guards the waker.
        let waker = waiter.waker.with_mut(|waker| unsafe { (*waker).take() });
        let granted = self.holder.granted(waiter.count, waker.as_ref());
        waiter.granted.set(granted);
        self.note_first(queue);
        if let Some(waker) = waker {
            batch.push(waker);
        }
        let spans = waiter.spans.clone();
        // ORDERING: Release pairs with the Acquire of `Waiter::has_all`. The waiter may be dropped from here
        // on.
        waiter.missing.store(0, Release);
        spans.assigned(given);
        if flag != 0 {
            self.spans.added(word / PERMIT - given);
        }
        true
    }

    /// Records which request is the first. Called under the queue's lock.
    #[inline]
    fn note_first(&self, queue: &List<Waiter>) {
        if self.holder.has_several() {
            self.note_first_of(queue);
        }
    }

    #[inline(never)]
    fn note_first_of(&self, queue: &List<Waiter>) {
        let Some(first) = queue.first() else {
            return self.holder.no_first();
        };
        // SAFETY: a node leaves the queue under this lock before it is dropped, so it is live.
        let first = unsafe { first.as_ref() };
        let lacks = first.missing.load(Relaxed);
        first.waker.with(|waker| {
            // SAFETY: the queue's lock is held, which guards the waker.
            let waker = unsafe { (*waker).as_ref() };
            self.holder.first_is(waker, first.count, lacks);
        });
    }

    /// Called when permits are added or removed for good, since more may be added at any time, and when a task releases
    /// permits that another one has acquired.
    #[cold]
    pub(in crate::sync) fn forget_holders(&self) {
        if self.holder.is_known() {
            let _queue = lock(&self.queue);
            self.holder.forget();
        }
    }

    /// Called by a request that was woken with its permits.
    pub(super) fn claim(&self, waiter: Pin<&Waiter>) {
        let granted = waiter.granted.get();
        let hold = self.holder.claimed(granted, waiter.count);
        waiter.granted.set(hold);
        self.grant_ended(granted);
        self.holder.waiter_left();
    }

    #[inline]
    fn grant_ended(&self, granted: Hold) {
        if granted.is_unrecorded() {
            let queue = lock(&self.queue);
            self.holder.unrecorded_ended();
            self.note_first(&queue);
        }
    }

    /// Removes up to `count` available permits, or none if a request waits. Returns the number removed.
    pub(in crate::sync) fn forget(&self, count: usize) -> usize {
        let mut word = self.word.load(Relaxed);
        loop {
            let taken = if word & HAS_WAITERS != 0 {
                0
            } else {
                count.min(word / PERMIT)
            };
            // ORDERING: Acquire pairs with the Release of `release`: the caller sees what the last holders of
            // the permits did.
            match self.word.compare_exchange_weak(
                word,
                word - taken * PERMIT,
                AcquireOrder,
                Relaxed,
            ) {
                Ok(_) => return taken,
                Err(now) => word = now,
            }
        }
    }

    pub(in crate::sync) fn close(&self) {
        let mut batch = WakeBatch::new();
        let mut queue = lock(&self.queue);
        // ORDERING: Release pairs with the Acquire of `is_closed`, `try_acquire` and `acquire_or_enqueue`.
        self.word.fetch_or(CLOSED, Release);
        // Stops `release` from assigning permits.
        self.word.fetch_and(!HAS_WAITERS, Relaxed);
        // No request is blocked any more, also those that are not woken yet.
        if self.holder.has_several() {
            self.holder.forget();
        }
        loop {
            while batch.has_room() {
                let Some(waiter) = queue.pop_front() else {
                    break;
                };
                // SAFETY: a node in the queue is live, and the lock that guards its waker is held.
                let waker = unsafe { waiter.as_ref().waker.with_mut(|waker| (*waker).take()) };
                if let Some(waker) = waker {
                    batch.push(waker);
                }
            }
            let done = batch.has_room();
            drop(queue);
            if done {
                return batch.finish();
            }
            batch.wake_all();
            queue = lock(&self.queue);
        }
    }

    /// Acquires permits or puts the waiter in the queue.
    ///
    /// # Safety
    /// The waiter is pinned and in no queue. If this returns `Pending`, it is not moved or dropped before
    /// [`cancel`](Self::cancel) was called or it has all its permits.
    #[cold]
    pub(super) unsafe fn acquire_or_enqueue(
        &self,
        waiter: NonNull<Waiter>,
        waker: Waker,
    ) -> Poll<Result<Hold, AcquireError>> {
        // SAFETY: the caller passes a live node. Its fields are atomics and cells, so a shared reference is
        // sound.
        let fields = unsafe { waiter.as_ref() };
        let count = fields.count;
        let mut queue = lock(&self.queue);
        // ORDERING: Acquire pairs with the Release of `close`, if CLOSED is seen.
        let mut word = self.word.load(AcquireOrder);
        loop {
            if word & CLOSED != 0 {
                return Poll::Ready(Err(AcquireError(())));
            }
            if word & HAS_WAITERS != 0 {
                fields.missing.store(count, Relaxed);
                break;
            }
            let (next, missing) = if word >= count * PERMIT {
                (word - count * PERMIT, 0)
            } else {
                (HAS_WAITERS, count - word / PERMIT)
            };
            // ORDERING: Acquire pairs with the Release of `release`: the caller sees what the last holders of
            // the permits did. On failure it pairs with the Release of `close`.
            match self
                .word
                .compare_exchange_weak(word, next, AcquireOrder, AcquireOrder)
            {
                Ok(_) if missing == 0 => return Poll::Ready(Ok(self.holder.acquired(count))),
                Ok(_) => {
                    fields.missing.store(missing, Relaxed);
                    fields.spans.set_taken(count - missing);
                    break;
                }
                Err(now) => word = now,
            }
        }
        self.holder.waiter_came(&waker);
        // SAFETY: the queue's lock is held, which guards the waker.
        let old = fields
            .waker
            .with_mut(|place| unsafe { (*place).replace(waker) });
        // SAFETY: the caller keeps the node pinned and calls `cancel` before it drops it.
        unsafe { queue.push_back(waiter) };
        if queue.first() == Some(waiter) {
            self.note_first(&queue);
        }
        drop(queue);
        drop(old);
        Poll::Pending
    }

    /// Registers the waker of `cx`. False if the waiter has all its permits, or the semaphore is closed.
    pub(super) fn register_waker(&self, waiter: Pin<&Waiter>, cx: &mut Context<'_>) -> bool {
        let mut clone = None;
        loop {
            let queue = lock(&self.queue);
            if waiter.has_all() || self.is_closed() {
                return false;
            }
            // SAFETY: the queue's lock is held, which guards the waker.
            let old = waiter.waker.with_mut(|place| unsafe {
                if (*place)
                    .as_ref()
                    .is_some_and(|waker| waker.will_wake(cx.waker()))
                {
                    return Some(None);
                }
                clone.take().map(|waker| (*place).replace(waker))
            });
            if matches!(old, Some(Some(_))) && queue.first() == Some(NonNull::from(&*waiter)) {
                self.note_first(&queue);
            }
            drop(queue);
            if old.is_some() {
                self.holder.still_waits(cx.waker());
                return true;
            }
            // Cloning a custom waker runs foreign code, so it happens without the lock.
            clone = Some(cx.waker().clone());
        }
    }

    /// Takes a waiter out of the queue, drops its waker, and releases the permits that it was assigned.
    ///
    /// # Safety
    /// The waiter is live and was put in this queue.
    #[cold]
    pub(super) unsafe fn cancel(&self, waiter: NonNull<Waiter>) {
        // SAFETY: the caller passes a live node.
        let fields = unsafe { waiter.as_ref() };
        self.holder.waiter_left();
        if !fields.has_all() {
            let mut queue = lock(&self.queue);
            // SAFETY: the node was put in this queue, so it is in this one or, after `close`, in none.
            if unsafe { queue.remove(waiter) } {
                self.note_first(&queue);
                if queue.is_empty() {
                    // No change if the semaphore is closed, as the flag is clear then.
                    let word = self.word.fetch_and(!HAS_WAITERS, Relaxed);
                    drop(queue);
                    if word & HAS_WAITERS != 0 {
                        self.spans.added(word / PERMIT);
                    }
                }
            }
        }
        let granted = fields.granted.get();
        self.grant_ended(granted);
        // SAFETY: the node is in no queue any more, so no other thread uses its waker.
        let waker = fields.waker.with_mut(|waker| unsafe { (*waker).take() });
        self.release(fields.count - fields.missing.load(Relaxed), granted);
        drop(waker);
    }
}

#[inline]
#[track_caller]
fn check_count(count: usize) {
    assert!(
        count <= Permits::MAXIMUM,
        "a semaphore may not have more than MAX_PERMITS permits ({}), but was given {count}",
        Permits::MAXIMUM
    );
}
