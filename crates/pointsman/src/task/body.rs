//! The memory of a task: the header, and behind it the future or its output.
//!
//! Invariant: `stage` belongs to whoever the word of the task says (see [`state`](super::state)).
//!
//! Cost: one place of the arena's memory, no lock and no reference count of the runtime.

use std::alloc::Layout;
use std::any::Any;
use std::cell::Cell;
use std::future::{Future, Ready};
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

use super::arena::{Arena, Schedule};
use super::coop;
use super::current::Running;
use super::error::JoinError;
use super::id::Id;
use super::raw::{Header, Notified, Ran, RawTask, Vtable};
use super::slab::LARGEST_PLACE;
use super::state::{Pended, Snapshot, Start};
use super::waker::raw_waker;
use crate::loom::cell::UnsafeCell;

/// What a panic has thrown.
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

/// Whether a future or function is put in a box before it becomes a task. Each function that it passes through
/// on the way may have it on the stack; and with its box its memory goes when it ends, and not when all
/// handles and wakers have gone.
pub(crate) const fn is_large<F>() -> bool {
    size_of::<F>() > LARGEST_PLACE - size_of::<Body<Ready<()>>>()
}

impl RawTask {
    /// Makes a task in memory of `arena`. It has three references: the runtime's, that of a queue entry,
    /// and the join handle's.
    ///
    /// # Safety
    /// The caller owns `arena`, as [`Arena::allocate`] demands.
    pub(crate) unsafe fn new<F: Future, S: Schedule>(
        arena: NonNull<Arena<S>>,
        future: F,
        is_job: bool,
    ) -> Self {
        // SAFETY: the caller owns the arena.
        let id = unsafe { arena.as_ref().next_id() };
        // SAFETY: the caller owns the arena.
        let memory = unsafe { Arena::allocate(arena, Layout::new::<Body<F>>()) };
        let body = memory.cast::<Body<F>>().as_ptr();
        // SAFETY: the memory is large enough, aligned, and the caller's. The word is written last, as others
        // may look whether there is a task.
        unsafe {
            (&raw mut (*body).header.next).write(Cell::new(ptr::null()));
            (&raw mut (*body).header.vtable).write(vtable::<F, S>(is_job));
            (&raw mut (*body).header.id).write(id);
            (&raw mut (*body).join_waker).write(UnsafeCell::new(None));
            (&raw mut (*body).stage).write(UnsafeCell::new(Stage::Future(future)));
            (*body).header.state.begin();
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

/// The arena of a task.
///
/// # Safety
/// The task is there, and its arena is one for `S`.
#[inline]
unsafe fn arena_of<S: Schedule>(header: NonNull<Header>) -> NonNull<Arena<S>> {
    // SAFETY: a task keeps its chunk and its arena.
    unsafe { NonNull::new_unchecked((*header.as_ref().chunk).arena.cast::<Arena<S>>().cast_mut()) }
}

unsafe fn scheduler_of<'a, S: Schedule>(header: NonNull<Header>) -> &'a S {
    // SAFETY: a task keeps its arena, and the caller its task.
    unsafe { arena_of::<S>(header).as_ref() }.scheduler()
}

unsafe fn schedule<S: Schedule>(header: NonNull<Header>) {
    // SAFETY: as the caller promises. The entry's reference keeps the arena until others can take the entry;
    // the scheduler sees to what comes then.
    unsafe { scheduler_of::<S>(header).schedule(Notified::woken(RawTask(header))) };
}

#[inline]
unsafe fn run<F: Future, S: Schedule>(header: NonNull<Header>, is_running: bool) -> Ran {
    let task = RawTask(header);
    let state = task.state();
    let start = match is_running {
        true if state.is_cancelled() => Start::Cancel,
        true => Start::Run,
        false => state.start(),
    };
    match start {
        Start::Run => {}
        Start::Cancel => {
            // SAFETY: RUNNING is this caller's.
            unsafe { cancel::<F, S>(header, 2) };
            return Ran::Done;
        }
        Start::Gone => {
            // SAFETY: the queue entry's.
            unsafe { task.drop_references(1) };
            return Ran::Done;
        }
    }
    let body = header.cast::<Body<F>>();
    // The waker has no reference of its own; clones have.
    // SAFETY: it is dropped before the queue entry's reference goes, and never runs its drop.
    let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw_waker(header)) });
    let mut cx = Context::from_waker(&waker);
    let running = Running::enter(task);
    // SAFETY: RUNNING gives the stage to this caller.
    let polled = unsafe { body.as_ref() }.stage.with_mut(|stage| {
        let poll = AssertUnwindSafe(|| {
            // SAFETY: as above, and a future stays where it is until it is dropped.
            let Stage::Future(future) = (unsafe { &mut *stage }) else {
                unreachable!("a task that is complete was run");
            };
            // SAFETY: as above.
            let future = unsafe { Pin::new_unchecked(future) };
            let dropped_by_panic = DropFuture(stage);
            let polled = coop::budget(|| future.poll(&mut cx));
            mem::forget(dropped_by_panic);
            polled
        });
        match catch_unwind(poll) {
            Ok(Poll::Pending) => false,
            Ok(Poll::Ready(output)) => {
                // SAFETY: as above.
                unsafe { store_output::<F>(stage, Ok(output), task.id()) };
                true
            }
            Err(panic) => {
                // SAFETY: as above.
                unsafe {
                    store_output::<F>(stage, Err(JoinError::panic(task.id(), panic)), task.id())
                };
                true
            }
        }
    });
    let has_woken_itself = running.leave();
    if polled {
        // SAFETY: the output is in its place, and the entry and the runtime hold the task.
        unsafe { complete::<F, S>(header, 2) };
        return Ran::Done;
    }
    if has_woken_itself {
        return Ran::Yielded;
    }
    match state.pend() {
        Pended::Idle => Ran::Done,
        Pended::Again => Ran::Again,
        Pended::Cancel => {
            // SAFETY: RUNNING is this caller's still.
            unsafe { cancel::<F, S>(header, 2) };
            Ran::Done
        }
    }
}

