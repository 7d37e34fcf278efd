//! The state word of a task: its lifecycle, its join handle's interest and its reference count in one atomic.
//!
//! ```text
//!            spawn                start                 complete
//!   ─────────────────► NOTIFIED ────────► RUNNING ──────────────────► COMPLETE
//!                        ▲  │                │  ▲
//!                   wake │  └─ shut down ─┐  │  │ woken while running
//!                        │                ▼  ▼  │
//!                       idle ◄──────────── pending
//! ```
//!
//! # Invariants
//!
//! - The thread that sets RUNNING owns the future until it clears RUNNING or sets COMPLETE. COMPLETE passes
//!   the output to the join handle; without a join handle the output is dropped before.
//! - A task that is neither idle nor complete has exactly one queue entry, or a thread runs it on behalf of
//!   that entry. The entry holds a reference. So does the runtime until the task completes, the join handle,
//!   and each abort handle and waker.
//! - While JOIN_WAKER is clear, the join handle owns the join waker's field. While it is set, both sides may
//!   read the field and neither writes it. After COMPLETE the runtime owns the field until it clears
//!   JOIN_WAKER.
//!
//! # Cost
//!
//! A task that runs once and is joined after it completed changes the word twice: to start and to complete. A
//! join handle that waits adds two changes, to set and to clear JOIN_WAKER. A task that wakes itself while it
//! runs is queued again without a change.

use crate::loom::sync::atomic::AtomicUsize;
use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The task has a queue entry, or gets one when its poll returns.
const NOTIFIED: usize = 1;
/// A thread owns the future.
const RUNNING: usize = 1 << 1;
/// The output was stored. It may have been taken since.
const COMPLETE: usize = 1 << 2;
/// The future is dropped instead of polled again.
const CANCELLED: usize = 1 << 3;
/// The join handle exists.
const JOIN_INTEREST: usize = 1 << 4;
/// The join waker's field holds a waker.
const JOIN_WAKER: usize = 1 << 5;
const REFERENCE: usize = 1 << 6;

pub(super) struct TaskState(AtomicUsize);

/// The value of the word at one moment.
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
    pub(super) fn is_running(self) -> bool {
        self.0 & RUNNING != 0
    }

    #[inline]
    pub(super) fn is_notified(self) -> bool {
        self.0 & NOTIFIED != 0
    }

    /// The number of references besides those of the runtime, the join handle, and the caller.
    pub(super) fn others(self) -> usize {
        let known = 2 + usize::from(self.has_join_interest());
        self.references().saturating_sub(known)
    }

    #[inline]
    fn references(self) -> usize {
        self.0 / REFERENCE
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskState")
            .field("running", &(self.0 & RUNNING != 0))
            .field("complete", &self.is_complete())
            .field("notified", &(self.0 & NOTIFIED != 0))
            .field("cancelled", &self.is_cancelled())
            .field("references", &self.references())
            .finish()
    }
}

/// What the taker of a queue entry does with the task.
#[derive(PartialEq, Eq)]
pub(super) enum ToRunning {
    Run,
    /// Drop the future.
    Cancel,
    /// Nothing: the task is complete, or another thread is cancelling it.
    Unavailable,
}

/// What happens to a task whose future returned `Pending`.
#[derive(PartialEq, Eq)]
pub(super) enum ToIdle {
    Idle,
    /// It was woken while it ran: it is queued again with the reference of its entry.
    Notified,
    /// It was cancelled while it ran: the caller still owns the future and drops it.
    Cancelled,
}

/// Whether a change dropped the last reference.
pub(super) type IsLast = bool;

impl TaskState {
    /// Publishes a new task with three references: those of the runtime, the queue entry and the join handle.
    #[inline]
    pub(super) fn initialize(&self) {
        // ORDERING: Release pairs with the Acquire of `try_add_reference`: a thread that finds the task
        // through its word sees the header and the future.
        self.0
            .store(NOTIFIED | JOIN_INTEREST | (3 * REFERENCE), Release);
    }

