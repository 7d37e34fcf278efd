//! The memory of a task: a header that the scheduler knows, and behind it the future or its output.
//!
//! Everything is reached by a pointer to the header, and what depends on the type of the future by the
//! header's table of functions.
//!
//! Invariant: `stage` belongs to whoever the word of the task says (see [`state`](super::state)), and the
//! memory goes back to its home when the last reference does.
//!
//! Cost: one place of the home's memory, no lock and no reference count of the runtime.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use super::home::{Home, Schedule};
use super::state::{Pended, Snapshot, Start, State, Wake};
use super::{Id, JoinError, coop};
use crate::loom::cell::UnsafeCell;
use crate::runtime::context;

/// What every task has. Its address is the task's.
#[repr(C)]
pub(crate) struct Header {
    pub(super) state: State,
    /// The next task of whatever chain this one is in: of a queue, or of memory that came back.
    pub(crate) next: Cell<*const Header>,
    pub(super) vtable: &'static Vtable,
    /// Where the memory came from. The scheduler is found there.
    pub(super) home: *const (),
    pub(crate) id: Id,
    /// The size class of the memory, as the home counts them.
    pub(super) class: u32,
    /// Whether it runs in a thread for work that blocks, which sees to its end.
    pub(super) is_job: bool,
    /// Where the home has noted the memory, if it was allocated by itself. Used by its owner alone.
    pub(super) index: Cell<u32>,
}

pub(super) struct Vtable {
    run: unsafe fn(NonNull<Header>, is_running: bool) -> Ran,
    schedule: unsafe fn(NonNull<Header>),
    cancel: unsafe fn(NonNull<Header>, held: usize),
    /// Moves the output to `*mut Option<Result<T, JoinError>>`.
    take_output: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the output that nobody has taken.
    drop_output: unsafe fn(NonNull<Header>),
    set_join_waker: unsafe fn(NonNull<Header>, Option<Waker>),
    join_waker: unsafe fn(NonNull<Header>) -> *const Option<Waker>,
    free: unsafe fn(NonNull<Header>),
}

#[repr(C)]
pub(super) struct Body<F: Future> {
    header: Header,
    join_waker: UnsafeCell<Option<Waker>>,
    stage: UnsafeCell<Stage<F>>,
}

enum Stage<F: Future> {
    Future(F),
    Output(Result<F::Output, JoinError>),
    Empty,
}

/// What has become of a task that was run.
enum Ran {
    /// It is complete, waits, or was somebody else's.
    Done,
    /// It was woken meanwhile: it has to be queued again, with the reference that it had in the queue.
    Again,
    /// It has woken itself, and is running still.
    Yielded,
}

/// A place in a queue: it has a reference to its task, and must not be lost.
#[derive(Debug)]
#[must_use = "a task that is in no queue is never run"]
pub(crate) struct Entry {
    pub(crate) task: RawTask,
    /// The task has woken itself, and is running still: whoever takes the entry goes on running it.
    pub(crate) is_running: bool,
}

impl Entry {
    /// # Safety
    /// The task was woken, or just made: the caller has the reference of a queue entry.
    #[inline]
    pub(crate) unsafe fn woken(task: RawTask) -> Self {
        Self {
            task,
            is_running: false,
        }
    }

    /// Runs the task. What is given back has to be queued again.
    #[inline]
    pub(crate) fn run(self) -> Option<Self> {
        let Self { task, is_running } = self;
        // SAFETY: the entry's reference.
        let is_running = match unsafe { (task.vtable().run)(task.0, is_running) } {
            Ran::Done => return None,
            Ran::Again => false,
            Ran::Yielded => true,
        };
        Some(Self { task, is_running })
    }

    /// Gives the place up, where the runtime ends. The task is ended if nobody else can.
    pub(crate) fn give_up(self) {
        let Self { task, is_running } = self;
        if is_running {
            // SAFETY: a task that has yielded is the entry's; that and the runtime hold it.
            unsafe { (task.vtable().cancel)(task.0, 2) };
        } else {
            // SAFETY: the entry's reference.
            unsafe { task.drop_references(1) };
        }
    }
}

/// A task as a pointer. Copied freely; what holds a reference says so.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawTask(NonNull<Header>);

impl fmt::Debug for RawTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Task").field(&self.id()).finish()
    }
}

// SAFETY: a pointer to what is synchronized by its own word. What it reaches of the future's type is bounded
// where tasks are made.
unsafe impl Send for RawTask {}
// SAFETY: as above.
unsafe impl Sync for RawTask {}

