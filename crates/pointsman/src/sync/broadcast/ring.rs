//! The shared state of a broadcast channel: a ring of slots, and one word with the number of messages sent
//! and two flags.
//!
//! # Invariants
//!
//! - The number grows under the lock of the senders, after the message was written to its slot.
//! - A slot holds its last message until all receivers counted for it have received it, or it is overwritten.
//! - A receiver at the position in the word has nothing to receive. It sets the HAS_WAITERS flag under the
//!   lock of the waiters, and only if the number is still its position. So a sender that raises the number
//!   learns in the same operation whether to wake receivers.
//!
//! # Cost
//!
//! Receiving takes the lock of one slot, or a load if there is no message. Sending takes the lock of the
//! senders, the lock of the slot and one read-modify-write. A slot has a lock and not a count of readers,
//! because a message need not be `Sync`: two receivers must not clone it at once.

use super::error::{SendError, TryRecvError};
use crate::loom::lock;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::loom::sync::atomic::{AtomicU64, AtomicUsize};
use crate::loom::sync::{Mutex, MutexGuard};
use crate::sync::wait_set::WaitSet;

/// Receivers wait for a message.
const HAS_WAITERS: u64 = 1;
/// All senders are dropped.
const CLOSED: u64 = 2;
/// The count of messages is in units of this.
const MESSAGE: u64 = 4;

struct RingSlot<T> {
    /// The position of the last message written here.
    position: u64,
    /// The number of receivers that have not received it.
    remaining: usize,
    message: Option<T>,
}

pub(super) struct Ring<T> {
    slots: Box<[Mutex<RingSlot<T>>]>,
    /// The number of messages sent, and the flags.
    state: AtomicU64,
    /// Held to send, and to add or remove a receiver.
    sending: Mutex<()>,
    /// Changes only under `sending`.
    receivers: AtomicUsize,
    pub(super) senders: AtomicUsize,
    pub(super) weak_senders: AtomicUsize,
    /// Receivers that wait for a message.
    pub(super) waiters: WaitSet,
    /// Senders that wait for the last receiver to be dropped.
    pub(super) close_waiters: WaitSet,
}

/// A slot that a receiver reads. Dropping it subtracts the receiver, also if the clone panics.
struct SlotReader<'a, T>(Option<MutexGuard<'a, RingSlot<T>>>);

impl<T> Drop for SlotReader<'_, T> {
    fn drop(&mut self) {
        let Some(mut slot) = self.0.take() else {
            return;
        };
        slot.remaining -= 1;
        let last = if slot.remaining == 0 {
            slot.message.take()
        } else {
            None
        };
        // Dropping a message runs foreign code, which may use the channel.
        drop(slot);
        drop(last);
    }
}

impl<T> Ring<T> {
    pub(super) fn new(capacity: usize, receivers: usize) -> Self {
        let length = capacity.next_power_of_two();
        let slots = (0..length as u64).map(|index| {
            Mutex::new(RingSlot {
                position: index.wrapping_sub(length as u64),
                remaining: 0,
                message: None,
            })
        });
        Self {
            slots: slots.collect(),
            state: AtomicU64::new(0),
            sending: Mutex::new(()),
            receivers: AtomicUsize::new(receivers),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            waiters: WaitSet::new(),
            close_waiters: WaitSet::new(),
        }
    }

    fn slot(&self, position: u64) -> &Mutex<RingSlot<T>> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    /// Returns the number of messages sent.
    pub(super) fn sent(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release of `send`: a message that is counted can be received.
        self.state.load(Acquire) / MESSAGE
    }

    pub(super) fn receivers(&self) -> usize {
        // ORDERING: Acquire pairs with the Release of `remove_receiver`: the caller sees what dropped
        // receivers did before.
        self.receivers.load(Acquire)
    }

    pub(super) fn senders(&self) -> usize {
        // ORDERING: Acquire pairs with the Release of `Sender::drop`: the caller sees what dropped senders did
        // before.
        self.senders.load(Acquire)
    }

    /// Sends a message to all current receivers and returns their number.
    pub(super) fn send(&self, message: T) -> Result<usize, SendError<T>> {
        let sending = lock(&self.sending);
        let receivers = self.receivers.load(Relaxed);
        if receivers == 0 {
            return Err(SendError(message));
        }
        let position = self.state.load(Relaxed) / MESSAGE;
        let overwritten = {
            let mut slot = lock(self.slot(position));
            slot.position = position;
            slot.remaining = receivers;
            slot.message.replace(message)
        };
        // ORDERING: Release pairs with the Acquire of `receive`, `check` and `sent`: receivers that see the
        // number see the message. Acquire pairs with the Release of `check`, which set HAS_WAITERS.
        let before = self.state.fetch_add(MESSAGE, AcqRel);
        drop(sending);
        if before & HAS_WAITERS != 0 {
            self.wake_waiters();
        }
        drop(overwritten);
        Ok(receivers)
    }

