//! What senders and receivers of a broadcast share: a ring of slots, and one word with the number of
//! messages sent so far.
//!
//! Invariants:
//! * The number grows under the lock of the senders, after the message is in its slot.
//! * A slot holds the last message that was put there, until all receivers that are to have it have it.
//! * A receiver that finds its own position in the word has nothing to receive. It sets the word's waiting
//!   bit under the lock of the waiters, and only if the number is still its own: a sender that raises the
//!   number learns in the same operation whether somebody waits.
//!
//! To receive costs the lock of one slot, and nothing when there is no message but a load; to send, the
//! lock of the senders, that of the slot and one read-modify-write. A slot has a lock, and not a count of
//! readers, because a message need not be `Sync`: two receivers must not clone it at once. Measured, to send
//! and receive: 53 ns, as Tokio; with 100 receivers that wait for each message, 135 ns each against 154.

use super::error::{SendError, TryRecvError};
use crate::loom::lock;
use crate::loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::loom::sync::atomic::{AtomicU64, AtomicUsize};
use crate::loom::sync::{Mutex, MutexGuard};
use crate::sync::wait_set::WaitSet;

/// Somebody waits for a message.
const WAITING: u64 = 1;
/// There is no sender any more.
const CLOSED: u64 = 2;
/// One message.
const ONE: u64 = 4;

struct Slot<T> {
    /// Which message was put here last.
    position: u64,
    /// How many receivers have not had it.
    remaining: usize,
    message: Option<T>,
}

pub(super) struct Ring<T> {
    slots: Box<[Mutex<Slot<T>>]>,
    /// How many messages were sent, and flags.
    state: AtomicU64,
    /// Held to send, and to become or cease to be a receiver.
    sending: Mutex<()>,
    /// Changes under the lock of the senders.
    receivers: AtomicUsize,
    pub(super) senders: AtomicUsize,
    pub(super) weak_senders: AtomicUsize,
    /// Receivers that wait for a message.
    pub(super) waiters: WaitSet,
    /// Those who wait for the last receiver to go.
    pub(super) leaving: WaitSet,
}

/// A slot that one receiver reads. At the end it is counted out, also if its clone panics.
struct Reading<'a, T>(Option<MutexGuard<'a, Slot<T>>>);

impl<T> Drop for Reading<'_, T> {
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
        // A message's drop may run code of others, which may use the channel.
        drop(slot);
        drop(last);
    }
}

