//! The readiness of one I/O source and the tasks that wait for it.
//!
//! One atomic word holds the readiness, two flags, the tick and the generation.
//!
//! # Invariants
//!
//! - A task that finds the source not ready is woken by the event that makes it ready. The task registers its waker, or
//!   sets [`HAS_WAITERS`], before it reads the word again; an event changes the word before it takes the wakers.
//! - An event applies only to the generation that it was registered for: an event of a deregistered source does not
//!   reach the next source in the same entry.
//! - `WouldBlock` clears only readiness that was known before the call. Each event increments the tick, and
//!   [`clear`](ScheduledIo::clear) does nothing if the tick has changed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::task::{Context, Poll};

use super::interest::Interest;
use super::ready::Ready;
use crate::atomic_waker::AtomicWaker;
use crate::loom::sync::atomic::AtomicU64;
use crate::sync::Notify;
use crate::task::activity::{WaitKind, note_wait};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

// The word, from the lowest bit: readiness (8 bits), flags (8), tick (16), generation (32).
const IS_SHUT_DOWN: u64 = 1 << 8;
const HAS_WAITERS: u64 = 1 << 9;
const TICK: u32 = 16;
const GENERATION: u32 = 32;

/// The bits of an event's token that the entry's index leaves free.
pub(super) const GENERATION_BITS: u32 = if usize::BITS == 64 { 32 } else { 10 };

pub(crate) struct ScheduledIo {
    word: AtomicU64,
    /// The last task that polled for reading.
    reader: AtomicWaker,
    /// The last task that polled for writing.
    writer: AtomicWaker,
    /// Tasks in [`wait`](Self::wait): for reading, for writing, and for any other interest.
    waiters: OnceLock<Box<[Notify; 3]>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadyEvent {
    tick: u16,
    pub(crate) ready: Ready,
    pub(crate) is_shut_down: bool,
}

impl ReadyEvent {
    fn of(word: u64, mask: Ready) -> Self {
        Self {
            tick: (word >> TICK) as u16,
            ready: Ready::from_bits(word as u8) & mask,
            is_shut_down: word & IS_SHUT_DOWN != 0,
        }
    }

    fn ends_wait(self) -> bool {
        !self.ready.is_empty() || self.is_shut_down
    }

    pub(crate) fn with_ready(self, ready: Ready) -> Self {
        Self { ready, ..self }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    fn interest(self) -> Interest {
        match self {
            Self::Read => Interest::READABLE,
            Self::Write => Interest::WRITABLE,
        }
    }
}

impl ScheduledIo {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
            // Loom does not model the ordering of `OnceLock`.
            waiters: match cfg!(all(test, loom)) {
                true => OnceLock::from(Box::default()),
                false => OnceLock::new(),
            },
        }
    }

    pub(super) fn generation(&self) -> u32 {
        (self.word.load(Relaxed) >> GENERATION) as u32
    }

    // --- called by tasks ---

    pub(crate) fn ready_event(&self, interest: Interest) -> ReadyEvent {
        // ORDERING: Acquire pairs with the release of `set` and `shut_down`: the caller sees what happened before the
        // event.
        ReadyEvent::of(self.word.load(Acquire), interest.mask())
    }

