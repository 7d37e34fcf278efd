//! The memory of a task: a header, the join waker, and the future or its output. The functions here know the
//! type of the future; [`raw`](super::raw) calls them through a vtable.
//!
//! Invariant: the thread that owns `stage` and `join_waker` is the one that the task's state word names; see
//! [`state`](super::state).
//!
//! Cost: one slot of the arena. No lock, and no reference count of the runtime.

use std::alloc::Layout;
use std::any::Any;
use std::cell::Cell;
use std::future::{Future, Ready};
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

use super::activity::Activity;
use super::arena::{Allocated, Arena, Schedule};
use super::coop;
use super::current::Running;
use super::error::JoinError;
use super::id::Id;
use super::origin::{Origin, SpawnSite};
use super::raw::{Header, Notified, RawTask, RunOutcome, Vtable};
use super::slab::LARGEST_SLOT;
use super::span::{TaskSpan, Traced};
use super::state::{Snapshot, ToIdle, ToRunning};
use super::waker::raw_waker;
use crate::loom::cell::UnsafeCell;

/// The payload of a panic.
pub(super) type Payload = Box<dyn Any + Send + 'static>;

#[repr(C)]
struct Body<F: Future> {
    header: Header,
    join_waker: UnsafeCell<Option<Waker>>,
    stage: UnsafeCell<Stage<F>>,
}

enum Stage<F: Future> {
    Future(F),
    Output(Result<F::Output, JoinError>),
    Empty,
}

/// Whether a future or function is boxed before it becomes a task.
///
/// Each function that a future passes through may keep a copy on its stack; a box is moved as a pointer. A
/// box is also freed when the future ends, and not when the last handle or waker is dropped.
pub(crate) const fn is_large<F>() -> bool {
    size_of::<F>() > LARGEST_SLOT - size_of::<Body<Traced<Ready<()>>>>()
}

impl RawTask {
    /// Allocates a task in `arena`, with three references: those of the runtime, a queue entry and the join
    /// handle.
    ///
    /// # Safety
    /// The caller owns `arena` and has not closed it.
    pub(crate) unsafe fn new<F: Future, S: Schedule>(
        arena: NonNull<Arena<S>>,
        future: F,
        is_job: bool,
        site: SpawnSite<'_>,
    ) -> Self {
        let span = site.span.task();
        // SAFETY: the caller owns the arena and has not closed it. `write` follows at once.
        match unsafe { arena.as_ref().allocate_used(Layout::new::<Body<F>>(), site) } {
            // SAFETY: the slot is for this layout, and its task is written here only.
            Some(allocated) => unsafe { Self::write::<F, S>(allocated, future, is_job, span) },
            // SAFETY: the caller owns the arena and has not closed it.
            None => unsafe { Self::new_slowly(arena, future, is_job, site) },
        }
    }

    /// Kept out of [`new`](Self::new), which then calls no function and so saves no registers.
    ///
    /// # Safety
    /// The requirements of [`new`](Self::new).
    #[cold]
    #[inline(never)]
    unsafe fn new_slowly<F: Future, S: Schedule>(
        arena: NonNull<Arena<S>>,
        future: F,
        is_job: bool,
        site: SpawnSite<'_>,
    ) -> Self {
        // SAFETY: the caller owns the arena and has not closed it. The slot is for this layout, and `write`
        // follows at once.
        unsafe {
            let allocated = Arena::allocate(arena, Layout::new::<Body<F>>(), site);
            Self::write::<F, S>(allocated, future, is_job, site.span.task())
        }
    }

    /// # Safety
    /// The slot was just allocated for the layout of `Body<F>`.
    #[inline(always)]
    unsafe fn write<F: Future, S: Schedule>(
        allocated: Allocated,
        future: F,
        is_job: bool,
        span: TaskSpan,
    ) -> Self {
        let Allocated { memory, id, site } = allocated;
        let body = memory.cast::<Body<F>>().as_ptr();
        // SAFETY: the caller has allocated a slot for the layout of `Body<F>`, which no other thread writes. Its
        // state word is vacant until `initialize`, so other threads read nothing else of it before.
        // `initialize` comes last.
        unsafe {
            (&raw mut (*body).header.next).write(Cell::new(ptr::null()));
            (&raw mut (*body).header.vtable).write(vtable::<F, S>(is_job));
            (&raw mut (*body).header.id).write(id);
            (&raw mut (*body).header.activity).write(Activity::default());
            (&raw mut (*body).header.origin).write(Origin::new());
            (&raw mut (*body).header.site).write(site);
            (&raw mut (*body).header.span).write(span);
            (&raw mut (*body).join_waker).write(UnsafeCell::new(None));
            (&raw mut (*body).stage).write(UnsafeCell::new(Stage::Future(future)));
            (*body).header.state.initialize();
        }
        RawTask(memory.cast())
    }
}

