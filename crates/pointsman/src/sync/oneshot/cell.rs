//! The allocation that both halves of a oneshot channel share. Its state word says which half owns which
//! field.
//!
//! # Invariants
//!
//! - The sender owns the value until SENT is set, and the receiver from then on. If CLOSED was set first, the
//!   value stays the sender's.
//! - A half owns its waker's field while its WAITS bit is clear. While the bit is set, both halves may read
//!   the field: the sender moves the receiver's waker out when it sets SENT, and the receiver wakes the
//!   sender's in place when it sets CLOSED.
//! - Once SENT is set, RECEIVER_WAITS keeps its value, by which `free` knows whether the waker was moved out;
//!   `poll_recv` restores it. Once CLOSED is set, the sender does not write its waker.
//! - A sender that sets SENT and sees neither CLOSED nor RECEIVER_WAITS does not use the cell again.
//!   Otherwise it sets SENDER_GONE when it is done. The half that is done last frees the cell.
//!
//! # Cost
//!
//! One allocation. One read-modify-write if the value is sent before it is awaited, three otherwise.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use crate::loom::cell::UnsafeCell;
use crate::loom::sync::atomic::AtomicUsize;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::task::activity::{WaitKind, note_wait};

/// The sender sent its value or was dropped.
const SENT: usize = 1;
/// The receiver was closed or dropped. Set only while SENT is clear.
const CLOSED: usize = 2;
/// The receiver's waker is stored. Set only while SENT is clear.
const RECEIVER_WAITS: usize = 4;
/// The sender's waker is stored. Set only while CLOSED is clear.
const SENDER_WAITS: usize = 8;
/// The sender does not use the cell any more.
const SENDER_GONE: usize = 16;
/// The receiver does not use the cell any more.
const RECEIVER_GONE: usize = 32;

pub(super) struct Cell<T> {
    state: AtomicUsize,
    value: UnsafeCell<Option<T>>,
    /// The sender moves the waker out without a write, so the state says whether it is still to be dropped.
    receiver_waker: UnsafeCell<ManuallyDrop<Option<Waker>>>,
    sender_waker: UnsafeCell<Option<Waker>>,
}

/// One half's reference to the cell. A half gives it up with [`complete`](Self::complete) or
/// [`release`](Self::release).
pub(super) struct Half<T>(NonNull<Cell<T>>);

// SAFETY: the state word gives each field one owner at a time. The value moves between threads, hence `T:
// Send`.
unsafe impl<T: Send> Send for Half<T> {}
// SAFETY: a shared sender or receiver calls only `is_closed` and `has_value`. These read the state and, while
// the receiver owns the value, whether there is one. They return no reference to it.
unsafe impl<T: Send> Sync for Half<T> {}

/// The result of an attempt to receive.
pub(super) enum RecvOutcome<T> {
    Value(T),
    Empty,
    Closed,
}

impl<T> Half<T> {
    pub(super) fn pair() -> (Self, Self) {
        let cell = Box::new(Cell {
            state: AtomicUsize::new(0),
            value: UnsafeCell::new(None),
            receiver_waker: UnsafeCell::new(ManuallyDrop::new(None)),
            sender_waker: UnsafeCell::new(None),
        });
        let pointer = NonNull::from(Box::leak(cell));
        (Self(pointer), Self(pointer))
    }

    fn cell(&self) -> &Cell<T> {
        // SAFETY: the cell is freed when both halves have given it up, and this one has not.
        unsafe { self.0.as_ref() }
    }

    /// # Safety
    /// Both halves have given up the cell. `state` is the last value of the word.
    unsafe fn free(&self, state: usize) {
        // SAFETY: `pair` leaked this box, and no other half uses it any more.
        let cell = unsafe { Box::from_raw(self.0.as_ptr()) };
        if state & (SENT | CLOSED | RECEIVER_WAITS) != SENT | RECEIVER_WAITS {
            // SAFETY: the state says that the sender has not moved the waker out, and this is its last use.
            cell.receiver_waker
                .with_mut(|place| unsafe { ManuallyDrop::drop(&mut *place) });
        }
    }

