//! What a thread knows of the runtime that it works for: which one it is, the seat it holds, and the task
//! that it runs.
//!
//! Invariant: what is set here is set back in the opposite order, also by a panic.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::handle::Handle;
use super::scheduler::{Guest, Seat, Shared};
use super::signal::Signal;
use crate::task::{Header, Id, RawTask};
use crate::time;

/// How this thread works for a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Not at all: it may block.
    None,
    /// It runs tasks, or a future that it blocks on.
    Runs,
    /// As above, and `block_in_place` may be used.
    RunsAndMayBlock,
}

struct Thread {
    /// The current runtime, which [`HANDLE`] keeps.
    shared: Cell<*const Shared>,
    work: Cell<Work>,
    seat: Cell<*const Seat>,
    /// The home of the seat.
    home: Cell<*const ()>,
    task: Cell<*const Header>,
    has_woken_itself: Cell<bool>,
    signal: Cell<*const Signal>,
    guest: Cell<*const ()>,
    /// It blocks on a future.
    blocks: Cell<bool>,
    random: Cell<u32>,
    /// How many handles were entered.
    depth: Cell<usize>,
}

thread_value! {
    static THREAD: Thread = Thread {
        shared: Cell::new(ptr::null()),
        work: Cell::new(Work::None),
        seat: Cell::new(ptr::null()),
        home: Cell::new(ptr::null()),
        task: Cell::new(ptr::null()),
        has_woken_itself: Cell::new(false),
        signal: Cell::new(ptr::null()),
        guest: Cell::new(ptr::null()),
        blocks: Cell::new(false),
        random: Cell::new(0),
        depth: Cell::new(0),
    };
}

#[cfg(not(loom))]
std::thread_local! {
    static HANDLE: RefCell<Option<Handle>> = const { RefCell::new(None) };
}
#[cfg(loom)]
loom::thread_local! {
    static HANDLE: RefCell<Option<Handle>> = RefCell::new(None);
}

/// Puts a value in a place of the thread until this is dropped.
struct Put<T: Copy + 'static> {
    place: fn(&Thread) -> &Cell<T>,
    before: T,
}

#[inline]
fn put<T: Copy>(place: fn(&Thread) -> &Cell<T>, value: T) -> Put<T> {
    let before = THREAD.with(|thread| place(thread).replace(value));
    Put { place, before }
}

impl<T: Copy> Drop for Put<T> {
    fn drop(&mut self) {
        let _ = THREAD.try_with(|thread| (self.place)(thread).set(self.before));
    }
}

// --- the current runtime ---

#[inline]
pub(crate) fn with_current<R>(use_handle: impl FnOnce(&Handle) -> R) -> Option<R> {
    HANDLE
        .try_with(|current| current.borrow().as_ref().map(use_handle))
        .ok()
        .flatten()
}

/// The current runtime, for as long as this thread does not enter or leave one.
#[inline]
pub(crate) fn current_shared<'a>() -> Option<&'a Shared> {
    // Where the thread ends, it keeps none.
    HANDLE.try_with(|_| ()).ok()?;
    let shared = THREAD.try_with(|thread| thread.shared.get()).ok()?;
    // SAFETY: `HANDLE` keeps the current runtime; the caller runs nothing of a user's meanwhile.
    unsafe { shared.as_ref() }
}

/// Whether there is no current runtime because the thread is ending, and not because none was entered.
pub(crate) fn is_thread_ending() -> bool {
    HANDLE.try_with(|_| ()).is_err()
}

/// Makes a runtime the current one until it is dropped.
pub(super) struct Current {
    before: Option<Handle>,
    depth: usize,
}

pub(super) fn set_current(handle: &Handle) -> Current {
    try_set_current(handle).expect("the thread is ending: no runtime can be entered")
}

/// `None` where the thread is ending.
pub(super) fn try_set_current(handle: &Handle) -> Option<Current> {
    let before = HANDLE
        .try_with(|current| current.borrow_mut().replace(handle.clone()))
        .ok()?;
    time::set_current(Some(handle.driver()));
    let depth = THREAD.with(|thread| {
        thread.shared.set(Arc::as_ptr(&handle.shared));
        let depth = thread.depth.get() + 1;
        thread.depth.set(depth);
        depth
    });
    Some(Current { before, depth })
}

