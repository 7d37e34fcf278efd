//! What a thread knows of the runtime that it works for: which one it is, and the slot it holds.
//!
//! Invariant: what is set here is set back in the opposite order, also by a panic.

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::handle::Handle;
use super::scheduler::{BlockingThread, Shared, Slot};
pub(super) use crate::context::{Work, random_below, with_work, work};
pub(super) use crate::park::{block_in_any_case, set_blocking};
use crate::task::Arena;
use crate::time;

struct Thread {
    /// The current runtime, which [`HANDLE`] keeps.
    shared: Cell<*const Shared>,
    slot: Cell<*const Slot>,
    /// The arena that is this thread's.
    arena: Cell<*const ()>,
    blocking_thread: Cell<*const ()>,
    is_in_hook: Cell<bool>,
    /// How many handles were entered.
    depth: Cell<usize>,
}

thread_value! {
    static THREAD: Thread = Thread {
        shared: Cell::new(ptr::null()),
        slot: Cell::new(ptr::null()),
        arena: Cell::new(ptr::null()),
        blocking_thread: Cell::new(ptr::null()),
        is_in_hook: Cell::new(false),
        depth: Cell::new(0),
    };
}

#[cfg(not(all(test, loom)))]
std::thread_local! {
    static HANDLE: RefCell<Option<Handle>> = const { RefCell::new(None) };
}
#[cfg(all(test, loom))]
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

/// The current runtime.
///
/// # Safety
/// It is used for as long as this thread does not enter or leave a runtime: nothing of a user's runs meanwhile.
#[inline]
pub(crate) unsafe fn current_shared<'a>() -> Option<&'a Shared> {
    // Where the thread ends, it keeps none.
    HANDLE.try_with(|_| ()).ok()?;
    let shared = THREAD.try_with(|thread| thread.shared.get()).ok()?;
    // SAFETY: `HANDLE` keeps the current runtime.
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
                     `tokio::runtime::Handle::enter()` must be dropped in the reverse order as they were acquired."
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

/// Lets this thread hold a slot until this is dropped.
#[expect(dead_code, reason = "they are there to be dropped")]
pub(super) struct HeldSlot(Put<*const Slot>, Put<*const ()>);

pub(super) fn hold(slot: &Slot) -> HeldSlot {
    HeldSlot(
        put(|thread| &thread.slot, ptr::from_ref(slot)),
        put(|thread| &thread.arena, address_of(slot.arena())),
    )
}

fn address_of(arena: NonNull<Arena<Arc<Shared>>>) -> *const () {
    arena.as_ptr().cast_const().cast()
}

/// The runtime at whose slot this thread works.
pub(super) fn worked_for() -> Option<Arc<Shared>> {
    // SAFETY: a slot that a thread holds is there, and so is its arena.
    let slot = unsafe { slot().as_ref() }?;
    // SAFETY: as above.
    Some(Arc::clone(unsafe { slot.arena().as_ref() }.scheduler()))
}

/// Whether this thread holds the slot.
#[inline]
pub(super) fn holds(slot: &Slot) -> bool {
    ptr::eq(self::slot(), slot)
}

/// A task blocks in place: others may take the slot.
pub(super) fn let_go_of_slot() {
    THREAD.with(|thread| {
        thread.slot.set(ptr::null());
        thread.arena.set(ptr::null());
    });
}

/// Nobody has taken the slot meanwhile.
pub(super) fn hold_again(slot: &Slot) {
    let _ = THREAD.try_with(|thread| {
        thread.slot.set(slot);
        thread.arena.set(address_of(slot.arena()));
    });
}

/// Says that this thread runs a hook of the user until what is returned is dropped.
pub(super) fn enter_hook() -> impl Drop + use<> {
    put(|thread| &thread.is_in_hook, true)
}

pub(super) fn is_in_hook() -> bool {
    THREAD
        .try_with(|thread| thread.is_in_hook.get())
        .unwrap_or(false)
}

/// The slot that this thread holds.
#[inline]
pub(super) fn slot() -> *const Slot {
    THREAD
        .try_with(|thread| thread.slot.get())
        .unwrap_or(ptr::null())
}

/// Says that this thread blocks on a future until what is returned is dropped, before `thread` is.
pub(super) fn set_blocking_thread(thread: &BlockingThread<'_>) -> impl Drop + use<> {
    struct Set {
        _thread: Put<*const ()>,
        _arena: Put<*const ()>,
    }
    impl Drop for Set {
        fn drop(&mut self) {}
    }
    Set {
        _thread: put(
            |thread| &thread.blocking_thread,
            ptr::from_ref(thread).cast(),
        ),
        _arena: put(|thread| &thread.arena, ptr::null()),
    }
}

/// What this thread has of the runtime on whose future it blocks.
#[inline]
pub(super) fn with_blocking_thread<R>(
    use_thread: impl FnOnce(&BlockingThread<'_>) -> R,
) -> Option<R> {
    let thread: *const BlockingThread<'_> = THREAD
        .try_with(|thread| thread.blocking_thread.get())
        .ok()?
        .cast();
    // SAFETY: it is there as long as it is set.
    unsafe { thread.as_ref() }.map(use_thread)
}

/// Makes an arena this thread's until what is returned is dropped.
pub(super) fn own(arena: NonNull<Arena<Arc<Shared>>>) -> impl Drop + use<> {
    put(|thread| &thread.arena, address_of(arena))
}

/// Makes an arena this thread's, instead of the one before.
pub(super) fn set_arena(arena: Option<NonNull<Arena<Arc<Shared>>>>) {
    let _ = THREAD.try_with(|thread| thread.arena.set(arena.map_or(ptr::null(), address_of)));
}

/// Whether the memory of tasks in this arena is this thread's to manage.
#[inline]
pub(crate) fn owns_arena(arena: *const ()) -> bool {
    THREAD
        .try_with(|thread| thread.arena.get() == arena)
        .unwrap_or(false)
}