impl RawTask {
    /// Makes a task in memory of `home`. It has three references: the runtime's, that of a queue entry,
    /// and the join handle's.
    ///
    /// # Safety
    /// The caller owns `home`, as [`Home::allocate`] demands.
    pub(super) unsafe fn new<F: Future, S: Schedule>(
        home: NonNull<Home<S>>,
        future: F,
        is_job: bool,
    ) -> Self {
        // SAFETY: the caller owns the home.
        let id = unsafe { home.as_ref().next_id() };
        // SAFETY: the caller owns the home.
        let (memory, class) =
            unsafe { home.as_ref().allocate(std::alloc::Layout::new::<Body<F>>()) };
        let body = memory.cast::<Body<F>>().as_ptr();
        // SAFETY: the memory is large enough, aligned, and the caller's. The word is written last, as others
        // may look whether there is a task.
        unsafe {
            (&raw mut (*body).header.next).write(Cell::new(ptr::null()));
            (&raw mut (*body).header.vtable).write(vtable::<F, S>());
            (&raw mut (*body).header.home).write(home.as_ptr().cast_const().cast());
            (&raw mut (*body).header.id).write(id);
            (&raw mut (*body).header.class).write(class);
            (&raw mut (*body).header.is_job).write(is_job);
            (&raw mut (*body).join_waker).write(UnsafeCell::new(None));
            (&raw mut (*body).stage).write(UnsafeCell::new(Stage::Future(future)));
            (&raw mut (*body).header.state).write(State::new());
        }
        Self(memory.cast())
    }

    /// # Safety
    /// It points to a task, and the caller has a reference.
    #[inline]
    pub(crate) unsafe fn from_raw(header: NonNull<Header>) -> Self {
        Self(header)
    }

    #[inline]
    pub(crate) fn as_ptr(self) -> *const Header {
        self.0.as_ptr()
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: whoever has a task has a reference.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(super) fn state(&self) -> &State {
        &self.header().state
    }

    #[inline]
    pub(crate) fn id(&self) -> Id {
        self.header().id
    }

    #[inline]
    fn vtable(&self) -> &'static Vtable {
        self.header().vtable
    }

    // --- those who run it ---

    /// Drops the future where the runtime ends. One that is being run is dropped when it returns.
    pub(crate) fn shut_down(self) {
        if self.state().shut_down() {
            // SAFETY: RUNNING was set just now. The runtime's reference goes.
            unsafe { (self.vtable().cancel)(self.0, 1) };
        }
    }

    // --- those who wake it ---

    #[inline]
    pub(crate) fn wake_by_ref(self) {
        if context::wakes_itself(self) {
            return;
        }
        if self.state().wake_by_ref() {
            // SAFETY: the reference that was added is the queue entry's.
            unsafe { (self.vtable().schedule)(self.0) };
        }
    }

    /// # Safety
    /// A reference of the caller's goes.
    unsafe fn wake(self) {
        if context::wakes_itself(self) {
            // SAFETY: the caller's.
            unsafe { self.drop_references(1) };
            return;
        }
        match self.state().wake() {
            Wake::Done => {}
            // SAFETY: the caller's reference is the queue entry's.
            Wake::Schedule => unsafe { (self.vtable().schedule)(self.0) },
            // SAFETY: nobody else has it.
            Wake::Last => unsafe { (self.vtable().free)(self.0) },
        }
    }

    /// Asks it to end.
    pub(crate) fn abort(self) {
        if self.state().cancel() {
            // SAFETY: the reference that was added is the queue entry's.
            unsafe { (self.vtable().schedule)(self.0) };
        }
    }

    /// A new task is put in a queue, or ended at once if its runtime has.
    ///
    /// # Safety
    /// The task was just made: the reference of a queue entry is there.
    #[inline]
    pub(crate) unsafe fn begin(self, is_over: bool) {
        if is_over {
            self.shut_down();
            // SAFETY: as the caller promises.
            unsafe { self.drop_references(1) };
        } else {
            // SAFETY: as the caller promises.
            unsafe { (self.vtable().schedule)(self.0) };
        }
    }

    // --- the join handle ---

    /// Moves the output to where `output` points, a `*mut Option<Result<T, JoinError>>`.
    ///
    /// # Safety
    /// The task is complete, the caller is its join handle, and `T` is the type of its output.
    #[inline]
    pub(super) unsafe fn take_output(self, output: *mut ()) {
        // SAFETY: as the caller promises.
        unsafe { (self.vtable().take_output)(self.0, output) };
    }