    /// Sends a value, or closes the channel with `None`. Returns the value if the receiver was closed. The
    /// sender's last operation: it must not use the half afterwards.
    pub(super) fn complete(&self, value: Option<T>) -> Result<(), Option<T>> {
        let cell = self.cell();
        // SAFETY: the sender owns the value until it sets SENT below.
        cell.value.with_mut(|place| unsafe { *place = value });
        // ORDERING: Release pairs with the Acquire loads of the receiver, which then sees the value. Acquire
        // pairs with the Release of `poll_recv`: the receiver's waker is visible here.
        let before = cell.state.fetch_or(SENT, AcqRel);
        if before & (CLOSED | RECEIVER_WAITS) == 0 {
            return Ok(());
        }
        if before & CLOSED != 0 {
            // SAFETY: CLOSED was set before SENT, so the value stays the sender's.
            let value = cell.value.with_mut(|place| unsafe { (*place).take() });
            self.release_as(SENDER_GONE, RECEIVER_GONE);
            return Err(value);
        }
        // SAFETY: RECEIVER_WAITS was set when SENT was, so the waker is stored and the sender's from now on:
        // `poll_recv` does not write it and `free` does not drop it after SENT.
        let waker = cell
            .receiver_waker
            .with(|place| unsafe { std::ptr::read(place) });
        self.release_as(SENDER_GONE, RECEIVER_GONE);
        if let Some(waker) = ManuallyDrop::into_inner(waker) {
            waker.wake();
        }
        Ok(())
    }

    fn release_as(&self, this_half: usize, other_half: usize) {
        // ORDERING: Release pairs with the Acquire of the other half's last operation, which frees the cell
        // after this half's last access. Acquire in case this half is the one that frees.
        let state = self.cell().state.fetch_or(this_half, AcqRel);
        if state & other_half != 0 {
            // SAFETY: the other half had set its bit, and this one has given up the cell.
            unsafe { self.free(state) };
        }
    }

