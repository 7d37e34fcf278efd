//! The task that this thread runs.
//!
//! Invariant: what [`Running::enter`] sets is set back by [`Running::leave`], in the opposite order.

use std::cell::Cell;
use std::ptr;

use super::id::Id;
use super::raw::{Header, RawTask};

struct Current {
    task: Cell<*const Header>,
    has_woken_itself: Cell<bool>,
}

thread_value! {
    static CURRENT: Current = Current {
        task: Cell::new(ptr::null()),
        has_woken_itself: Cell::new(false),
    };
}

/// Says that a task runs until [`leave`](Self::leave).
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

    /// Whether the task has woken itself.
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

/// Whether it is the task that runs here that is woken; then it is noted.
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

#[inline]
pub(super) fn running_id() -> Option<Id> {
    let task = CURRENT.try_with(|current| current.task.get()).ok()?;
    // SAFETY: whoever runs a task keeps it.
    unsafe { task.as_ref() }.map(|header| header.id)
}
