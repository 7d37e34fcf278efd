//! The word of a task: where it is in its life, who waits for it, and how many hold it.
//!
//! ```text
//!            spawn                start                 complete
//!   ─────────────────► NOTIFIED ────────► RUNNING ──────────────────► COMPLETE
//!                        ▲  │                │  ▲
//!                   wake │  └─ shut down ─┐  │  │ woken while it ran, or by itself
//!                        │                ▼  ▼  │
//!                       idle ◄──────────── pending
//! ```
//!
//! Invariants:
//! - Whoever has set RUNNING has the future for itself, until it takes RUNNING away or sets COMPLETE. With
//!   COMPLETE the output goes to the join handle, or if there is none, it is gone before.
//! - A task that is neither complete nor idle is in a queue once, or is being run. That entry holds a
//!   reference, the runtime holds one until it is complete, and so does each handle and waker.
//! - The join handle may write the place of its waker while JOIN_WAKER is not set; while it is set, nobody
//!   writes there. After COMPLETE the place is the runtime's until it takes JOIN_WAKER away.
//!
//! Cost: a task that is spawned, run and joined changes the word twice, to start and to complete. One that
//! wakes itself while it runs goes through the queue without changing it at all.

use crate::loom::sync::atomic::AtomicUsize;
use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// It is in a queue, or will be.
const NOTIFIED: usize = 1;
/// Somebody has the future.
const RUNNING: usize = 1 << 1;
/// The output is there, or was.
const COMPLETE: usize = 1 << 2;
/// It shall end at its next await.
const CANCELLED: usize = 1 << 3;
/// There is a join handle.
const JOIN_INTEREST: usize = 1 << 4;
/// The join handle's waker is in its place.
const JOIN_WAKER: usize = 1 << 5;
const REFERENCE: usize = 1 << 6;

pub(super) struct State(AtomicUsize);

/// What a look at the word has shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Snapshot(usize);

impl Snapshot {
    #[inline]
    pub(super) fn is_complete(self) -> bool {
        self.0 & COMPLETE != 0
    }

    #[inline]
    pub(super) fn is_cancelled(self) -> bool {
        self.0 & CANCELLED != 0
    }

    #[inline]
    pub(super) fn has_join_interest(self) -> bool {
        self.0 & JOIN_INTEREST != 0
    }

    #[inline]
    pub(super) fn has_join_waker(self) -> bool {
        self.0 & JOIN_WAKER != 0
    }

    #[inline]
    fn references(self) -> usize {
        self.0 / REFERENCE
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("running", &(self.0 & RUNNING != 0))
            .field("complete", &self.is_complete())
            .field("notified", &(self.0 & NOTIFIED != 0))
            .field("cancelled", &self.is_cancelled())
            .field("references", &self.references())
            .finish()
    }
}

/// What a queue entry is good for.
#[derive(PartialEq, Eq)]
pub(super) enum Start {
    Run,
    /// Run only to be dropped.
    Cancel,
    /// The task is complete, or being cancelled by another.
    Gone,
}

/// What becomes of a task whose future is pending.
#[derive(PartialEq, Eq)]
pub(super) enum Pended {
    Idle,
    /// It was woken while it ran: its queue entry goes on living.
    Again,
    /// It was cancelled while it ran: it is running still.
    Cancel,
}

/// Whether a change of references has let go of the last.
pub(super) type IsLast = bool;

impl State {
    /// Of a task that is about to be put in a queue: the runtime, the queue entry and the join handle hold
    /// it.
    #[inline]
    pub(super) fn begin(&self) {
        // ORDERING: Release: who finds the task by its word sees what else there is of it.
        self.0
            .store(NOTIFIED | JOIN_INTEREST | (3 * REFERENCE), Release);
    }