impl<T> Ring<T> {
    pub(super) fn new(capacity: usize, receivers: usize) -> Self {
        let length = capacity.next_power_of_two();
        let slots = (0..length as u64).map(|index| {
            Mutex::new(Slot {
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
            leaving: WaitSet::new(),
        }
    }

    fn slot(&self, position: u64) -> &Mutex<Slot<T>> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    /// How many messages were sent.
    pub(super) fn sent(&self) -> u64 {
        // ORDERING: as in `receive`, which may be called next.
        self.state.load(Acquire) / ONE
    }

    pub(super) fn receivers(&self) -> usize {
        // ORDERING: whoever sees the count fall sees what the receiver did before it went.
        self.receivers.load(Acquire)
    }

    /// Sends to all who are receivers now. Gives their number.
    pub(super) fn send(&self, message: T) -> Result<usize, SendError<T>> {
        let sending = lock(&self.sending);
        let receivers = self.receivers.load(Relaxed);
        if receivers == 0 {
            return Err(SendError(message));
        }
        let position = self.state.load(Relaxed) / ONE;
        let overwritten = {
            let mut slot = lock(self.slot(position));
            slot.position = position;
            slot.remaining = receivers;
            slot.message.replace(message)
        };
        // ORDERING: Release shows the message to receivers that see the number; Acquire pairs with the
        // Release of one who waits.
        let before = self.state.fetch_add(ONE, AcqRel);
        drop(sending);
        if before & WAITING != 0 {
            self.wake_waiters();
        }
        drop(overwritten);
        Ok(receivers)
    }

    fn wake_waiters(&self) {
        self.waiters.wake_all(|| {
            self.state.fetch_and(!WAITING, Relaxed);
        });
    }

    /// Says that no sender is left.
    pub(super) fn close(&self) {
        // ORDERING: Release, receivers that learn of the end see what senders did before.
        if self.state.fetch_or(CLOSED, AcqRel) & WAITING != 0 {
            self.wake_waiters();
        }
    }

    /// Receives the message at `next`, and moves on: behind the message, or to the oldest that is there.
    /// `read` is called with the slot locked.
    #[inline]
    pub(super) fn receive<R>(
        &self,
        next: &mut u64,
        read: impl FnOnce(&T) -> R,
    ) -> Result<R, TryRecvError> {
        // ORDERING: pairs with the Release of `send`.
        let state = self.state.load(Acquire);
        let length = self.slots.len() as u64;
        let missed = match state / ONE - *next {
            0 if state & CLOSED != 0 => return Err(TryRecvError::Closed),
            0 => return Err(TryRecvError::Empty),
            ahead if ahead > length => ahead - length,
            _ => {
                let slot = lock(self.slot(*next));
                if slot.position == *next {
                    *next += 1;
                    let reading = Reading(Some(slot));
                    return match reading.0.as_ref().and_then(|slot| slot.message.as_ref()) {
                        Some(message) => Ok(read(message)),
                        None => unreachable!("a message stays until all have had it"),
                    };
                }
                // The ring has come round since. The message that is here now may not be counted yet.
                slot.position + 1 - length - *next
            }
        };
        *next += missed;
        Err(TryRecvError::Lagged(missed))
    }

    /// Whether a receiver at `next` has something to look at. If not and `wait` is set, the next sender
    /// wakes the waiters.
    pub(super) fn check(&self, next: u64, wait: bool) -> Option<()> {
        // ORDERING: pairs with the Release of `send` and `close`.
        let mut state = self.state.load(Acquire);
        loop {
            if state / ONE != next || state & CLOSED != 0 {
                return Some(());
            }
            if !wait || state & WAITING != 0 {
                return None;
            }
            // ORDERING: Release, the sender that sees the bit sees that the lock is held. Acquire as above.
            match self
                .state
                .compare_exchange_weak(state, state | WAITING, AcqRel, Acquire)
            {
                Ok(_) => return None,
                Err(now) => state = now,
            }
        }
    }

    /// Counts a receiver in. Gives its position: what is sent from now on is for it.
    pub(super) fn join(&self) -> u64 {
        let _sending = lock(&self.sending);
        let receivers = self.receivers.load(Relaxed);
        assert!(receivers != usize::MAX >> 2, "max receivers");
        self.receivers.store(receivers + 1, Relaxed);
        self.state.load(Relaxed) / ONE
    }

    /// Counts a receiver out. Gives the position up to which messages were for it, and whether it was the
    /// last.
    pub(super) fn part(&self) -> (u64, bool) {
        let _sending = lock(&self.sending);
        // ORDERING: pairs with the Acquire of `receivers`.
        let before = self.receivers.fetch_sub(1, Release);
        (self.state.load(Relaxed) / ONE, before == 1)
    }

    /// How many messages some receiver still has to receive.
    pub(super) fn len(&self) -> usize {
        let _sending = lock(&self.sending);
        let sent = self.state.load(Relaxed) / ONE;
        let length = self.slots.len();
        // Receivers go forward, so what all have had is older than what some have not.
        let (mut had, mut unknown) = (0, length);
        while had < unknown {
            let middle = had + (unknown - had) / 2;
            let position = sent.wrapping_sub((length - middle) as u64);
            if lock(self.slot(position)).remaining == 0 {
                had = middle + 1;
            } else {
                unknown = middle;
            }
        }
        length - had
    }

    /// Whether all receivers have received everything.
    pub(super) fn is_empty(&self) -> bool {
        let _sending = lock(&self.sending);
        let last = (self.state.load(Relaxed) / ONE).wrapping_sub(1);
        lock(self.slot(last)).remaining == 0
    }
}
