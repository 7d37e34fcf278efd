//! The activity of a task, for dumps and stall reports: its number of polls, its longest timed poll, and what it waits
//! for.
//!
//! The code that makes a task wait notes the wait when it returns `Pending`. A poll begins without a note. The noted
//! address is only an identity: a reader must not dereference it, since its object may be freed.
//!
//! All accesses are Relaxed: only the thread that runs the task writes, except the longest poll, and readers need only
//! a recent value.
//!
//! Cost: 12 bytes per task, two stores per poll. Nothing without the feature `diagnostics`.

use std::time::Duration;

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WaitKind {
    Semaphore = 1,
    Mutex,
    RwLock,
    OnceCell,
    Send,
    Receive,
    Notify,
    Timer,
    Io,
    /// The address is the id of the other task.
    Join,
    Barrier,
}

/// The address of a [`WaitKind::Join`] that waits for several tasks. It is the id of none.
pub(crate) const SEVERAL_TASKS: usize = 0;

impl WaitKind {
    /// The kinds before and including this one are those of locks, and of a channel's capacity.
    #[cfg(feature = "diagnostics")]
    pub(crate) const LAST_OF_LOCKS: Self = Self::Send;

    const ALL: [Self; 11] = [
        Self::Semaphore,
        Self::Mutex,
        Self::RwLock,
        Self::OnceCell,
        Self::Send,
        Self::Receive,
        Self::Notify,
        Self::Timer,
        Self::Io,
        Self::Join,
        Self::Barrier,
    ];

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// Returns 32 bits that identify what a task waits for: of an address, the bits that differ between objects on the
/// heap; of a task, the low half of its id. Two objects may have the same identity, so a reader must also check other
/// facts.
#[inline]
pub(crate) fn identity(kind: WaitKind, address: usize) -> u32 {
    match kind {
        WaitKind::Join => address as u32,
        _ => (address >> 3) as u32,
    }
}

/// The last wait that a task noted in its last poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitNote {
    pub(crate) kind: WaitKind,
    /// See [`identity`].
    pub(crate) identity: u32,
    /// Whether the task may also be waiting for something else.
    pub(crate) is_one_of_several: bool,
}

/// A consistent enough copy of an [`Activity`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActivityParts {
    pub(crate) polls: u32,
    pub(crate) longest_poll: Duration,
    pub(crate) wait: Option<WaitNote>,
    /// Whether the task has waited with the waker of a combinator. Its later polls may not poll, and so not note, what the
    /// combinator waits for.
    pub(crate) has_had_combinator: bool,
}

