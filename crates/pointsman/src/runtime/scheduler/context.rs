//! The thread's place in its runtime: the current runtime, and the slot and the arena that the thread holds.
//!
//! Invariant: guards restore the previous value, also during a panic, and are dropped in reverse order.

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::super::error::TryCurrentError;
use super::{BlockingThread, Shared, Slot};
pub(in crate::runtime) use crate::context::{Work, random_below, with_work, work};
pub(in crate::runtime) use crate::park::{block_on_unchecked, set_blocking};
use crate::task::arena::Arena;
use crate::time;

struct Thread {
    /// The current runtime, kept alive by [`CURRENT`].
    shared: Cell<*const Shared>,
    slot: Cell<*const Slot>,
    arena: Cell<*const ()>,
    blocking_thread: Cell<*const ()>,
    is_in_hook: Cell<bool>,
    /// The number of runtimes that were entered and not left.
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
    static CURRENT: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}
#[cfg(all(test, loom))]
loom::thread_local! {
    static CURRENT: RefCell<Option<Arc<Shared>>> = RefCell::new(None);
}

/// Restores a field of [`Thread`] when it is dropped.
struct Restore<T: Copy + 'static> {
    field: fn(&Thread) -> &Cell<T>,
    before: T,
}

#[inline]
fn replace<T: Copy>(field: fn(&Thread) -> &Cell<T>, value: T) -> Restore<T> {
    let before = THREAD.with(|thread| field(thread).replace(value));
    Restore { field, before }
}

impl<T: Copy> Drop for Restore<T> {
    fn drop(&mut self) {
        let _ = THREAD.try_with(|thread| (self.field)(thread).set(self.before));
    }
}

// --- the current runtime ---

#[inline]
pub(in crate::runtime) fn with_current<R>(f: impl FnOnce(&Arc<Shared>) -> R) -> Option<R> {
    CURRENT
        .try_with(|current| current.borrow().as_ref().map(f))
        .ok()
        .flatten()
}

/// Returns the current runtime.
///
/// # Safety
/// The caller does not use the reference after this thread has entered or left a runtime. So it runs no user code
/// meanwhile.
#[inline]
pub(in crate::runtime) unsafe fn current_shared<'a>() -> Option<&'a Shared> {
    // While the thread ends, `CURRENT` may have been destroyed before `THREAD`.
    CURRENT.try_with(|_| ()).ok()?;
    let shared = THREAD.try_with(|thread| thread.shared.get()).ok()?;
    // SAFETY: `set_current` sets the pointer and `CURRENT` together, and `CURRENT` keeps the runtime alive until the
    // thread leaves it, which by the caller's promise is after the last use.
    unsafe { shared.as_ref() }
}

/// Counts a task or future of the current runtime that yields because it has spent its budget.
pub(super) fn count_forced_yield() {
    with_current(|shared| shared.forced_yields.add_shared(1));
}

/// Returns the error of a thread without a current runtime.
pub(in crate::runtime) fn missing() -> TryCurrentError {
    TryCurrentError {
        is_thread_ending: CURRENT.try_with(|_| ()).is_err(),
    }
}

/// Makes a runtime the current one until it is dropped.
pub(in crate::runtime) struct CurrentGuard {
    before: Option<Arc<Shared>>,
    depth: usize,
}

pub(in crate::runtime) fn set_current(shared: &Arc<Shared>) -> CurrentGuard {
    try_set_current(shared).expect("no runtime can be entered while the thread is ending")
}

/// Returns `None` if the thread is ending.
pub(in crate::runtime) fn try_set_current(shared: &Arc<Shared>) -> Option<CurrentGuard> {
    let before = CURRENT
        .try_with(|current| current.borrow_mut().replace(Arc::clone(shared)))
        .ok()?;
    time::set_current(Some(shared.time()));
    let depth = THREAD.with(|thread| {
        thread.shared.set(Arc::as_ptr(shared));
        let depth = thread.depth.get() + 1;
        thread.depth.set(depth);
        depth
    });
    Some(CurrentGuard { before, depth })
}

impl Drop for CurrentGuard {
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
            thread
                .shared
                .set(before.as_ref().map_or(ptr::null(), Arc::as_ptr));
        });
        time::set_current(before.as_ref().map(|shared| shared.time()));
        let left = CURRENT.try_with(|current| current.replace(before));
        drop(left);
    }
}