    /// Gives up the receiver's half. The receiver's last operation: it must not use the half afterwards.
    pub(super) fn release(&self) {
        // ORDERING: Acquire pairs with the Release of the sender's last operation, in `complete` or
        // `release_as`: the cell is freed after it.
        let state = self.cell().state.load(Acquire);
        if state & SENDER_GONE != 0 || state & (SENT | CLOSED | RECEIVER_WAITS) == SENT {
            // SAFETY: the sender set SENDER_GONE, or set SENT and saw nothing else to do. The receiver gives
            // up the cell here.
            unsafe { self.free(state) };
        } else {
            self.release_as(RECEIVER_GONE, SENDER_GONE);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `close`: a sender that sees CLOSED sees what the
        // receiver did before.
        self.cell().state.load(Acquire) & CLOSED != 0
    }

    /// Whether there is a value to receive. Called by the receiver.
    pub(super) fn has_value(&self) -> bool {
        let cell = self.cell();
        // ORDERING: Acquire pairs with the Release of `complete`: the value is visible.
        cell.state.load(Acquire) & (SENT | CLOSED) == SENT
            // SAFETY: SENT is set and CLOSED was not set first, so the receiver owns the value, and it is
            // borrowed here.
            && cell.value.with(|place| unsafe { (*place).is_some() })
    }

    /// Closes the channel, unless the sender is done. Called by the receiver.
    pub(super) fn close(&self) {
        let cell = self.cell();
        // ORDERING: Release pairs with the Acquire of `is_closed`, `poll_closed` and `complete`. Acquire
        // pairs with the Release of `poll_closed`: the sender's waker is visible here.
        let closed = cell.state.fetch_update(AcqRel, Acquire, |state| {
            (state & (SENT | CLOSED) == 0).then_some(state | CLOSED)
        });
        let Ok(before) = closed else { return };
        if before & SENDER_WAITS != 0 {
            // SAFETY: SENDER_WAITS was set when CLOSED was, so the sender does not write its waker any more.
            // The cell is not freed before the receiver gives it up.
            cell.sender_waker.with(|place| unsafe {
                if let Some(waker) = &*place {
                    waker.wake_by_ref();
                }
            });
        }
        if before & RECEIVER_WAITS != 0 {
            // SAFETY: CLOSED was set before SENT, so the sender does not use the receiver's waker.
            drop(
                cell.receiver_waker
                    .with_mut(|place| unsafe { (*place).take() }),
            );
        }
    }

    /// Takes the value. Called by the receiver.
    pub(super) fn take_value(&self) -> RecvOutcome<T> {
        // ORDERING: Acquire pairs with the Release of `complete`: the value is visible.
        self.take_value_in(self.cell().state.load(Acquire))
    }

    fn take_value_in(&self, state: usize) -> RecvOutcome<T> {
        if state & CLOSED != 0 {
            return RecvOutcome::Closed;
        }
        if state & SENT == 0 {
            return RecvOutcome::Empty;
        }
        // SAFETY: SENT is set and CLOSED was not set first, so the receiver owns the value.
        let value = self
            .cell()
            .value
            .with_mut(|place| unsafe { (*place).take() });
        value.map_or(RecvOutcome::Closed, RecvOutcome::Value)
    }

    /// Takes the value; if there is none yet, registers the waker. Called by the receiver.
    pub(super) fn poll_recv(&self, cx: &mut Context<'_>) -> RecvOutcome<T> {
        let cell = self.cell();
        // ORDERING: Acquire pairs with the Release of `complete`: the value is visible.
        let mut state = cell.state.load(Acquire);
        if state & (SENT | CLOSED) != 0 {
            return self.take_value_in(state);
        }
        if state & RECEIVER_WAITS != 0 {
            let same = cell.receiver_waker.with(|place| {
                // SAFETY: while RECEIVER_WAITS is set, both halves only read the field.
                is_same(unsafe { (*place).as_ref() }, cx.waker())
            });
            if same {
                return RecvOutcome::Empty;
            }
            // ORDERING: Acquire pairs with the Release of `complete`, if SENT is seen.
            state = cell.state.fetch_and(!RECEIVER_WAITS, Acquire);
            if state & SENT != 0 {
                // The sender moves the waker out. Restores the bit, which tells `free` so.
                cell.state.fetch_or(RECEIVER_WAITS, Relaxed);
                return self.take_value_in(state);
            }
        }
        // SAFETY: RECEIVER_WAITS is clear, so the receiver owns its waker's field.
        cell.receiver_waker
            .with_mut(|place| unsafe { **place = Some(cx.waker().clone()) });
        // ORDERING: Release pairs with the Acquire of `complete`, which then sees the waker. Acquire pairs
        // with the Release of `complete`, if SENT is seen.
        let waits = cell.state.fetch_update(AcqRel, Acquire, |state| {
            (state & SENT == 0).then_some(state | RECEIVER_WAITS)
        });
        match waits {
            Ok(_) => RecvOutcome::Empty,
            Err(state) => self.take_value_in(state),
        }
    }

    /// Ready when the receiver has closed the channel; otherwise registers the waker. Called by the sender.
    pub(super) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        let cell = self.cell();
        // ORDERING: Acquire pairs with the Release of `close`.
        let mut state = cell.state.load(Acquire);
        if state & CLOSED != 0 {
            return Poll::Ready(());
        }
        if state & SENDER_WAITS != 0 {
            let same = cell.sender_waker.with(|place| {
                // SAFETY: while SENDER_WAITS is set, both halves only read the field.
                is_same(unsafe { (*place).as_ref() }, cx.waker())
            });
            if same {
                return self.closed_is_pending(cx);
            }
            // ORDERING: Acquire pairs with the Release of `close`, if CLOSED is seen.
            state = cell.state.fetch_and(!SENDER_WAITS, Acquire);
            if state & CLOSED != 0 {
                // The receiver may be reading the waker, so it is dropped when the cell is freed.
                return Poll::Ready(());
            }
        }
        // SAFETY: SENDER_WAITS is clear, so the sender owns its waker's field.
        cell.sender_waker
            .with_mut(|place| unsafe { *place = Some(cx.waker().clone()) });
        // ORDERING: Release pairs with the Acquire of `close`, which then sees the waker. Acquire pairs with
        // the Release of `close`, if CLOSED is seen.
        let waits = cell.state.fetch_update(AcqRel, Acquire, |state| {
            (state & CLOSED == 0).then_some(state | SENDER_WAITS)
        });
        match waits {
            Ok(_) => self.closed_is_pending(cx),
            Err(_) => Poll::Ready(()),
        }
    }

    fn closed_is_pending(&self, cx: &Context<'_>) -> Poll<()> {
        note_wait(WaitKind::Send, self.0.addr().get(), cx.waker());
        Poll::Pending
    }

    /// Called when the receiver returns `Pending`.
    pub(super) fn note_recv(&self, cx: &Context<'_>) {
        note_wait(WaitKind::Receive, self.0.addr().get(), cx.waker());
    }
}

fn is_same(stored: Option<&Waker>, waker: &Waker) -> bool {
    stored.is_some_and(|stored| stored.will_wake(waker))
}