#[cfg(feature = "diagnostics")]
mod implementation {
    use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, Ordering::Relaxed};
    use std::task::Waker;
    use std::time::Duration;

    use super::{ActivityParts, WaitKind, WaitNote, identity};
    use crate::task::current;

    /// Set beside the kind if the task may also be waiting for something else.
    const SEVERAL: u8 = 1 << 7;

    #[derive(Default)]
    #[repr(C)]
    pub(crate) struct Activity {
        polls: AtomicU32,
        identity: AtomicU32,
        /// See [`encode`].
        longest: AtomicU16,
        /// A [`WaitKind`] and [`SEVERAL`], or 0.
        kind: AtomicU8,
        has_had_combinator: AtomicBool,
    }

    impl Activity {
        #[inline]
        pub(crate) fn begin_poll(&self) {
            self.polls
                .store(self.polls.load(Relaxed).wrapping_add(1), Relaxed);
            self.kind.store(0, Relaxed);
        }

        #[inline(always)]
        fn note(&self, kind: WaitKind, identity: u32, is_own_waker: bool) {
            let before = self.kind.load(Relaxed);
            if before == 0 && is_own_waker {
                self.identity.store(identity, Relaxed);
                self.kind.store(kind as u8, Relaxed);
                return;
            }
            self.note_another(kind, identity, is_own_waker, before);
        }

        #[cold]
        fn note_another(&self, kind: WaitKind, identity: u32, is_own_waker: bool, before: u8) {
            let is_same =
                before & !SEVERAL == kind as u8 && self.identity.load(Relaxed) == identity;
            if !is_own_waker {
                self.has_had_combinator.store(true, Relaxed);
            }
            let several = match before == 0 || is_same {
                true if is_own_waker => before & SEVERAL,
                _ => SEVERAL,
            };
            self.identity.store(identity, Relaxed);
            self.kind.store(kind as u8 | several, Relaxed);
        }

        fn forget(&self, kind: WaitKind, identity: u32) {
            let before = self.kind.load(Relaxed);
            if before & !SEVERAL == kind as u8 && self.identity.load(Relaxed) == identity {
                self.kind.store(0, Relaxed);
            }
        }

        /// Called with the length of a poll that has ended or still lasts.
        #[cold]
        pub(crate) fn note_poll(&self, took: Duration) {
            self.longest.fetch_max(encode(took), Relaxed);
        }

        pub(crate) fn parts(&self) -> ActivityParts {
            let kind = self.kind.load(Relaxed);
            let identity = self.identity.load(Relaxed);
            ActivityParts {
                polls: self.polls.load(Relaxed),
                longest_poll: decode(self.longest.load(Relaxed)),
                wait: WaitKind::from_number(kind & !SEVERAL).map(|known| WaitNote {
                    kind: known,
                    identity,
                    is_one_of_several: kind & SEVERAL != 0,
                }),
                has_had_combinator: self.has_had_combinator.load(Relaxed),
            }
        }
    }

    /// Up to a second in units of 32 µs, and then in units of 32 ms. Greater durations have greater codes.
    const COARSE: u16 = 1 << 15;
    const FINE_MICROS: u128 = 32;

    fn encode(took: Duration) -> u16 {
        let fine = took.as_micros() / FINE_MICROS;
        if fine < u128::from(COARSE) {
            return fine as u16;
        }
        COARSE | (fine / 1000).min(u128::from(COARSE - 1)) as u16
    }

    fn decode(code: u16) -> Duration {
        let fine = match code & COARSE {
            0 => u64::from(code),
            _ => u64::from(code & !COARSE) * 1000,
        };
        Duration::from_micros(fine * FINE_MICROS as u64)
    }

    /// Notes what the current task waits for. Called when an operation returns `Pending`.
    #[inline]
    pub(crate) fn note_wait(kind: WaitKind, address: usize, waker: &Waker) {
        current::with_header(|header| {
            // With the waker of a combinator, the task's other waits are not polled again, and so are not noted.
            let is_own_waker = std::ptr::eq(waker.data(), std::ptr::from_ref(header).cast());
            header
                .activity
                .note(kind, identity(kind, address), is_own_waker);
        });
    }

    /// Called when a wait ends that [`note_wait`] may have noted in the same poll.
    #[inline]
    pub(crate) fn forget_wait(kind: WaitKind, address: usize) {
        current::with_header(|header| {
            header.activity.forget(kind, identity(kind, address));
        });
    }

    #[cfg(all(test, not(loom)))]
    mod tests {
        use super::*;

        #[test]
        fn lengths_of_polls_keep_their_order_and_are_exact_to_three_percent() {
            let mut last = 0;
            for exponent in 0..64 {
                let took = Duration::from_nanos(1 << exponent);
                let code = encode(took);
                assert!(code >= last);
                last = code;
                let decoded = decode(code);
                assert!(decoded <= took);
                let range = Duration::from_millis(2)..Duration::from_secs(1_000);
                assert!(
                    !range.contains(&took) || decoded.as_secs_f64() > 0.96 * took.as_secs_f64()
                );
            }
        }

        #[test]
        fn two_waits_in_one_poll_are_one_of_several_and_a_poll_begins_without() {
            let activity = Activity::default();
            let wait = || activity.parts().wait;
            activity.note(WaitKind::Mutex, 8, true);
            activity.note(WaitKind::Mutex, 8, true);
            assert!(!wait().unwrap().is_one_of_several);
            activity.note(WaitKind::Timer, 16, true);
            assert!(wait().unwrap().is_one_of_several);
            activity.forget(WaitKind::Mutex, 8);
            assert_eq!(wait().unwrap().kind, WaitKind::Timer);
            activity.forget(WaitKind::Timer, 16);
            assert_eq!(wait(), None);
            activity.note(WaitKind::Mutex, 8, false);
            assert!(wait().unwrap().is_one_of_several);
            activity.begin_poll();
            assert_eq!(wait(), None);
            assert_eq!(activity.parts().polls, 1);
        }
    }
}

#[cfg(not(feature = "diagnostics"))]
mod implementation {
    use std::task::Waker;
    use std::time::Duration;

    use super::{ActivityParts, WaitKind};

    #[derive(Default)]
    pub(crate) struct Activity {}

    impl Activity {
        #[inline]
        pub(crate) fn begin_poll(&self) {}

        pub(crate) fn note_poll(&self, _: Duration) {}

        pub(crate) fn parts(&self) -> ActivityParts {
            ActivityParts {
                polls: 0,
                longest_poll: Duration::ZERO,
                wait: None,
                has_had_combinator: false,
            }
        }
    }

    #[inline]
    pub(crate) fn note_wait(_: WaitKind, _: usize, _: &Waker) {}

    #[inline]
    pub(crate) fn forget_wait(_: WaitKind, _: usize) {}
}

pub(crate) use implementation::{Activity, forget_wait, note_wait};
