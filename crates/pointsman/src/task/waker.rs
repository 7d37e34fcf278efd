//! Wakers of tasks. The data pointer is the task's address; each waker holds a reference, but for the one
//! that [`body`](super::body) lends to a poll.

use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::id::Id;
use super::raw::{Header, RawTask};
use super::span;

/// One vtable for all tasks, so that `will_wake` compares equal for wakers of the same task.
static WAKER: RawWakerVTable = RawWakerVTable::new(clone_waker, wake, wake_by_ref, drop_waker);

pub(super) fn raw_waker(header: NonNull<Header>) -> RawWaker {
    RawWaker::new(header.as_ptr().cast_const().cast(), &WAKER)
}

/// Returns the id of the task that a waker wakes, and the number of its polls, unless it is a waker of other code.
#[cfg(feature = "diagnostics")]
pub(crate) fn task_and_polls(waker: &Waker) -> Option<(Id, u32)> {
    if !std::ptr::eq(waker.vtable(), &WAKER) {
        return None;
    }
    // SAFETY: the vtable is that of this module, so the data is too. The waker keeps the task alive.
    let task = unsafe { task_of(waker.data()) };
    Some((task.id(), task.header().activity.parts().polls))
}

/// Returns the task of a waker.
///
/// # Safety
/// `data` is that of a waker of this module.
unsafe fn task_of(data: *const ()) -> RawTask {
    // SAFETY: `raw_waker` stored a task's address, which is not null.
    RawTask(unsafe { NonNull::new_unchecked(data.cast_mut().cast()) })
}

unsafe fn clone_waker(data: *const ()) -> RawWaker {
    // SAFETY: the vtable passes the data of a waker of this module, which keeps the task alive.
    let task = unsafe { task_of(data) };
    span::waker(task.header().span, "waker.clone", || {});
    task.state().add_reference();
    raw_waker(task.0)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the vtable passes the data of a waker of this module, which keeps the task alive until `wake`.
    let task = unsafe { task_of(data) };
    span::waker(task.header().span, "waker.wake", || {
        // SAFETY: the vtable gives up the waker's reference.
        unsafe { task.wake() };
    });
}

#[inline]
unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the vtable passes the data of a waker of this module, which keeps the task alive.
    let task = unsafe { task_of(data) };
    span::waker(task.header().span, "waker.wake_by_ref", || {
        task.wake_by_ref();
    });
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the vtable passes the data of a waker of this module, which keeps the task alive until it is dropped.
    let task = unsafe { task_of(data) };
    span::waker(task.header().span, "waker.drop", || {
        // SAFETY: the vtable gives up the waker's reference.
        unsafe { task.drop_references(1) };
    });
}
