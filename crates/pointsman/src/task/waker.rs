//! The wakers of tasks: the task's address, and a reference.

use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable};

use super::raw::{Header, RawTask};

/// One for all, so that wakers of the same task are known to be the same.
static WAKER: RawWakerVTable = RawWakerVTable::new(clone_waker, wake, wake_by_ref, drop_waker);

pub(super) fn raw_waker(header: NonNull<Header>) -> RawWaker {
    RawWaker::new(header.as_ptr().cast_const().cast(), &WAKER)
}

/// The task that a waker's data points to.
///
/// # Safety
/// The waker is one of this module's.
unsafe fn task_of(data: *const ()) -> RawTask {
    // SAFETY: the data of these wakers is a task's address.
    RawTask(unsafe { NonNull::new_unchecked(data.cast_mut().cast()) })
}

unsafe fn clone_waker(data: *const ()) -> RawWaker {
    // SAFETY: from a waker of this module.
    let task = unsafe { task_of(data) };
    task.state().add_reference();
    raw_waker(task.0)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: from a waker of this module, whose reference goes.
    unsafe { task_of(data).wake() };
}

#[inline]
unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: from a waker of this module.
    unsafe { task_of(data) }.wake_by_ref();
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: from a waker of this module, whose reference goes.
    unsafe { task_of(data).drop_references(1) };
}