    /// Ready once the source is ready or the runtime has shut down. Wakes only the last task that polled for `direction`.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, direction: Direction) -> Poll<ReadyEvent> {
        let event = self.ready_event(direction.interest());
        if event.ends_wait() {
            return Poll::Ready(event);
        }
        self.waker(direction).register(cx.waker());
        let event = self.ready_event(direction.interest());
        match event.ends_wait() {
            true => Poll::Ready(event),
            false => {
                note_wait(WaitKind::Io, std::ptr::from_ref(self).addr(), cx.waker());
                Poll::Pending
            }
        }
    }

    /// Waits as [`poll`](Self::poll) does, for any number of tasks.
    pub(crate) async fn wait(&self, interest: Interest) -> ReadyEvent {
        loop {
            let event = self.ready_event(interest);
            if event.ends_wait() {
                return event;
            }
            let waiters = self
                .waiters
                .get_or_init(|| std::array::from_fn(|_| Notify::of_kind(WaitKind::Io)).into());
            let changed = match interest {
                Interest::READABLE => &waiters[0],
                Interest::WRITABLE => &waiters[1],
                _ => &waiters[2],
            }
            .notified();
            // ORDERING: Acquire pairs with the release of `set`, as in `ready_event`. Release publishes `waiters` to the
            // thread that reads the bit in `set`.
            let word = self.word.fetch_or(HAS_WAITERS, AcqRel);
            let event = ReadyEvent::of(word, interest.mask());
            if event.ends_wait() {
                return event;
            }
            changed.await;
        }
    }

    /// Clears the readiness of `event` after `WouldBlock`, unless another event has come since. Closed directions stay
    /// ready.
    pub(crate) fn clear(&self, event: ReadyEvent) {
        let cleared = u64::from((event.ready - Ready::LASTING).bits());
        // ORDERING: AcqRel, as for every change of the word: each change sees what happened before the earlier ones.
        let _ = self.word.fetch_update(AcqRel, Acquire, |word| {
            ((word >> TICK) as u16 == event.tick).then_some(word & !cleared)
        });
    }

    /// Sets readiness before the first event, so that the first attempt is made at once. No task waits yet.
    #[cfg(feature = "net")]
    pub(crate) fn assume(&self, ready: Ready) {
        // ORDERING: AcqRel, as for every change of the word: see `clear`.
        self.word.fetch_or(u64::from(ready.bits()), AcqRel);
    }

    fn waker(&self, direction: Direction) -> &AtomicWaker {
        match direction {
            Direction::Read => &self.reader,
            Direction::Write => &self.writer,
        }
    }

    // --- called by the reactor ---

    /// Adds readiness and wakes the tasks that wait for it, if `generation` is the current one.
    pub(super) fn set(&self, generation: u32, ready: Ready) {
        // ORDERING: Release pairs with the acquire of `ready_event`. Acquire pairs with the release of `wait`: the
        // reactor sees `waiters` if it sees the bit.
        let changed = self.word.fetch_update(AcqRel, Acquire, |word| {
            ((word >> GENERATION) as u32 == generation).then(|| {
                let tick = ((word >> TICK) as u16).wrapping_add(1);
                let rest = word & !(0xffff << TICK);
                rest | u64::from(tick) << TICK | u64::from(ready.bits())
            })
        });
        if let Ok(before) = changed {
            self.wake(ready, before & HAS_WAITERS != 0);
        }
    }

    pub(super) fn shut_down(&self) {
        // ORDERING: AcqRel for the same pairs as in `set`.
        let before = self.word.fetch_or(IS_SHUT_DOWN, AcqRel);
        self.wake(Ready::ALL, before & HAS_WAITERS != 0);
    }

    /// Wakes the tasks that wait for `ready`. The panic of a waker, which the panic hook has reported, ends here: an
    /// edge-triggered event is not reported twice, so the other tasks must be woken.
    fn wake(&self, ready: Ready, has_waiters: bool) {
        let wake = |direction| {
            if let Some(waker) = self.waker(direction).take() {
                drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
            }
        };
        if ready.is_readable() {
            wake(Direction::Read);
        }
        if ready.is_writable() {
            wake(Direction::Write);
        }
        let Some(waiters) = self.waiters.get().filter(|_| has_waiters) else {
            return;
        };
        for (waiters, are_woken) in
            waiters
                .iter()
                .zip([ready.is_readable(), ready.is_writable(), true])
        {
            if are_woken {
                drop(catch_unwind(AssertUnwindSafe(|| waiters.notify_waiters())));
            }
        }
    }

    /// Resets the entry after its source was deregistered and begins the next generation.
    pub(super) fn reset(&self) {
        // ORDERING: AcqRel, as for every change of the word: see `clear`.
        let _ = self.word.fetch_update(AcqRel, Acquire, |word| {
            let next = (word >> GENERATION) + 1;
            Some((next & ((1 << GENERATION_BITS) - 1)) << GENERATION)
        });
        drop(self.reader.take());
        drop(self.writer.take());
    }
}
