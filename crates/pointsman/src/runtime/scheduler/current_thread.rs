//! A current-thread runtime: a thread in `block_on` is the worker.
//!
//! The runtime has one slot. If several threads block on futures, one holds the slot; the others wait for their own
//! futures or for the slot.
//!
//! Invariant: while the slot is free, one of the threads that wait for it has been unparked to take it. A thread that was
//! unparked and leaves without the slot unparks the next.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{self, ThreadId};

use super::worker::Worker;
use super::{Shared, context};
use crate::context::thread_number;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::park::ThreadParker;
use crate::task::coop;

pub(super) struct OnlySlotLock(Mutex<SlotQueue>);

struct SlotQueue {
    is_taken: bool,
    /// The thread that took the slot last, with its [number](thread_number), which is cheaper to compare.
    thread: Option<(usize, ThreadId)>,
    waiting: VecDeque<Arc<ThreadParker>>,
    /// The number of tasks that were spawned by threads without the slot until a thread last released it.
    #[cfg(feature = "diagnostics")]
    spawned_before: u64,
}

impl OnlySlotLock {
    pub(super) fn new() -> Self {
        Self(Mutex::new(SlotQueue {
            is_taken: false,
            thread: None,
            waiting: VecDeque::new(),
            #[cfg(feature = "diagnostics")]
            spawned_before: 0,
        }))
    }

    fn try_take(&self) -> bool {
        let mut queue = lock(&self.0);
        if queue.is_taken {
            return false;
        }
        queue.is_taken = true;
        let number = thread_number();
        if queue.thread.is_none_or(|(last, _)| last != number) {
            queue.thread = Some((number, thread::current().id()));
        }
        true
    }

    /// Wakes the threads that wait for the slot, which then see that a task has panicked.
    pub(super) fn unpark_all(&self) {
        for parker in &lock(&self.0).waiting {
            parker.unpark();
        }
    }

    pub(super) fn thread(&self) -> Option<ThreadId> {
        lock(&self.0).thread.map(|(_, id)| id)
    }

    #[cfg(feature = "diagnostics")]
    pub(super) fn thread_number(&self) -> Option<usize> {
        lock(&self.0).thread.map(|(number, _)| number)
    }

    pub(super) fn is_taken(&self) -> bool {
        lock(&self.0).is_taken
    }

    #[cfg(feature = "diagnostics")]
    pub(super) fn spawned_before(&self) -> u64 {
        lock(&self.0).spawned_before
    }

    fn release(&self, #[cfg(feature = "diagnostics")] spawned: u64) {
        let mut queue = lock(&self.0);
        queue.is_taken = false;
        #[cfg(feature = "diagnostics")]
        {
            queue.spawned_before = spawned;
        }
        unpark_next(&mut queue);
    }
}

fn unpark_next(queue: &mut SlotQueue) {
    if let Some(next) = queue.waiting.pop_front() {
        next.unpark();
    }
}

impl Shared {
    /// Blocks this thread on a future and runs tasks meanwhile.
    pub(super) fn block_on_and_work<F: Future>(
        self: &Arc<Self>,
        mut future: Pin<&mut F>,
    ) -> F::Output {
        ThreadParker::with_current(|parker, waker| {
            let _blocking = context::set_blocking(parker);
            let mut cx = Context::from_waker(waker);
            let mut poll = || match coop::budget(|| future.as_mut().poll(&mut cx)) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            };
            // Poll the future before any task runs.
            parker.notify();
            loop {
                self.fail_if_panicked();
                let result = match self.take_only_slot() {
                    Some(_held) => Worker::new(self, &self.slots[0], parker).run(&mut poll),
                    None => self.wait_for_slot(parker, &mut poll),
                };
                if let Some(output) = result {
                    return output;
                }
            }
        })
    }

    pub(super) fn take_only_slot(&self) -> Option<OnlySlot<'_>> {
        if self.is_shut_down() || !self.only_slot.try_take() {
            return None;
        }
        #[cfg(feature = "stall-backtrace")]
        self.slots[0].set_os_thread();
        self.idle.inc_awake();
        Some(OnlySlot {
            shared: self,
            held: Some(context::hold(&self.slots[0])),
        })
    }

    /// Waits until the future is ready, or this thread may take the slot.
    fn wait_for_slot<R>(
        &self,
        parker: &Arc<ThreadParker>,
        mut poll: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        let waiting = SlotWaiter::new(&self.only_slot, parker);
        loop {
            if parker.take_notified() {
                match poll() {
                    Some(output) => return Some(output),
                    None => continue,
                }
            }
            // A thread that is not in the queue yet when `unpark_all` locks it sees the flag here.
            if self.has_panicked() {
                return None;
            }
            if !self.is_shut_down() && waiting.as_ref().is_none_or(SlotWaiter::is_offered) {
                return None;
            }
            parker.park(None);
        }
    }

    /// Closes the slot during the shutdown, unless a thread holds it, which then closes it.
    pub(super) fn close_only_slot(&self) {
        if self.only_slot.try_take() {
            self.close_slot(&self.slots[0]);
        }
    }
}

pub(super) struct OnlySlot<'a> {
    shared: &'a Shared,
    held: Option<context::SlotGuard>,
}

impl Drop for OnlySlot<'_> {
    fn drop(&mut self) {
        self.shared.idle.dec_awake();
        drop(self.held.take());
        if self.shared.is_shut_down() {
            self.shared.close_slot(&self.shared.slots[0]);
        } else {
            self.shared.only_slot.release(
                #[cfg(feature = "diagnostics")]
                self.shared.outside_counters.spawned.get(),
            );
            // The shutdown may have found the slot taken.
            if self.shared.is_shut_down() {
                self.shared.close_only_slot();
            }
        }
    }
}

/// An entry in the queue for the slot, removed when this is dropped.
struct SlotWaiter<'a> {
    only_slot: &'a OnlySlotLock,
    parker: &'a Arc<ThreadParker>,
}

impl<'a> SlotWaiter<'a> {
    /// Returns `None` if the slot is free.
    fn new(only_slot: &'a OnlySlotLock, parker: &'a Arc<ThreadParker>) -> Option<Self> {
        let mut queue = lock(&only_slot.0);
        if !queue.is_taken {
            return None;
        }
        queue.waiting.push_back(Arc::clone(parker));
        Some(Self { only_slot, parker })
    }

    /// Whether this thread was unparked to take the slot.
    fn is_offered(&self) -> bool {
        let queue = lock(&self.only_slot.0);
        !queue
            .waiting
            .iter()
            .any(|each| Arc::ptr_eq(each, self.parker))
    }
}

impl Drop for SlotWaiter<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.only_slot.0);
        let before = queue.waiting.len();
        queue.waiting.retain(|each| !Arc::ptr_eq(each, self.parker));
        if queue.waiting.len() == before && !queue.is_taken {
            // This thread was offered the slot. If it does take the slot, the next thread will find it taken.
            unpark_next(&mut queue);
        }
    }
}