impl Drop for Current {
    fn drop(&mut self) {
        let depth = THREAD.with(|thread| thread.depth.get());
        if depth != self.depth {
            if !std::thread::panicking() {
                panic!(
                    "`EnterGuard` values dropped out of order. Guards returned by \
                     `Handle::enter()` must be dropped in the reverse order as they were acquired."
                );
            }
            return;
        }
        let before = self.before.take();
        THREAD.with(|thread| {
            thread.depth.set(depth - 1);
            let shared = before.as_ref().map(|handle| Arc::as_ptr(&handle.shared));
            thread.shared.set(shared.unwrap_or(ptr::null()));
        });
        time::set_current(before.as_ref().map(Handle::driver));
        let gone = HANDLE.try_with(|current| current.replace(before));
        drop(gone);
    }
}

// --- working for it ---

#[inline]
pub(crate) fn work() -> Work {
    THREAD
        .try_with(|thread| thread.work.get())
        .unwrap_or(Work::None)
}

/// Sets how this thread works while `run` runs.
pub(crate) fn with_work<R>(work: Work, run: impl FnOnce() -> R) -> R {
    let _put = put(|thread| &thread.work, work);
    run()
}

/// Lets this thread have a seat until this is dropped.
#[expect(dead_code, reason = "they are there to be dropped")]
pub(super) struct Sitting(Put<*const Seat>, Put<*const ()>, Put<*const Signal>);

pub(super) fn sit_down(seat: &Seat, signal: &Signal) -> Sitting {
    Sitting(
        put(|thread| &thread.seat, ptr::from_ref(seat)),
        put(
            |thread| &thread.home,
            seat.home().as_ptr().cast_const().cast(),
        ),
        put(|thread| &thread.signal, ptr::from_ref(signal)),
    )
}

/// Takes the seat from this thread, and the right to one, until what is returned is dropped.
pub(super) fn stand_up() -> impl Drop {
    struct Standing {
        _sitting: Sitting,
        _guest: Put<*const ()>,
    }
    impl Drop for Standing {
        fn drop(&mut self) {}
    }
    Standing {
        _sitting: Sitting(
            put(|thread| &thread.seat, ptr::null()),
            put(|thread| &thread.home, ptr::null()),
            put(|thread| &thread.signal, ptr::null()),
        ),
        _guest: put(|thread| &thread.guest, ptr::null()),
    }
}

/// Says that this thread blocks on a future until what is returned is dropped, before the guest is.
pub(super) fn set_guest(guest: &Guest<'_>) -> impl Drop + use<> {
    put(|thread| &thread.guest, ptr::from_ref(guest).cast())
}

/// Lets this thread take no seat for the future that it blocks on until what is returned is dropped.
pub(super) fn set_no_guest() -> impl Drop + use<> {
    put(|thread| &thread.guest, ptr::null())
}

/// Lets the thread that blocks on a future of `shared` take a seat.
#[inline]
pub(super) fn with_guest<'a>(
    shared: &'a Shared,
    sit: fn(&Guest<'a>) -> Option<&'a Seat>,
) -> Option<&'a Seat> {
    let guest: *const Guest<'a> = THREAD.try_with(|thread| thread.guest.get()).ok()?.cast();
    // SAFETY: it is there as long as it is set. It is one of this runtime's if it says so.
    let guest = unsafe { guest.as_ref() }?;
    if guest.is_of(shared) {
        sit(guest)
    } else {
        None
    }
}

/// The seat of this thread.
#[inline]
pub(super) fn seat() -> *const Seat {
    THREAD
        .try_with(|thread| thread.seat.get())
        .unwrap_or(ptr::null())
}

/// Whether the memory of tasks in this home is this thread's to manage.
#[inline]
pub(crate) fn owns_home(home: *const ()) -> bool {
    THREAD
        .try_with(|thread| thread.home.get() == home)
        .unwrap_or(false)
}