#[inline]
fn vtable<F: Future, S: Schedule>(is_job: bool) -> &'static Vtable {
    const fn table<F: Future, S: Schedule>(is_job: bool) -> Vtable {
        Vtable {
            is_job,
            run: run::<F, S>,
            schedule: schedule::<S>,
            cancel: cancel::<F, S>,
            take_output: take_output::<F>,
            drop_output: drop_output::<F>,
            set_join_waker: set_join_waker::<F>,
            join_waker: join_waker::<F>,
            free: free::<F, S>,
        }
    }
    match is_job {
        true => &const { table::<F, S>(true) },
        false => &const { table::<F, S>(false) },
    }
}

/// Returns the arena of a task.
///
/// # Safety
/// The caller holds a reference to the task, whose arena is an `Arena<S>`.
#[inline]
unsafe fn arena_of<S: Schedule>(header: NonNull<Header>) -> NonNull<Arena<S>> {
    // SAFETY: the caller's reference keeps the chunk and the arena alive. `Slab::grow` stored the arena's
    // address, which is not null, in the chunk, and the caller promises that the arena is one for `S`.
    unsafe { NonNull::new_unchecked((*Header::chunk(header)).arena.cast::<Arena<S>>().cast_mut()) }
}

unsafe fn scheduler_of<'a, S: Schedule>(header: NonNull<Header>) -> &'a S {
    // SAFETY: the callers of a vtable hold a reference to the task, which keeps its arena alive. The vtable
    // was made for `S`.
    unsafe { arena_of::<S>(header).as_ref() }.scheduler()
}

unsafe fn schedule<S: Schedule>(header: NonNull<Header>) {
    // SAFETY: the caller passes the reference of a queue entry, which keeps the arena and its scheduler alive
    // until another thread can take the entry. `Schedule::schedule` allows for the case that they are freed
    // after that.
    unsafe { scheduler_of::<S>(header).schedule(Notified::woken(RawTask(header))) };
}

