//! What a thread knows of the runtime that it works for: which one it is, and the seat it holds.
//!
//! Invariant: what is set here is set back in the opposite order, also by a panic.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;

use super::handle::Handle;
use super::scheduler::{Guest, Seat, Shared};
use super::signal::Signal;
pub(super) use crate::context::{Work, random_below, with_work, work};
pub(super) use crate::park::{block_in_any_case, set_blocking};
use crate::time;

struct Thread {
    /// Id of the current runtime; 0: none.
    runtime: Cell<u64>,
    /// That runtime, which [`HANDLE`] keeps.
    shared: Cell<*const Shared>,
    time_enabled: Cell<bool>,
    seat: Cell<*const Seat>,
    /// The home of the seat.
    home: Cell<*const ()>,
    guest: Cell<*const ()>,
    /// How many handles were entered.
    depth: Cell<usize>,
}

thread_value! {
    static THREAD: Thread = Thread {
        runtime: Cell::new(0),
        shared: Cell::new(ptr::null()),
        time_enabled: Cell::new(false),
        seat: Cell::new(ptr::null()),
        home: Cell::new(ptr::null()),
        guest: Cell::new(ptr::null()),
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

/// Id of the current runtime.
#[inline]
pub(crate) fn runtime_id() -> Option<u64> {
    THREAD
        .try_with(|thread| thread.runtime.get())
        .ok()
        .filter(|&id| id != 0)
}

/// Whether the current runtime has timers.
#[inline]
pub(crate) fn time_enabled() -> bool {
    THREAD
        .try_with(|thread| thread.time_enabled.get())
        .unwrap_or(false)
}

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

/// The runtime with this id, if it is there still.
pub(crate) fn with_handle_of<R>(id: u64, use_handle: impl FnOnce(&Handle) -> R) -> Option<R> {
    // A handle of its own: what is woken meanwhile may enter a runtime.
    let handle = match runtime_id() == Some(id) {
        true => with_current(Handle::clone),
        false => super::registry::find(id),
    };
    handle.map(|handle| use_handle(&handle))
}

pub(crate) fn with_current_driver<R>(use_driver: impl FnOnce(&time::Driver) -> R) -> Option<R> {
    with_current(Handle::clone)?.driver().map(use_driver)
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
    let depth = THREAD.with(|thread| {
        thread.runtime.set(handle.shared.id);
        thread.shared.set(Arc::as_ptr(&handle.shared));
        thread.time_enabled.set(handle.driver().is_some());
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
            thread
                .runtime
                .set(before.as_ref().map_or(0, |handle| handle.shared.id));
            let shared = before.as_ref().map(|handle| Arc::as_ptr(&handle.shared));
            thread.shared.set(shared.unwrap_or(ptr::null()));
            thread.time_enabled.set(
                before
                    .as_ref()
                    .is_some_and(|handle| handle.driver().is_some()),
            );
        });
        let gone = HANDLE.try_with(|current| current.replace(before));
        drop(gone);
    }
}

// --- working for it ---

/// Lets this thread have a seat until this is dropped.
#[expect(dead_code, reason = "they are there to be dropped")]
pub(super) struct Sitting(Put<*const Seat>, Put<*const ()>);

pub(super) fn sit_down(seat: &Seat, _: &Signal) -> Sitting {
    Sitting(
        put(|thread| &thread.seat, ptr::from_ref(seat)),
        put(
            |thread| &thread.home,
            seat.home().as_ptr().cast_const().cast(),
        ),
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