    /// # Safety
    /// As for [`take_output`](Self::take_output).
    #[inline]
    pub(super) unsafe fn drop_output(self) {
        // SAFETY: as the caller promises.
        unsafe { (self.vtable().drop_output)(self.0) };
    }

    /// # Safety
    /// The place of the join waker is the caller's.
    #[inline]
    pub(super) unsafe fn set_join_waker(self, waker: Option<Waker>) {
        // SAFETY: as the caller promises.
        unsafe { (self.vtable().set_join_waker)(self.0, waker) };
    }

    /// # Safety
    /// Nobody writes to the place of the join waker.
    #[inline]
    pub(super) unsafe fn join_waker(&self) -> &Option<Waker> {
        // SAFETY: as the caller promises.
        unsafe { &*(self.vtable().join_waker)(self.0) }
    }

    // --- references ---

    /// # Safety
    /// The references are the caller's, and the task is not used by them any more.
    #[inline]
    pub(super) unsafe fn drop_references(self, count: usize) {
        if self.state().drop_references(count) {
            // SAFETY: nobody else has it.
            unsafe { (self.vtable().free)(self.0) };
        }
    }

    /// # Safety
    /// Nobody else has it.
    #[inline]
    pub(super) unsafe fn free(self) {
        // SAFETY: as the caller promises.
        unsafe { (self.vtable().free)(self.0) };
    }
}

#[inline]
fn vtable<F: Future, S: Schedule>() -> &'static Vtable {
    &const {
        Vtable {
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
}

unsafe fn scheduler_of<'a, S: Schedule>(header: NonNull<Header>) -> &'a S {
    // SAFETY: a task keeps its home, and the caller its task.
    unsafe { &*header.as_ref().home.cast::<Home<S>>() }.scheduler()
}

unsafe fn schedule<S: Schedule>(header: NonNull<Header>) {
    // SAFETY: as the caller promises. The entry's reference keeps the home while this goes on.
    unsafe { scheduler_of::<S>(header).schedule(Entry::woken(RawTask(header))) };
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
    let running = context::Running::enter(task);
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

/// Drops the future while a panic goes through it.
struct DropFuture<F: Future>(*mut Stage<F>);

impl<F: Future> Drop for DropFuture<F> {
    fn drop(&mut self) {
        // SAFETY: whoever polls the future has the stage.
        unsafe { *self.0 = Stage::Empty };
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
            let _ = catch_unwind(AssertUnwindSafe(|| drop(output)));
            Err(JoinError::panic(id, panic))
        }
    });
}

/// Drops the future of a task that is not to go on.
unsafe fn cancel<F: Future, S: Schedule>(header: NonNull<Header>, held: usize) {
    let task = RawTask(header);
    let id = task.id();
    let running = context::Running::enter(task);
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
    if !task.header().is_job {
        // SAFETY: a task keeps its home.
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
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake_by_ref()));
    }
    if !state.waker_done().has_join_interest() {
        // SAFETY: the handle has left its waker behind.
        let _ = catch_unwind(AssertUnwindSafe(|| unsafe { task.set_join_waker(None) }));
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
    let running = context::Running::enter(RawTask(header));
    stage.with_mut(|stage| {
        // What it throws has nobody to go to.
        // SAFETY: as above.
        let _ = catch_unwind(AssertUnwindSafe(|| unsafe { *stage = Stage::Empty }));
    });
    running.leave();
}

unsafe fn set_join_waker<F: Future>(header: NonNull<Header>, waker: Option<Waker>) {
    // SAFETY: the place is the caller's.
    unsafe { header.cast::<Body<F>>().as_ref() }
        .join_waker
        // SAFETY: as above.
        .with_mut(|place| unsafe { *place = waker });
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
        let home = NonNull::new_unchecked((*body).header.home.cast::<Home<S>>().cast_mut());
        ptr::drop_in_place(&raw mut (*body).join_waker);
        ptr::drop_in_place(&raw mut (*body).stage);
        Home::give_back(home, header);
    }
}

// --- wakers ---

const WAKER: RawWakerVTable = RawWakerVTable::new(clone_waker, wake, wake_by_ref, drop_waker);

fn raw_waker(header: NonNull<Header>) -> RawWaker {
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

/// What a panic has thrown.
pub(super) type Payload = Box<dyn Any + Send + 'static>;