// --- the slot ---

/// Makes this thread the holder of a slot until it is dropped.
#[expect(dead_code, reason = "the fields are only dropped")]
pub(super) struct SlotGuard(Restore<*const Slot>, Restore<*const ()>);

pub(super) fn hold(slot: &Slot) -> SlotGuard {
    SlotGuard(
        replace(|thread| &thread.slot, ptr::from_ref(slot)),
        replace(|thread| &thread.arena, address_of(slot.arena())),
    )
}

fn address_of(arena: NonNull<Arena<Arc<Shared>>>) -> *const () {
    arena.as_ptr().cast_const().cast()
}

/// Returns the runtime whose slot this thread holds.
pub(in crate::runtime) fn slot_owner() -> Option<Arc<Shared>> {
    // SAFETY: a thread holds a slot only while it runs in a method of that slot's `Shared`, which therefore lives.
    let slot = unsafe { slot().as_ref() }?;
    // SAFETY: the arena of a slot is closed only after the thread that holds the slot has given it up.
    Some(Arc::clone(unsafe { slot.arena().as_ref() }.scheduler()))
}

#[inline]
pub(super) fn holds(slot: &Slot) -> bool {
    ptr::eq(self::slot(), slot)
}

/// Gives the slot up while a task blocks in place.
pub(super) fn release_slot() {
    THREAD.with(|thread| {
        thread.slot.set(ptr::null());
        thread.arena.set(ptr::null());
    });
}

/// Takes the slot back that [`release_slot`] gave up. The caller has removed it from the vacant slots.
pub(super) fn reclaim_slot(slot: &Slot) {
    let _ = THREAD.try_with(|thread| {
        thread.slot.set(slot);
        thread.arena.set(address_of(slot.arena()));
    });
}

/// The slot that this thread holds, or null.
#[inline]
pub(super) fn slot() -> *const Slot {
    THREAD
        .try_with(|thread| thread.slot.get())
        .unwrap_or(ptr::null())
}

/// Marks this thread as running a user hook until the guard is dropped.
pub(super) fn enter_hook() -> impl Drop + use<> {
    replace(|thread| &thread.is_in_hook, true)
}

pub(super) fn is_in_hook() -> bool {
    THREAD
        .try_with(|thread| thread.is_in_hook.get())
        .unwrap_or(false)
}

// --- threads in `block_on` ---

/// Marks this thread as blocked on a future until the guard is dropped. The caller drops the guard before
/// `thread`, since [`with_blocking_thread`] uses the pointer until then.
pub(super) fn set_blocking_thread(thread: &BlockingThread<'_>) -> impl Drop + use<> {
    struct Set {
        _thread: Restore<*const ()>,
        _arena: Restore<*const ()>,
    }
    impl Drop for Set {
        fn drop(&mut self) {}
    }
    Set {
        _thread: replace(
            |thread| &thread.blocking_thread,
            ptr::from_ref(thread).cast(),
        ),
        _arena: replace(|thread| &thread.arena, ptr::null()),
    }
}

#[inline]
pub(super) fn with_blocking_thread<R>(f: impl FnOnce(&BlockingThread<'_>) -> R) -> Option<R> {
    let thread: *const BlockingThread<'_> = THREAD
        .try_with(|thread| thread.blocking_thread.get())
        .ok()?
        .cast();
    // SAFETY: the guard of `set_blocking_thread` resets the pointer before the `BlockingThread` is dropped.
    unsafe { thread.as_ref() }.map(f)
}

// --- the arena ---

/// Makes this thread the owner of an arena until the guard is dropped.
pub(super) fn own(arena: NonNull<Arena<Arc<Shared>>>) -> impl Drop + use<> {
    replace(|thread| &thread.arena, address_of(arena))
}

/// Makes this thread the owner of `arena` instead of the previous one.
pub(super) fn set_arena(arena: Option<NonNull<Arena<Arc<Shared>>>>) {
    let _ = THREAD.try_with(|thread| thread.arena.set(arena.map_or(ptr::null(), address_of)));
}

/// Whether this thread owns the arena, and so may allocate and free its tasks without synchronization.
#[inline]
pub(super) fn owns_arena(arena: *const ()) -> bool {
    THREAD
        .try_with(|thread| thread.arena.get() == arena)
        .unwrap_or(false)
}
