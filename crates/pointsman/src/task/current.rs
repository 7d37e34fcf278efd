//! The task that the current thread polls.
//!
//! Invariant: [`Running::leave`] restores what [`Running::enter`] replaced. Pairs nest.

use std::cell::Cell;
use std::ptr;

use super::id::Id;
use super::raw::{Header, RawTask};

struct CurrentTask {
    task: Cell<*const Header>,
    has_woken_itself: Cell<bool>,
}

thread_value! {
    static CURRENT: CurrentTask = CurrentTask {
        task: Cell::new(ptr::null()),
        has_woken_itself: Cell::new(false),
    };
}

/// Marks a task as the current one until [`leave`](Self::leave).
pub(super) struct Running {
    task: *const Header,
    has_woken_itself: bool,
}

impl Running {
    #[inline]
    pub(super) fn enter(task: RawTask) -> Self {
        CURRENT
            .try_with(|current| Self {
                task: current.task.replace(task.as_ptr()),
                has_woken_itself: current.has_woken_itself.replace(false),
            })
            .unwrap_or(Self {
                task: ptr::null(),
                has_woken_itself: false,
            })
    }

    /// Returns whether the task woke itself.
    #[inline]
    pub(super) fn leave(self) -> bool {
        CURRENT
            .try_with(|current| {
                current.task.set(self.task);
                current.has_woken_itself.replace(self.has_woken_itself)
            })
            .unwrap_or(false)
    }
}

/// If `task` is the current one, records that it woke itself. Returns whether it is.
#[inline]
pub(super) fn wakes_itself(task: RawTask) -> bool {
    CURRENT
        .try_with(|current| {
            let is_same = current.task.get() == task.as_ptr();
            if is_same {
                current.has_woken_itself.set(true);
            }
            is_same
        })
        .unwrap_or(false)
}

/// Calls `run` with the header of the current task, if there is one.
#[inline]
pub(super) fn with_header(run: impl FnOnce(&Header)) {
    let Ok(task) = CURRENT.try_with(|current| current.task.get()) else {
        return;
    };
    // SAFETY: the thread that entered the task holds a reference to it until it leaves.
    if let Some(header) = unsafe { task.as_ref() } {
        run(header);
    }
}

#[inline]
pub(super) fn running_id() -> Option<Id> {
    let task = CURRENT.try_with(|current| current.task.get()).ok()?;
    // SAFETY: the thread that entered the task holds a reference to it until it leaves.
    unsafe { task.as_ref() }.map(|header| header.id)
}