#[inline]
unsafe fn run<F: Future, S: Schedule>(header: NonNull<Header>, is_running: bool) -> RunOutcome {
    let task = RawTask(header);
    let state = task.state();
    let start = match is_running {
        true if state.is_cancelled() => ToRunning::Cancel,
        true => ToRunning::Run,
        false => state.transition_to_running(),
    };
    match start {
        ToRunning::Run => {}
        ToRunning::Cancel => {
            // SAFETY: this thread set RUNNING, or took the entry of a task that yielded with RUNNING set, so
            // it owns the stage. The entry and the runtime hold the two references.
            unsafe { cancel::<F, S>(header, 2) };
            return RunOutcome::Done;
        }
        ToRunning::Unavailable => {
            // SAFETY: the reference of the queue entry, which this function consumes.
            unsafe { task.drop_references(1) };
            return RunOutcome::Done;
        }
    }
    task.header().activity.begin_poll();
    let body = header.cast::<Body<F>>();
    // This waker holds no reference of its own; its clones do.
    // SAFETY: the queue entry's reference outlives the waker, and `ManuallyDrop` keeps its drop from giving a
    // reference back.
    let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw_waker(header)) });
    let mut cx = Context::from_waker(&waker);
    let running = Running::enter(task);
    // SAFETY: the queue entry keeps the task alive.
    let polled = unsafe { body.as_ref() }.stage.with_mut(|stage| {
        let poll = AssertUnwindSafe(|| {
            // SAFETY: this thread owns RUNNING, hence the stage.
            let Stage::Future(future) = (unsafe { &mut *stage }) else {
                unreachable!("a task that is complete was run");
            };
            // SAFETY: the future stays in the slot until it is dropped there; nothing moves it out of the
            // stage.
            let future = unsafe { Pin::new_unchecked(future) };
            let dropped_by_panic = DropFuture(stage);
            let polled = coop::budget(|| future.poll(&mut cx));
            mem::forget(dropped_by_panic);
            polled
        });
        match catch_unwind(poll) {
            Ok(Poll::Pending) => false,
            Ok(Poll::Ready(output)) => {
                // SAFETY: this thread owns RUNNING, hence the stage, and the borrow of the future has ended.
                unsafe { store_output::<F>(stage, Ok(output), task.id()) };
                true
            }
            Err(panic) => {
                if !task.is_job() {
                    // SAFETY: the queue entry keeps the task and its arena alive.
                    unsafe { scheduler_of::<S>(header) }.panicked();
                }
                // SAFETY: this thread owns RUNNING, hence the stage, and the borrow of the future has ended.
                unsafe {
                    store_output::<F>(stage, Err(JoinError::panic(task.id(), panic)), task.id())
                };
                true
            }
        }
    });
    let has_woken_itself = running.leave();
    if polled {
        // SAFETY: the output is stored and this thread still owns RUNNING. The entry and the runtime hold the
        // two references.
        unsafe { complete::<F, S>(header, 2) };
        return RunOutcome::Done;
    }
    if has_woken_itself {
        return RunOutcome::Yielded;
    }
    match state.transition_to_idle() {
        ToIdle::Idle => RunOutcome::Done,
        ToIdle::Notified => RunOutcome::Reschedule,
        ToIdle::Cancelled => {
            // SAFETY: `Cancelled` leaves RUNNING with this thread. The entry and the runtime hold the two
            // references.
            unsafe { cancel::<F, S>(header, 2) };
            RunOutcome::Done
        }
    }
}

/// Runs a function and drops the payload of its panic, and likewise that of a panic of this drop.
fn ignore_panic(run: impl FnOnce()) {
    let mut result = catch_unwind(AssertUnwindSafe(run));
    while let Err(panic) = result {
        result = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    }
}

/// Drops the future when its poll panics. The join handle gets the poll's panic; one of this drop is ignored.
struct DropFuture<F: Future>(*mut Stage<F>);

impl<F: Future> Drop for DropFuture<F> {
    fn drop(&mut self) {
        // SAFETY: `run` made this with a stage that it owns, and drops it while it still does. The borrow of
        // the future ended when the panic left `poll`.
        ignore_panic(|| unsafe { *self.0 = Stage::Empty });
    }
}

/// Drops the future and stores the output.
///
/// # Safety
/// The caller owns the stage.
unsafe fn store_output<F: Future>(
    stage: *mut Stage<F>,
    output: Result<F::Output, JoinError>,
    id: Id,
) {
    // SAFETY: the caller owns the stage.
    let stage = unsafe { &mut *stage };
    let dropped = catch_unwind(AssertUnwindSafe(|| *stage = Stage::Empty));
    *stage = Stage::Output(match dropped {
        Ok(()) => output,
        // The join handle gets the panic of the future's drop. One of the output's drop is ignored.
        Err(panic) => {
            ignore_panic(|| drop(output));
            Err(JoinError::panic(id, panic))
        }
    });
}

/// Drops the future and completes the task as cancelled.
///
/// # Safety
/// The caller owns RUNNING, hence the stage, and `held` references, which this function drops.
unsafe fn cancel<F: Future, S: Schedule>(header: NonNull<Header>, held: usize) {
    let task = RawTask(header);
    let id = task.id();
    let running = Running::enter(task);
    // SAFETY: the caller's references keep the task alive.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .stage
        .with_mut(|stage| {
            // SAFETY: the caller owns the stage.
            unsafe { store_output::<F>(stage, Err(JoinError::cancelled(id)), id) };
        });
    running.leave();
    // SAFETY: the output is stored, and the caller owns RUNNING and the references.
    unsafe { complete::<F, S>(header, held) };
}