    /// That of memory without a task.
    pub(super) fn vacant() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        // ORDERING: Acquire pairs with the release in `complete`: whoever sees COMPLETE sees the output.
        Snapshot(self.0.load(Acquire))
    }

    /// Whether it should stop; a look of the one who runs it.
    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed) & CANCELLED != 0
    }

    /// Marks the memory as that of no task, which is zero.
    #[inline]
    pub(super) fn vacate(&self) {
        self.0.store(0, Relaxed);
    }

    #[inline]
    fn update<R>(&self, mut change: impl FnMut(usize) -> (R, Option<usize>)) -> R {
        let mut current = self.0.load(Acquire); // ORDERING: as in `load`, for changes that only look.
        loop {
            let (result, next) = change(current);
            let Some(next) = next else { return result };
            // ORDERING: AcqRel: the future, the output and the waker's place pass from one to the next along
            // the changes of this word. Acquire on failure, as the next look may be the last.
            match self.0.compare_exchange_weak(current, next, AcqRel, Acquire) {
                Ok(_) => return result,
                Err(seen) => current = seen,
            }
        }
    }

    // --- those who run it ---

    /// A queue entry was taken. Unless it is `Gone` the caller has the future from now on.
    #[inline]
    pub(super) fn start(&self) -> Start {
        self.update(|state| {
            if state & (RUNNING | COMPLETE) != 0 {
                return (Start::Gone, None);
            }
            let start = match state & CANCELLED {
                0 => Start::Run,
                _ => Start::Cancel,
            };
            (start, Some(state & !NOTIFIED | RUNNING))
        })
    }

    /// The future is pending. The reference of the queue entry goes, unless it is used again.
    #[inline]
    pub(super) fn pend(&self) -> Pended {
        self.update(|state| {
            if state & CANCELLED != 0 {
                (Pended::Cancel, None)
            } else if state & NOTIFIED != 0 {
                (Pended::Again, Some(state & !RUNNING))
            } else {
                (Pended::Idle, Some((state & !RUNNING) - REFERENCE))
            }
        })
    }

    /// The output is in its place, and `held` references go: that of the runtime, and that of the queue
    /// entry if there was one. Without a join handle the output has to be gone before.
    ///
    /// `Err` if the join handle left in the meantime. With a join waker nothing of the references has
    /// changed yet: the waker has to be woken first.
    #[inline]
    pub(super) fn complete(&self, seen: Snapshot, held: usize) -> Result<IsLast, Snapshot> {
        let mut current = seen.0;
        loop {
            let mut next = current - RUNNING + COMPLETE;
            if current & JOIN_WAKER == 0 {
                next -= held * REFERENCE;
            }
            // ORDERING: Release, so that the join handle sees the output; Acquire, so that the waker of the
            // join handle is seen here.
            match self.0.compare_exchange_weak(current, next, AcqRel, Acquire) {
                Ok(_) => return Ok(next / REFERENCE == 0),
                Err(changed) if (changed ^ seen.0) & (JOIN_INTEREST | JOIN_WAKER) != 0 => {
                    return Err(Snapshot(changed));
                }
                Err(changed) => current = changed,
            }
        }
    }

    /// The join waker was woken after completion. What is returned tells whether the handle is there still;
    /// if it is not, the waker is the caller's to drop.
    pub(super) fn waker_done(&self) -> Snapshot {
        // ORDERING: Release, so that a handle that leaves drops the waker after it was used; Acquire, so that
        // it is dropped here after the handle has left it.
        Snapshot(self.0.fetch_and(!JOIN_WAKER, AcqRel))
    }

    /// The runtime ends, and wants to drop the future. True if nobody else has it: the caller has it now.
    pub(super) fn shut_down(&self) -> bool {
        self.update(|state| {
            if state & (RUNNING | COMPLETE) != 0 {
                (false, Some(state | CANCELLED))
            } else {
                (true, Some(state | CANCELLED | RUNNING))
            }
        })
    }

    // --- those who wake it ---

    /// By someone who keeps its reference. True if the task has to be put in a queue, which has a reference
    /// of its own then.
    #[inline]
    pub(super) fn wake_by_ref(&self) -> bool {
        self.update(|state| {
            if state & (NOTIFIED | COMPLETE) != 0 {
                // Also what was done before a wake-up that changes nothing has to be seen by the next poll.
                (false, Some(state))
            } else if state & RUNNING != 0 {
                (false, Some(state | NOTIFIED))
            } else {
                (true, Some((state | NOTIFIED) + REFERENCE))
            }
        })
    }

    /// By someone whose reference goes. If the task has to be put in a queue the reference is the queue's.
    #[inline]
    pub(super) fn wake(&self) -> Wake {
        self.update(|state| {
            if state & (NOTIFIED | COMPLETE | RUNNING) == 0 {
                return (Wake::Schedule, Some(state | NOTIFIED));
            }
            let next = if state & COMPLETE == 0 {
                (state | NOTIFIED) - REFERENCE
            } else {
                state - REFERENCE
            };
            let wake = match next / REFERENCE {
                0 => Wake::Last,
                _ => Wake::Done,
            };
            (wake, Some(next))
        })
    }

    /// Asks it to end. True if it has to be put in a queue for that, as with [`wake_by_ref`](Self::wake_by_ref).
    pub(super) fn cancel(&self) -> bool {
        self.update(|state| {
            if state & (COMPLETE | CANCELLED) != 0 {
                (false, None)
            } else if state & RUNNING != 0 {
                (false, Some(state | CANCELLED | NOTIFIED))
            } else if state & NOTIFIED != 0 {
                (false, Some(state | CANCELLED))
            } else {
                (true, Some((state | CANCELLED | NOTIFIED) + REFERENCE))
            }
        })
    }

    // --- the join handle ---

    /// A waker was put in its place. `Err` if the task is complete: the place is the handle's again.
    #[inline]
    pub(super) fn set_join_waker(&self) -> Result<(), Snapshot> {
        self.update(|state| {
            if state & COMPLETE != 0 {
                (Err(Snapshot(state)), None)
            } else {
                (Ok(()), Some(state | JOIN_WAKER))
            }
        })
    }

    /// The waker's place shall be written again. `Err` if the task is complete.
    #[inline]
    pub(super) fn unset_join_waker(&self) -> Result<(), Snapshot> {
        self.update(|state| {
            if state & COMPLETE != 0 {
                (Err(Snapshot(state)), None)
            } else {
                (Ok(()), Some(state & !JOIN_WAKER))
            }
        })
    }

    /// The join handle leaves, with its reference if nothing is left to it.
    #[inline]
    pub(super) fn leave(&self) -> Left {
        self.update(|state| {
            if state & COMPLETE != 0 {
                let has_waker = state & JOIN_WAKER == 0;
                (Left::Output { has_waker }, Some(state & !JOIN_INTEREST))
            } else if state & JOIN_WAKER != 0 {
                (Left::Waker, Some(state & !(JOIN_INTEREST | JOIN_WAKER)))
            } else {
                (Left::Nothing, Some((state & !JOIN_INTEREST) - REFERENCE))
            }
        })
    }

    // --- references ---

    #[inline]
    pub(super) fn add_reference(&self) {
        let before = self.0.fetch_add(REFERENCE, Relaxed);
        // On 32 bits that is with 2^25 references, which can be had. One that wraps would free the task.
        if before > isize::MAX as usize {
            std::process::abort();
        }
    }

    /// For someone who found the task without having a reference. False if it is gone or complete.
    pub(super) fn try_add_reference(&self) -> bool {
        self.update(|state| {
            if state == 0 || state & COMPLETE != 0 {
                (false, None)
            } else {
                (true, Some(state + REFERENCE))
            }
        })
    }

    #[inline]
    pub(super) fn drop_references(&self, count: usize) -> IsLast {
        // ORDERING: Release, so that whoever lets go last sees what was done; Acquire, if that is here.
        self.0.fetch_sub(count * REFERENCE, AcqRel) / REFERENCE == count
    }

    /// Whether there is nobody but a join handle, whose waker is not in use: then the word need not change.
    #[inline]
    pub(super) fn only_join_handle_is_left(&self) -> bool {
        let state = self.load();
        state.references() == 1 && state.is_complete() && !state.has_join_waker()
    }
}

/// What is left to a join handle that leaves.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// The reference is gone too.
    Nothing,
    /// The place of its waker, and the reference.
    Waker,
    /// The output, the reference, and the place of its waker unless the runtime uses it.
    Output { has_waker: bool },
}

/// What has to be done after a wake-up.
#[derive(PartialEq, Eq)]
pub(super) enum Wake {
    Done,
    Schedule,
    Last,
}