/// Runs what nobody is there to hear the panic of, also that of what is thrown when it is dropped.
fn ignore_panic(run: impl FnOnce()) {
    let mut result = catch_unwind(AssertUnwindSafe(run));
    while let Err(panic) = result {
        result = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    }
}

/// Drops the future while a panic goes through it, which is the one that is told.
struct DropFuture<F: Future>(*mut Stage<F>);

impl<F: Future> Drop for DropFuture<F> {
    fn drop(&mut self) {
        // SAFETY: whoever polls the future has the stage.
        ignore_panic(|| unsafe { *self.0 = Stage::Empty });
    }
}

/// Drops the future and puts the output in its place.
unsafe fn store_output<F: Future>(
    stage: *mut Stage<F>,
    output: Result<F::Output, JoinError>,
    id: Id,
) {
    // SAFETY: the stage is the caller's.
    let stage = unsafe { &mut *stage };
    let dropped = catch_unwind(AssertUnwindSafe(|| *stage = Stage::Empty));
    *stage = Stage::Output(match dropped {
        Ok(()) => output,
        // What the future's drop throws is not lost; what the output's throws is.
        Err(panic) => {
            ignore_panic(|| drop(output));
            Err(JoinError::panic(id, panic))
        }
    });
}

/// Drops the future of a task that is not to go on.
unsafe fn cancel<F: Future, S: Schedule>(header: NonNull<Header>, held: usize) {
    let task = RawTask(header);
    let id = task.id();
    let running = Running::enter(task);
    // SAFETY: RUNNING gives the stage to the caller.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .stage
        .with_mut(|stage| {
            // SAFETY: as above.
            unsafe { store_output::<F>(stage, Err(JoinError::cancelled(id)), id) };
        });
    running.leave();
    // SAFETY: the output is in its place.
    unsafe { complete::<F, S>(header, held) };
}

