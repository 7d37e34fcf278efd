//! What a thread knows of the runtime that it works for: which one it is, the slot it holds, and the task
//! that it runs.
//!
//! Invariant: what is set here is set back in the opposite order, also by a panic.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Context, Poll};

use super::handle::Handle;
use super::scheduler::{BlockingThread, Shared, Slot};
use super::signal::Signal;
use crate::task::{Header, Home, Id, RawTask};
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
    /// Id of the current runtime; 0: none.
    runtime: Cell<u64>,
    /// That runtime, which [`HANDLE`] keeps.
    shared: Cell<*const Shared>,
    time_enabled: Cell<bool>,
    work: Cell<Work>,
    slot: Cell<*const Slot>,
    /// The slot that this thread has held last, also while a task blocks in place.
    worker_slot: Cell<*const Slot>,
    /// The home that is this thread's.
    home: Cell<*const ()>,
    task: Cell<*const Header>,
    has_woken_itself: Cell<bool>,
    signal: Cell<*const Signal>,
    blocking_thread: Cell<*const ()>,
    /// It blocks on a future.
    blocks: Cell<bool>,
    random: Cell<u32>,
    /// How many handles were entered.
    depth: Cell<usize>,
}

thread_value! {
    static THREAD: Thread = Thread {
        runtime: Cell::new(0),
        shared: Cell::new(ptr::null()),
        time_enabled: Cell::new(false),
        work: Cell::new(Work::None),
        slot: Cell::new(ptr::null()),
        worker_slot: Cell::new(ptr::null()),
        home: Cell::new(ptr::null()),
        task: Cell::new(ptr::null()),
        has_woken_itself: Cell::new(false),
        signal: Cell::new(ptr::null()),
        blocking_thread: Cell::new(ptr::null()),
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

/// Lets this thread hold a slot until this is dropped.
#[expect(dead_code, reason = "they are there to be dropped")]
pub(super) struct HeldSlot(
    Put<*const Slot>,
    Put<*const Slot>,
    Put<*const ()>,
    Put<*const Signal>,
);

pub(super) fn hold(slot: &Slot, signal: &Signal) -> HeldSlot {
    HeldSlot(
        put(|thread| &thread.slot, ptr::from_ref(slot)),
        put(|thread| &thread.worker_slot, ptr::from_ref(slot)),
        put(|thread| &thread.home, address_of(slot.home())),
        put(|thread| &thread.signal, ptr::from_ref(signal)),
    )
}

fn address_of(home: NonNull<Home<Arc<Shared>>>) -> *const () {
    home.as_ptr().cast_const().cast()
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
        thread.home.set(ptr::null());
    });
}

/// Nobody has taken the slot meanwhile.
pub(super) fn hold_again(slot: &Slot) {
    let _ = THREAD.try_with(|thread| {
        thread.slot.set(slot);
        thread.home.set(address_of(slot.home()));
    });
}

/// The slot that this thread holds.
#[inline]
pub(super) fn slot() -> *const Slot {
    THREAD
        .try_with(|thread| thread.slot.get())
        .unwrap_or(ptr::null())
}

/// As above, but also while a task blocks in place.
pub(super) fn worker_slot() -> *const Slot {
    THREAD
        .try_with(|thread| thread.worker_slot.get())
        .unwrap_or(ptr::null())
}

/// Says that this thread blocks on a future until what is returned is dropped, before `thread` is.
pub(super) fn set_blocking_thread(thread: &BlockingThread<'_>) -> impl Drop + use<> {
    struct Set {
        _thread: Put<*const ()>,
        _home: Put<*const ()>,
    }
    impl Drop for Set {
        fn drop(&mut self) {}
    }
    Set {
        _thread: put(
            |thread| &thread.blocking_thread,
            ptr::from_ref(thread).cast(),
        ),
        _home: put(|thread| &thread.home, ptr::null()),
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

/// Makes a home this thread's until what is returned is dropped.
pub(super) fn own(home: NonNull<Home<Arc<Shared>>>) -> impl Drop + use<> {
    put(|thread| &thread.home, address_of(home))
}

/// Makes a home this thread's, instead of the one before.
pub(super) fn set_home(home: Option<NonNull<Home<Arc<Shared>>>>) {
    let _ = THREAD.try_with(|thread| thread.home.set(home.map_or(ptr::null(), address_of)));
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
