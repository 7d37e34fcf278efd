//! A runtime of the current thread: whoever blocks on a future is the worker.
//!
//! It has one slot. Of several threads that block on futures one has it; the others wait for their futures, or for
//! the slot.
//!
//! Invariant: while the slot is free, one of those that wait for it has been unparked to take it. One that was
//! unparked and leaves without it unparks the next.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::super::context;
use super::Shared;
use super::worker::Worker;
use crate::loom::lock;
use crate::loom::sync::Mutex;
use crate::park::ThreadParker;
use crate::task::coop;

/// Who has the only slot.
pub(super) struct SlotLock(Mutex<State>);

struct State {
    is_taken: bool,
    waiting: VecDeque<Arc<ThreadParker>>,
}

impl SlotLock {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State {
            is_taken: false,
            waiting: VecDeque::new(),
        }))
    }

    fn try_take(&self) -> bool {
        !std::mem::replace(&mut lock(&self.0).is_taken, true)
    }

    fn leave(&self) {
        let mut state = lock(&self.0);
        state.is_taken = false;
        unpark_next(&mut state);
    }
}

fn unpark_next(state: &mut State) {
    if let Some(next) = state.waiting.pop_front() {
        next.unpark();
    }
}

impl Shared {
    /// Blocks this thread on a future, and works meanwhile.
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
            // The first poll comes before any task runs.
            parker.notify();
            loop {
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
        if self.is_shut_down() || !self.slot_lock.try_take() {
            return None;
        }
        self.idle.inc_awake();
        Some(OnlySlot {
            shared: self,
            held: Some(context::hold(&self.slots[0])),
        })
    }

    /// Waits until the future is ready, or the slot may be free.
    fn wait_for_slot<R>(
        &self,
        parker: &Arc<ThreadParker>,
        mut poll: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        let waiting = Waiting::new(&self.slot_lock, parker);
        loop {
            if parker.take_notified() {
                match poll() {
                    Some(output) => return Some(output),
                    None => continue,
                }
            }
            if !self.is_shut_down() && waiting.as_ref().is_none_or(Waiting::is_offered) {
                return None;
            }
            parker.park(None);
        }
    }

    /// At the end, when nobody works any more: the slot is closed, by whoever has it.
    pub(super) fn close_only_slot(&self) {
        if self.slot_lock.try_take() {
            self.close_slot(&self.slots[0]);
        }
    }
}

/// This thread has the slot until it is dropped.
pub(super) struct OnlySlot<'a> {
    shared: &'a Shared,
    held: Option<context::HeldSlot>,
}

impl Drop for OnlySlot<'_> {
    fn drop(&mut self) {
        self.shared.idle.dec_awake();
        drop(self.held.take());
        if self.shared.is_shut_down() {
            self.shared.close_slot(&self.shared.slots[0]);
        } else {
            self.shared.slot_lock.leave();
            // Who has ended the runtime may not have found the slot free.
            if self.shared.is_shut_down() {
                self.shared.close_only_slot();
            }
        }
    }
}

/// One that waits for the slot, until it is dropped.
struct Waiting<'a> {
    slot_lock: &'a SlotLock,
    parker: &'a Arc<ThreadParker>,
}

impl<'a> Waiting<'a> {
    /// `None` if the slot is free.
    fn new(slot_lock: &'a SlotLock, parker: &'a Arc<ThreadParker>) -> Option<Self> {
        let mut state = lock(&slot_lock.0);
        if !state.is_taken {
            return None;
        }
        state.waiting.push_back(Arc::clone(parker));
        Some(Self { slot_lock, parker })
    }

    fn is_offered(&self) -> bool {
        let state = lock(&self.slot_lock.0);
        !state
            .waiting
            .iter()
            .any(|each| Arc::ptr_eq(each, self.parker))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.slot_lock.0);
        let before = state.waiting.len();
        state.waiting.retain(|each| !Arc::ptr_eq(each, self.parker));
        if state.waiting.len() == before && !state.is_taken {
            // It was offered the slot. If it takes it now, the next will find it taken.
            unpark_next(&mut state);
        }
    }
}
