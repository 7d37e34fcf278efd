//! What is known of one source of I/O, and who waits for it.
//!
//! Invariant: who finds that the source is not ready is woken by the event that changes it. A waker is put in its place,
//! and the bit [`HAS_WAITERS`] set, before the word is looked at; the event changes the word before it looks for
//! wakers.
//!
//! All is in one word, so that an event of a source that has gone meanwhile, and whose place another has, changes
//! nothing: the generation is compared in the same exchange. The tick counts events: an answer "it would block" ends
//! only the readiness that it was asked under.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::task::{Context, Poll};

use crate::atomic_waker::AtomicWaker;
use crate::io::{Interest, Ready};
use crate::loom::sync::atomic::AtomicU64;
use crate::sync::Notify;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

// The word, from the right: readiness (8 bits), flags (8), tick (16), generation (32).
const IS_SHUT_DOWN: u64 = 1 << 8;
const HAS_WAITERS: u64 = 1 << 9;
const TICK: u32 = 16;
const GENERATION: u32 = 32;

/// As many as there is room for in an event, beside the number of the place.
pub(super) const GENERATION_BITS: u32 = if usize::BITS == 64 { 32 } else { 10 };

pub(crate) struct Readiness {
    word: AtomicU64,
    /// Who polls for reading, and for writing: one task each.
    reader: AtomicWaker,
    writer: AtomicWaker,
    /// Any number of tasks that wait to read, to write, or for something else. Most sources never have any.
    waiters: OnceLock<Box<[Notify; 3]>>,
}

/// What was known when somebody looked.
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

    fn is_over(self) -> bool {
        !self.ready.is_empty() || self.is_shut_down
    }

    /// The same event, of which only this was used.
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

impl Readiness {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
            // Models don't know that making it comes before using it.
            waiters: match cfg!(all(test, loom)) {
                true => OnceLock::from(Box::default()),
                false => OnceLock::new(),
            },
        }
    }

    pub(super) fn generation(&self) -> u32 {
        (self.word.load(Relaxed) >> GENERATION) as u32
    }

    // --- those who wait ---

    pub(crate) fn ready_event(&self, interest: Interest) -> ReadyEvent {
        // ORDERING: Acquire: what was done before the event is seen.
        ReadyEvent::of(self.word.load(Acquire), interest.mask())
    }

    /// Ready when the source is, or the runtime ends. The last task that polls for a direction is woken.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, direction: Direction) -> Poll<ReadyEvent> {
        let event = self.ready_event(direction.interest());
        if event.is_over() {
            return Poll::Ready(event);
        }
        self.waker(direction).register(cx.waker());
        let event = self.ready_event(direction.interest());
        match event.is_over() {
            true => Poll::Ready(event),
            false => Poll::Pending,
        }
    }

    /// As [`poll`](Self::poll), for any number of tasks.
    pub(crate) async fn wait(&self, interest: Interest) -> ReadyEvent {
        loop {
            let event = self.ready_event(interest);
            if event.is_over() {
                return event;
            }
            let waiters = self.waiters.get_or_init(Default::default);
            let changed = match interest {
                Interest::READABLE => &waiters[0],
                Interest::WRITABLE => &waiters[1],
                _ => &waiters[2],
            }
            .notified();
            // ORDERING: Acquire as above; Release shows the waiters to who sees the bit.
            let word = self.word.fetch_or(HAS_WAITERS, AcqRel);
            let event = ReadyEvent::of(word, interest.mask());
            if event.is_over() {
                return event;
            }
            changed.await;
        }
    }

    /// The source would block: it is not ready for what the event says, unless there was another event since. Its ends
    /// stay.
    pub(crate) fn clear(&self, event: ReadyEvent) {
        let cleared = u64::from((event.ready - Ready::LASTING).bits());
        // ORDERING: AcqRel, as all changes of the word: what it orders is handed on.
        let _ = self.word.fetch_update(AcqRel, Acquire, |word| {
            ((word >> TICK) as u16 == event.tick).then_some(word & !cleared)
        });
    }

    /// It is ready, as far as one can know before the first event. Nobody waits yet.
    #[cfg(feature = "net")]
    pub(crate) fn assume(&self, ready: Ready) {
        // ORDERING: AcqRel, as all changes of the word.
        self.word.fetch_or(u64::from(ready.bits()), AcqRel);
    }

    fn waker(&self, direction: Direction) -> &AtomicWaker {
        match direction {
            Direction::Read => &self.reader,
            Direction::Write => &self.writer,
        }
    }

    // --- the reactor ---

    /// The source is ready, if it is still the one of this generation.
    pub(super) fn set(&self, generation: u32, ready: Ready) {
        // ORDERING: Release: what was done before the event is seen by who sees it; Acquire: the waiters are.
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
        // ORDERING: as in `set`.
        let before = self.word.fetch_or(IS_SHUT_DOWN, AcqRel);
        self.wake(Ready::ALL, before & HAS_WAITERS != 0);
    }

    /// A panic of a waker, which has been reported by then, ends here: the system does not tell twice, so the others are
    /// woken, and the thread that wakes them is none of the waker's.
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

    /// The source has gone: its events mean nothing from now on.
    pub(super) fn forget(&self) {
        // ORDERING: AcqRel, as all changes of the word.
        let _ = self.word.fetch_update(AcqRel, Acquire, |word| {
            let next = (word >> GENERATION) + 1;
            Some((next & ((1 << GENERATION_BITS) - 1)) << GENERATION)
        });
        drop(self.reader.take());
        drop(self.writer.take());
    }
}