/// Publishes the output, wakes the join handle and drops `held` references.
///
/// # Safety
/// The output is stored. The caller owns RUNNING and the references.
unsafe fn complete<F: Future, S: Schedule>(header: NonNull<Header>, held: usize) {
    let task = RawTask(header);
    // SAFETY: the caller's references keep the task and its arena alive.
    let scheduler = unsafe { scheduler_of::<S>(header) };
    if !task.is_job() {
        scheduler.completed();
    }
    scheduler.ended(task);
    let state = task.state();
    let mut seen: Snapshot = state.load();
    let is_last = loop {
        if !seen.has_join_interest() {
            // SAFETY: without join interest no handle takes the output, and RUNNING gives the stage to the
            // caller.
            unsafe { drop_output::<F>(header) };
        }
        match state.transition_to_complete(seen, held) {
            Ok(is_last) => break is_last,
            Err(changed) => seen = changed,
        }
    };
    if !seen.has_join_waker() {
        if is_last {
            // SAFETY: the exchange above dropped the last reference, so no other thread uses the task.
            unsafe { task.free() };
        }
        return;
    }
    // SAFETY: JOIN_WAKER is set and the task complete, so the runtime owns the field and the handle does not
    // write it.
    if let Some(waker) = unsafe { task.join_waker() } {
        // A custom waker may panic. The runtime continues.
        ignore_panic(|| waker.wake_by_ref());
    }
    if !state.unset_waker_after_complete().has_join_interest() {
        // SAFETY: JOIN_WAKER is clear and the join handle is gone, so no other thread uses the field.
        unsafe { task.set_join_waker(None) };
    }
    // SAFETY: the caller's references, which the exchange has not dropped because a waker was set.
    unsafe { task.drop_references(held) };
}

#[inline]
unsafe fn take_output<F: Future>(header: NonNull<Header>, output: *mut ()) {
    // SAFETY: the caller is the join handle, whose reference keeps the task alive.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .stage
        .with_mut(|stage| {
            // SAFETY: the task is complete, so the stage belongs to its join handle.
            let taken = mem::replace(unsafe { &mut *stage }, Stage::Empty);
            let Stage::Output(taken) = taken else {
                panic!("JoinHandle polled after completion");
            };
            // SAFETY: the caller passes a pointer to an `Option` of this task's output type.
            unsafe { *output.cast::<Option<Result<F::Output, JoinError>>>() = Some(taken) };
        });
}

#[inline]
unsafe fn drop_output<F: Future>(header: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task alive.
    let stage = &unsafe { header.cast::<Body<F>>().as_ref() }.stage;
    // SAFETY: the caller owns the stage: it holds RUNNING, or it is the join handle of a complete task.
    if stage.with(|stage| matches!(unsafe { &*stage }, Stage::Empty)) {
        return;
    }
    let running = Running::enter(RawTask(header));
    stage.with_mut(|stage| {
        // SAFETY: the caller owns the stage.
        ignore_panic(|| unsafe { *stage = Stage::Empty });
    });
    running.leave();
}

unsafe fn set_join_waker<F: Future>(header: NonNull<Header>, waker: Option<Waker>) {
    // SAFETY: the caller's reference keeps the task alive.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .join_waker
        .with_mut(|place| {
            // SAFETY: the caller owns the field, as the state word says.
            let before = mem::replace(unsafe { &mut *place }, waker);
            drop_waker(before);
        });
}

/// Drops a waker. A custom waker may panic here; the caller continues.
fn drop_waker(waker: Option<Waker>) {
    if waker.is_some() {
        ignore_panic(|| drop(waker));
    }
}

#[inline]
unsafe fn join_waker<F: Future>(header: NonNull<Header>) -> *const Option<Waker> {
    // SAFETY: the caller's reference keeps the task alive. Only the address is taken here.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .join_waker
        .with(|place| place)
}

#[inline]
unsafe fn free<F: Future, S: Schedule>(header: NonNull<Header>) {
    let body = header.cast::<Body<F>>().as_ptr();
    // SAFETY: the last reference is dropped, so no other thread uses the task. The stage is empty: the
    // runtime drops its reference after completion, and the output was taken or dropped since.
    unsafe {
        (*body).header.site.release((*body).header.id);
        let arena = arena_of::<S>(header);
        (*body)
            .join_waker
            .with_mut(|place| drop_waker((*place).take()));
        ptr::drop_in_place(&raw mut (*body).stage);
        Arena::give_back(arena, header);
    }
}