    fn wake_waiters(&self) {
        self.waiters.wake_all(|| {
            self.state.fetch_and(!HAS_WAITERS, Relaxed);
        });
    }

    /// Called when the last sender is dropped.
    pub(super) fn close(&self) {
        // ORDERING: Release pairs with the Acquire of `receive` and `check`: receivers that see CLOSED see
        // all messages. Acquire pairs with the Release of `check`, which set HAS_WAITERS.
        if self.state.fetch_or(CLOSED, AcqRel) & HAS_WAITERS != 0 {
            self.wake_waiters();
        }
    }

    /// Receives the message at `next` and moves `next` behind it, or to the oldest retained message. `read`
    /// is called with the slot locked.
    #[inline]
    pub(super) fn receive<R>(
        &self,
        next: &mut u64,
        read: impl FnOnce(&T) -> R,
    ) -> Result<R, TryRecvError> {
        // ORDERING: Acquire pairs with the Release of `send` and `close`.
        let state = self.state.load(Acquire);
        let length = self.slots.len() as u64;
        let missed = match state / MESSAGE - *next {
            0 if state & CLOSED != 0 => return Err(TryRecvError::Closed),
            0 => return Err(TryRecvError::Empty),
            ahead if ahead > length => ahead - length,
            _ => {
                let slot = lock(self.slot(*next));
                if slot.position == *next {
                    *next += 1;
                    let reading = SlotReader(Some(slot));
                    return match reading.0.as_ref().and_then(|slot| slot.message.as_ref()) {
                        Some(message) => Ok(read(message)),
                        None => unreachable!(
                            "a slot holds its message until all its receivers have received it"
                        ),
                    };
                }
                // The slot was overwritten since the load. Its new message may not be counted in the word
                // yet.
                slot.position + 1 - length - *next
            }
        };
        *next += missed;
        Err(TryRecvError::Lagged(missed))
    }

    /// Returns whether a receiver at `next` has a message or the channel is closed. If not and `wait` is
    /// true, makes the next sender wake the waiters.
    pub(super) fn check(&self, next: u64, wait: bool) -> Option<()> {
        // ORDERING: Acquire pairs with the Release of `send` and `close`.
        let mut state = self.state.load(Acquire);
        loop {
            if state / MESSAGE != next || state & CLOSED != 0 {
                return Some(());
            }
            if !wait || state & HAS_WAITERS != 0 {
                return None;
            }
            // ORDERING: Release pairs with the Acquire of `send` and `close`, which then wait for the lock
            // that the caller holds. Acquire pairs with their Release, here and on failure.
            match self
                .state
                .compare_exchange_weak(state, state | HAS_WAITERS, AcqRel, Acquire)
            {
                Ok(_) => return None,
                Err(now) => state = now,
            }
        }
    }

    /// Adds a receiver and returns its position: it receives messages sent from now on.
    pub(super) fn add_receiver(&self) -> u64 {
        let _sending = lock(&self.sending);
        let receivers = self.receivers.load(Relaxed);
        assert!(receivers != usize::MAX >> 2, "max receivers");
        self.receivers.store(receivers + 1, Relaxed);
        self.state.load(Relaxed) / MESSAGE
    }

    /// Removes a receiver. Returns the position up to which messages count it, and whether it was the last.
    pub(super) fn remove_receiver(&self) -> (u64, bool) {
        let _sending = lock(&self.sending);
        // ORDERING: Release pairs with the Acquire of `receivers`.
        let before = self.receivers.fetch_sub(1, Release);
        (self.state.load(Relaxed) / MESSAGE, before == 1)
    }

    /// Returns the number of messages that at least one receiver has not received.
    pub(super) fn len(&self) -> usize {
        let _sending = lock(&self.sending);
        let sent = self.state.load(Relaxed) / MESSAGE;
        let length = self.slots.len();
        // Receivers move forward, so messages that all have received are older than the others: a binary
        // search.
        let (mut received, mut end) = (0, length);
        while received < end {
            let middle = received + (end - received) / 2;
            let position = sent.wrapping_sub((length - middle) as u64);
            if lock(self.slot(position)).remaining == 0 {
                received = middle + 1;
            } else {
                end = middle;
            }
        }
        length - received
    }

    /// Returns whether all receivers have received all messages.
    pub(super) fn is_empty(&self) -> bool {
        let _sending = lock(&self.sending);
        let last = (self.state.load(Relaxed) / MESSAGE).wrapping_sub(1);
        lock(self.slot(last)).remaining == 0
    }
}