    /// The word of a slot without a task.
    pub(super) fn vacant() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        // ORDERING: Acquire pairs with the Release of `transition_to_complete`: a thread that sees COMPLETE
        // sees the output.
        Snapshot(self.0.load(Acquire))
    }

    /// Whether the task was cancelled. Relaxed, as the flag publishes no data; for the thread that runs the
    /// task.
    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed) & CANCELLED != 0
    }

    /// Marks the slot as vacant.
    #[inline]
    pub(super) fn vacate(&self) {
        self.0.store(0, Relaxed);
    }

    #[inline]
    fn update<R>(&self, mut change: impl FnMut(usize) -> (R, Option<usize>)) -> R {
        // ORDERING: Acquire pairs with the Release of the exchange below and of `transition_to_complete`: a
        // change that returns without a store has seen what the value stands for.
        let mut current = self.0.load(Acquire);
        loop {
            let (result, next) = change(current);
            let Some(next) = next else { return result };
            // ORDERING: AcqRel: each exchange synchronises with the previous one. Along this chain pass the
            // future, the output, the join waker and all that wakers wrote before they woke the task. Acquire
            // on failure, because the next round may return without a store.
            match self.0.compare_exchange_weak(current, next, AcqRel, Acquire) {
                Ok(_) => return result,
                Err(seen) => current = seen,
            }
        }
    }

    // --- for the thread that runs the task ---

    /// Called with an entry from a queue. Unless the result is `Unavailable`, the caller owns the future
    /// afterwards.
    #[inline]
    pub(super) fn transition_to_running(&self) -> ToRunning {
        self.update(|state| {
            if state & (RUNNING | COMPLETE) != 0 {
                return (ToRunning::Unavailable, None);
            }
            let start = match state & CANCELLED {
                0 => ToRunning::Run,
                _ => ToRunning::Cancel,
            };
            (start, Some(state & !NOTIFIED | RUNNING))
        })
    }

    /// Called when the future returned `Pending`. Drops the reference of the queue entry if the task becomes
    /// idle.
    #[inline]
    pub(super) fn transition_to_idle(&self) -> ToIdle {
        self.update(|state| {
            if state & CANCELLED != 0 {
                (ToIdle::Cancelled, None)
            } else if state & NOTIFIED != 0 {
                (ToIdle::Notified, Some(state & !RUNNING))
            } else {
                (ToIdle::Idle, Some((state & !RUNNING) - REFERENCE))
            }
        })
    }

    /// Called when the output is stored. Drops `held` references: the runtime's, and the queue entry's if
    /// there is one. Without a join handle the caller has dropped the output before.
    ///
    /// Fails if the join handle was dropped or changed its waker since `seen`. If a join waker is set, the
    /// references stay: the caller wakes it first.
    #[inline]
    pub(super) fn transition_to_complete(
        &self,
        seen: Snapshot,
        held: usize,
    ) -> Result<IsLast, Snapshot> {
        let mut current = seen.0;
        loop {
            let mut next = current - RUNNING + COMPLETE;
            if current & JOIN_WAKER == 0 {
                next -= held * REFERENCE;
            }
            // ORDERING: Release pairs with `load` and `update` of the join handle, which then sees the
            // output. Acquire pairs with `set_join_waker`: the waker is visible here.
            match self.0.compare_exchange_weak(current, next, AcqRel, Acquire) {
                Ok(_) => return Ok(next / REFERENCE == 0),
                Err(changed) if (changed ^ seen.0) & (JOIN_INTEREST | JOIN_WAKER) != 0 => {
                    return Err(Snapshot(changed));
                }
                Err(changed) => current = changed,
            }
        }
    }

    /// Clears JOIN_WAKER after the join waker was woken. If the join handle is gone, the caller drops the
    /// waker.
    pub(super) fn unset_waker_after_complete(&self) -> Snapshot {
        // ORDERING: Release pairs with `transition_to_join_handle_dropped`, which drops the waker after this
        // use. Acquire pairs with the same operation, if it came first: the waker is dropped here after the
        // handle's last access.
        Snapshot(self.0.fetch_and(!JOIN_WAKER, AcqRel))
    }

    /// Cancels the task at the shutdown of the runtime. True if no thread owned the future; the caller owns
    /// it then.
    pub(super) fn transition_to_shutdown(&self) -> bool {
        self.update(|state| {
            if state & (RUNNING | COMPLETE) != 0 {
                (false, Some(state | CANCELLED))
            } else {
                (true, Some(state | CANCELLED | RUNNING))
            }
        })
    }

    // --- for wakers ---

    /// Wakes the task for a caller that keeps its reference. True if the caller has to queue the task; the
    /// new entry's reference was added.
    #[inline]
    pub(super) fn transition_to_notified_by_ref(&self) -> bool {
        self.update(|state| {
            if state & (NOTIFIED | COMPLETE) != 0 {
                // Stores the unchanged word: the next poll must see what the caller did before this wake-up.
                (false, Some(state))
            } else if state & RUNNING != 0 {
                (false, Some(state | NOTIFIED))
            } else {
                (true, Some((state | NOTIFIED) + REFERENCE))
            }
        })
    }

    /// Wakes the task for a caller that gives up its reference. If the task has to be queued, the entry takes
    /// over the reference.
    #[inline]
    pub(super) fn transition_to_notified_by_val(&self) -> ToNotified {
        self.update(|state| {
            if state & (NOTIFIED | COMPLETE | RUNNING) == 0 {
                return (ToNotified::Schedule, Some(state | NOTIFIED));
            }
            let next = if state & COMPLETE == 0 {
                (state | NOTIFIED) - REFERENCE
            } else {
                state - REFERENCE
            };
            let wake = match next / REFERENCE {
                0 => ToNotified::Free,
                _ => ToNotified::DoNothing,
            };
            (wake, Some(next))
        })
    }

    /// Cancels the task. True if the caller has to queue it, as for
    /// [`transition_to_notified_by_ref`](Self::transition_to_notified_by_ref).
    pub(super) fn transition_to_notified_and_cancel(&self) -> bool {
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

    // --- for the join handle ---

    /// Publishes the waker in the join waker's field. Fails if the task is complete: the handle keeps the
    /// field.
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

    /// Takes the join waker's field back to write it again. Fails if the task is complete.
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

    /// Called when the join handle is dropped. Drops its reference if nothing is left to clean up.
    #[inline]
    pub(super) fn transition_to_join_handle_dropped(&self) -> JoinHandleCleanup {
        self.update(|state| {
            if state & COMPLETE != 0 {
                let with_waker = state & JOIN_WAKER == 0;
                (
                    JoinHandleCleanup::Output { with_waker },
                    Some(state & !JOIN_INTEREST),
                )
            } else if state & JOIN_WAKER != 0 {
                (
                    JoinHandleCleanup::Waker,
                    Some(state & !(JOIN_INTEREST | JOIN_WAKER)),
                )
            } else {
                (
                    JoinHandleCleanup::Nothing,
                    Some((state & !JOIN_INTEREST) - REFERENCE),
                )
            }
        })
    }

    // --- references ---

    #[inline]
    pub(super) fn add_reference(&self) {
        let before = self.0.fetch_add(REFERENCE, Relaxed);
        // A count that wraps would free the task. With 32-bit words 2^25 references suffice to get here.
        if before > isize::MAX as usize {
            std::process::abort();
        }
    }

    /// Adds a reference for a thread that has none. False if the slot is vacant or the task complete.
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
        // ORDERING: Release pairs with the Acquire of the thread that drops the last reference: it frees the
        // task after every other access. Acquire in case this thread is that one.
        self.0.fetch_sub(count * REFERENCE, AcqRel) / REFERENCE == count
    }

    /// Whether the join handle holds the last reference and the runtime is done with its waker. Then the
    /// handle frees the task without a change of the word.
    #[inline]
    pub(super) fn has_only_join_handle(&self) -> bool {
        let state = self.load();
        state.references() == 1 && state.is_complete() && !state.has_join_waker()
    }
}

/// What a dropped join handle has to clean up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JoinHandleCleanup {
    /// Nothing; its reference was dropped.
    Nothing,
    /// Its waker and its reference.
    Waker,
    /// The output and its reference; with `with_waker` also its waker, which the runtime no longer uses.
    Output { with_waker: bool },
}

/// What the caller of a wake-up has to do.
#[derive(PartialEq, Eq)]
pub(super) enum ToNotified {
    DoNothing,
    Schedule,
    Free,
}
