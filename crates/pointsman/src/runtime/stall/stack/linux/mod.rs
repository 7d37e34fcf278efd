//! Stacks on Linux.

mod capture;
mod exchange;
mod unwind;

pub(super) use self::unwind::resolve;

/// Returns the system's id of this thread.
#[inline]
pub(super) fn this_thread() -> i32 {
    std::thread_local! {
        static NUMBER: std::cell::Cell<i32> = const { std::cell::Cell::new(0) };
    }
    // Each thread has its own value, even if its address is that of a thread that has ended.
    NUMBER
        .try_with(|number| {
            if number.get() == 0 {
                // SAFETY: the call has no conditions.
                number.set(unsafe { libc::syscall(libc::SYS_gettid) } as i32);
            }
            number.get()
        })
        .unwrap_or(0)
}

/// Returns the addresses of the instructions on another thread's stack; none if that thread does not answer.
pub(super) fn addresses(thread: i32) -> Vec<usize> {
    capture::capture(thread)
        .map(|snapshot| unwind::unwind(&snapshot))
        .unwrap_or_default()
}