/// A number that no other thread has at the same time.
pub(crate) fn thread_number() -> usize {
    THREAD
        .try_with(|thread| ptr::from_ref(thread).addr())
        .unwrap_or(0)
}

#[inline]
pub(super) fn signal_is(signal: *const Signal) -> bool {
    THREAD
        .try_with(|thread| thread.signal.get() == signal)
        .unwrap_or(false)
}

/// A number below `limit`, of no great quality.
pub(crate) fn random_below(limit: u32) -> u32 {
    let number = THREAD
        .try_with(|thread| {
            let mut random = thread.random.get();
            if random == 0 {
                // Anything but 0, where the generator would stay. Models have to draw the same each time.
                random = match cfg!(loom) {
                    true => 1,
                    false => RandomState::new().hash_one(0) as u32 | 1,
                };
            }
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            thread.random.set(random);
            random
        })
        .unwrap_or(0);
    ((u64::from(number) * u64::from(limit)) >> 32) as u32
}

// --- the task that runs ---

/// Says that a task runs until [`leave`](Self::leave).
pub(crate) struct Running {
    task: *const Header,
    has_woken_itself: bool,
}

impl Running {
    #[inline]
    pub(crate) fn enter(task: RawTask) -> Self {
        THREAD
            .try_with(|thread| Self {
                task: thread.task.replace(task.as_ptr()),
                has_woken_itself: thread.has_woken_itself.replace(false),
            })
            .unwrap_or(Self {
                task: ptr::null(),
                has_woken_itself: false,
            })
    }

    /// Whether the task has woken itself.
    #[inline]
    pub(crate) fn leave(self) -> bool {
        THREAD
            .try_with(|thread| {
                thread.task.set(self.task);
                thread.has_woken_itself.replace(self.has_woken_itself)
            })
            .unwrap_or(false)
    }
}

/// Whether it is the task that runs here that is woken; then it is noted.
#[inline]
pub(crate) fn wakes_itself(task: RawTask) -> bool {
    THREAD
        .try_with(|thread| {
            let is_same = thread.task.get() == task.as_ptr();
            if is_same {
                thread.has_woken_itself.set(true);
            }
            is_same
        })
        .unwrap_or(false)
}

#[inline]
pub(crate) fn running_id() -> Option<Id> {
    let task = THREAD.try_with(|thread| thread.task.get()).ok()?;
    // SAFETY: whoever runs a task keeps it.
    unsafe { task.as_ref() }.map(|header| header.id)
}

// --- blocking ---

/// Says that this thread blocks on a future until it is dropped. If that is within another such future, the
/// signal that was taken here may have been for that: it is given again.
pub(super) struct Blocking<'a> {
    signal: &'a Signal,
    put: Put<bool>,
}

pub(super) fn set_blocking(signal: &Signal) -> Blocking<'_> {
    let put = put(|thread| &thread.blocks, true);
    Blocking { signal, put }
}

impl Drop for Blocking<'_> {
    fn drop(&mut self) {
        if self.put.before {
            self.signal.notify();
        }
    }
}

/// Blocks this thread until the future is ready. For the blocking forms of operations.
///
/// # Panics
/// Where tasks run: they would have to wait.
#[track_caller]
pub(crate) fn block_outside<F: Future>(future: F) -> F::Output {
    assert!(
        work() == Work::None,
        "Cannot block the current thread from within a runtime. This happens because a function attempted \
         to block the current thread while the thread is being used to drive asynchronous tasks."
    );
    block_in_any_case(future)
}

/// As [`block_outside`], for whoever knows that this thread may block.
pub(super) fn block_in_any_case<F: Future>(future: F) -> F::Output {
    Signal::with_current(|signal, waker| {
        let _blocking = set_blocking(signal);
        let mut cx = Context::from_waker(waker);
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            while !signal.take_notified() {
                signal.park(None);
            }
        }
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_below_the_limit_and_reach_all_of_it() {
        assert_eq!(random_below(0), 0);
        assert_eq!(random_below(1), 0);
        let mut seen = [false; 64];
        for _ in 0..10_000 {
            seen[random_below(64) as usize] = true;
        }
        assert_eq!(seen, [true; 64]);
    }
}
