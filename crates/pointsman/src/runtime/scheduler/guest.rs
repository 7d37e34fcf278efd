//! A thread that blocks on a future, and runs meanwhile what this queues and what follows from that.
//!
//! It takes nothing from others. So who runs what other threads have spawned are the workers, whatever is
//! blocked on; and the future waits for no task but those that it has had to do with.
//!
//! Invariant: a guest that leaves its seat lets others know of what it leaves there, and of the seat. One that
//! is offered a seat and does not take it offers it to the next.

use std::cell::Cell;
use std::future::Future;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::super::context;
use super::super::signal::Signal;
use super::worker::{Role, Worker};
use super::{Seat, Shared};
use crate::loom::lock;
use crate::loom::sync::atomic::fence;
use crate::task::coop;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A thread that blocks on a future. It takes a seat when the future spawns or wakes something, or has to
/// wait.
pub(in crate::runtime) struct Guest<'a> {
    shared: &'a Arc<Shared>,
    signal: &'a Arc<Signal>,
    seat: Cell<Option<(&'a Seat, context::Sitting)>>,
}

impl<'a> Guest<'a> {
    /// Whether it is one of this runtime.
    pub(in crate::runtime) fn is_of(&self, shared: &Shared) -> bool {
        std::ptr::eq(Arc::as_ptr(self.shared), shared)
    }

    /// The seat, if there is one for this thread.
    pub(super) fn sit(&self) -> Option<&'a Seat> {
        if self.shared.is_shut_down() {
            return None;
        }
        let seat = self.shared.take_seat()?;
        self.shared.idle.came();
        let sitting = context::sit_down(seat, self.signal);
        self.seat.set(Some((seat, sitting)));
        Some(seat)
    }

    fn leave(&self) {
        let Some((seat, sitting)) = self.seat.take() else {
            return;
        };
        drop(sitting);
        self.shared.idle.left();
        if self.shared.is_shut_down() {
            self.shared.close_seat(seat, self.signal);
            return;
        }
        let is_left_something = !seat.queue.is_empty();
        self.shared.leave_seat(seat);
        if is_left_something {
            self.shared.idle.brought();
        }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shared {
    /// Blocks this thread on a future, and lets it run tasks meanwhile.
    pub(in crate::runtime) fn block_on<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let role = match self.is_current_thread() {
            true => Role::Worker,
            false => Role::Guest,
        };
        self.block_on_as(role, future)
    }

    /// Blocks this thread on a future, and lets it do what a worker does meanwhile.
    pub(super) fn stand_in<F: Future>(self: &Arc<Self>, until: F) -> F::Output {
        self.block_on_as(Role::Substitute, until)
    }

    fn block_on_as<F: Future>(self: &Arc<Self>, role: Role, future: F) -> F::Output {
        Signal::with_current(|signal, waker| {
            let _blocking = context::set_blocking(signal);
            let mut cx = Context::from_waker(waker);
            let mut future = pin!(future);
            let mut poll = || match coop::budget(|| future.as_mut().poll(&mut cx)) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            };
            let guest = Guest {
                shared: self,
                signal,
                seat: Cell::new(None),
            };
            let _guest = context::set_guest(&guest);
            if let Some(output) = poll() {
                return output;
            }
            loop {
                let result = match self.own_seat() {
                    Some(seat) => {
                        let result = Worker::new(self, seat, signal, role).work(&mut poll);
                        guest.leave();
                        result
                    }
                    None => self.stand(signal, &mut poll),
                };
                if let Some(output) = result {
                    return output;
                }
            }
        })
    }

    /// Waits for the future or a seat.
    fn stand<R>(&self, signal: &Arc<Signal>, mut poll: impl FnMut() -> Option<R>) -> Option<R> {
        loop {
            if signal.take_notified() {
                // Whoever was offered a seat and leaves, also by a panic, offers it to the next.
                let offer = Offer(self);
                match poll() {
                    Some(result) => return Some(result),
                    None => mem::forget(offer),
                }
            }
            if self.own_seat().is_some() {
                return None;
            }
            if !self.is_shut_down() {
                lock(&self.standing).push_back(Arc::clone(signal));
                self.standing_count.fetch_add(1, Relaxed);
                // ORDERING: SeqCst pairs with that of `leave_seat`.
                fence(SeqCst);
                if self.free.load(SeqCst) != 0 {
                    self.stop_standing(signal);
                    return None;
                }
            }
            if !signal.is_notified() {
                signal.park(None);
            }
            self.stop_standing(signal);
        }
    }

    fn stop_standing(&self, signal: &Arc<Signal>) {
        let mut standing = lock(&self.standing);
        let before = standing.len();
        standing.retain(|standing| !Arc::ptr_eq(standing, signal));
        self.standing_count
            .fetch_sub(before - standing.len(), Relaxed);
    }
}

/// Offers a seat when it is dropped.
struct Offer<'a>(&'a Shared);

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        self.0.offer_seat();
    }
}