/// Says that the output is there. `held` references go.
unsafe fn complete<F: Future, S: Schedule>(header: NonNull<Header>, held: usize) {
    let task = RawTask(header);
    if !task.is_job() {
        // SAFETY: a task keeps its arena.
        unsafe { scheduler_of::<S>(header) }.completed();
    }
    let state = task.state();
    let mut seen: Snapshot = state.load();
    let is_last = loop {
        if !seen.has_join_interest() {
            // SAFETY: without a join handle the output is still the runner's.
            unsafe { drop_output::<F>(header) };
        }
        match state.complete(seen, held) {
            Ok(is_last) => break is_last,
            Err(changed) => seen = changed,
        }
    };
    if !seen.has_join_waker() {
        if is_last {
            // SAFETY: nobody else has it.
            unsafe { task.free() };
        }
        return;
    }
    // SAFETY: JOIN_WAKER is set, so nobody writes there.
    if let Some(waker) = unsafe { task.join_waker() } {
        // A waker of the user's own may panic, which is nobody's fault here.
        ignore_panic(|| waker.wake_by_ref());
    }
    if !state.waker_done().has_join_interest() {
        // SAFETY: the handle has left its waker behind.
        unsafe { task.set_join_waker(None) };
    }
    // SAFETY: the caller's.
    unsafe { task.drop_references(held) };
}

#[inline]
unsafe fn take_output<F: Future>(header: NonNull<Header>, output: *mut ()) {
    // SAFETY: a join handle of a complete task has the stage.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .stage
        .with_mut(|stage| {
            // SAFETY: as above.
            let taken = mem::replace(unsafe { &mut *stage }, Stage::Empty);
            let Stage::Output(taken) = taken else {
                panic!("JoinHandle polled after completion");
            };
            // SAFETY: the caller names the type of the output.
            unsafe { *output.cast::<Option<Result<F::Output, JoinError>>>() = Some(taken) };
        });
}

#[inline]
unsafe fn drop_output<F: Future>(header: NonNull<Header>) {
    // SAFETY: whoever drops the output has the stage.
    let stage = &unsafe { header.cast::<Body<F>>().as_ref() }.stage;
    // SAFETY: as above.
    if stage.with(|stage| matches!(unsafe { &*stage }, Stage::Empty)) {
        return;
    }
    let running = Running::enter(RawTask(header));
    stage.with_mut(|stage| {
        // SAFETY: as above.
        ignore_panic(|| unsafe { *stage = Stage::Empty });
    });
    running.leave();
}

unsafe fn set_join_waker<F: Future>(header: NonNull<Header>, waker: Option<Waker>) {
    // SAFETY: the place is the caller's.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .join_waker
        .with_mut(|place| {
            // SAFETY: as above.
            let before = mem::replace(unsafe { &mut *place }, waker);
            drop_waker(before);
        });
}

/// A waker of the user's own may panic when it is dropped, which is not the fault of whoever is here.
fn drop_waker(waker: Option<Waker>) {
    if waker.is_some() {
        ignore_panic(|| drop(waker));
    }
}

#[inline]
unsafe fn join_waker<F: Future>(header: NonNull<Header>) -> *const Option<Waker> {
    // SAFETY: nobody writes.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .join_waker
        .with(|place| place)
}

#[inline]
unsafe fn free<F: Future, S: Schedule>(header: NonNull<Header>) {
    let body = header.cast::<Body<F>>().as_ptr();
    // SAFETY: the last reference is gone, so all is this caller's. The stage is empty: a task is complete
    // before the runtime lets go of it, and then the output was taken or dropped.
    unsafe {
        let arena = arena_of::<S>(header);
        (*body)
            .join_waker
            .with_mut(|place| drop_waker((*place).take()));
        ptr::drop_in_place(&raw mut (*body).stage);
        Arena::give_back(arena, header);
    }
}
