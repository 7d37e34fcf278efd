//! A task without the type of its future: a header and a vtable for the parts that depend on the type, which
//! are in [`body`](super::body).
//!
//! Invariant: the user of a [`RawTask`] holds a reference to it, or borrows one. The state word counts
//! references; see [`state`](super::state). The last one to be dropped gives the memory back to the arena.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::activity::Activity;
use super::current;
use super::id::Id;
use super::origin::{Origin, Site};
use super::slab::Chunk;
#[cfg(feature = "diagnostics")]
use super::slab::STEP;
use super::span::TaskSpan;
use super::state::{TaskState, ToIdle, ToNotified};

/// The part of a task that does not depend on the type of its future. Its address is the task's.
#[repr(C)]
pub(crate) struct Header {
    pub(super) state: TaskState,
    /// The next task in an intrusive list: a queue, or a free list of the arena.
    pub(crate) next: Cell<*const Header>,
    pub(super) vtable: &'static Vtable,
    pub(crate) id: Id,
    pub(crate) activity: Activity,
    pub(crate) origin: Origin,
    pub(crate) site: Site,
    /// Empty without the feature `tracing`.
    pub(super) span: TaskSpan,
    /// The distance to the chunk of the slab that holds this task, in units of [`STEP`]: the fields of diagnostics
    /// leave no space for an address. See [`Header::chunk`].
    #[cfg(feature = "diagnostics")]
    pub(super) offset: u16,
    /// See [`Header::chunk`].
    #[cfg(not(feature = "diagnostics"))]
    pub(super) chunk: *const Chunk,
}

impl Header {
    /// Returns the chunk of a task. It leads to the arena and so to the scheduler.
    ///
    /// # Safety
    /// `header` is an initialized slot of a slab, and was not derived from a reference to the header.
    #[inline]
    pub(super) unsafe fn chunk(header: NonNull<Self>) -> *const Chunk {
        #[cfg(feature = "diagnostics")]
        // SAFETY: `Slab` has set `offset` to the distance of the slot to its chunk, which is in the same
        // allocation.
        unsafe {
            let offset = usize::from((*header.as_ptr()).offset) * STEP;
            header.as_ptr().cast_const().byte_sub(offset).cast()
        }
        #[cfg(not(feature = "diagnostics"))]
        // SAFETY: the caller promises that the slot is initialised.
        unsafe {
            (*header.as_ptr()).chunk
        }
    }
}

/// The functions that depend on the types of the future and the scheduler.
pub(super) struct Vtable {
    /// Whether the task is a job of the blocking pool, which also ends it at shutdown.
    pub(super) is_job: bool,
    pub(super) run: unsafe fn(NonNull<Header>, is_running: bool) -> RunOutcome,
    pub(super) schedule: unsafe fn(NonNull<Header>),
    pub(super) cancel: unsafe fn(NonNull<Header>, held: usize),
    /// Moves the output to an `Option<Result<T, JoinError>>`.
    pub(super) take_output: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the output, if it was not taken.
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    pub(super) set_join_waker: unsafe fn(NonNull<Header>, Option<Waker>),
    pub(super) join_waker: unsafe fn(NonNull<Header>) -> *const Option<Waker>,
    pub(super) free: unsafe fn(NonNull<Header>),
}

/// The result of running a queue entry.
pub(super) enum RunOutcome {
    /// The entry is used up: the task is complete, idle, or was owned by another thread.
    Done,
    /// The task was woken while it ran. It has to be queued again, with the reference of its entry.
    Reschedule,
    /// The task woke itself. It has to be queued again, with RUNNING still set.
    Yielded,
}

/// A queue entry: a task that was woken, with a reference. Dropping it leaks the task.
#[derive(Debug)]
#[must_use = "a task that is in no queue is never run"]
pub(crate) struct Notified {
    pub(crate) task: RawTask,
    /// The task woke itself and RUNNING is still set: the taker of the entry owns the future.
    pub(crate) is_running: bool,
}

impl Notified {
    /// # Safety
    /// The task is new or was just woken, and the caller passes the reference of its queue entry.
    #[inline]
    pub(crate) unsafe fn woken(task: RawTask) -> Self {
        Self {
            task,
            is_running: false,
        }
    }

    /// Runs the task. A returned entry has to be queued again.
    #[inline]
    pub(crate) fn run(self) -> Option<Self> {
        let Self { task, is_running } = self;
        // SAFETY: the entry holds a reference, and with `is_running` it owns RUNNING.
        let is_running = match unsafe { (task.vtable().run)(task.0, is_running) } {
            RunOutcome::Done => return None,
            RunOutcome::Reschedule => false,
            RunOutcome::Yielded => true,
        };
        Some(Self { task, is_running })
    }

    /// Runs the task like [`run`](Self::run). Also notes and returns how long the poll took.
    pub(crate) fn run_timed(self) -> (Option<Self>, Duration) {
        let task = self.task;
        task.state().add_reference();
        let began = Instant::now();
        let again = self.run();
        let took = began.elapsed();
        task.header().activity.note_poll(took);
        // SAFETY: the reference that was added above.
        unsafe { task.drop_references(1) };
        (again, took)
    }

    /// Clears RUNNING, for queues that do not store `is_running`. `None` if the task was aborted; it is
    /// complete then.
    pub(crate) fn stop_running(self) -> Option<Self> {
        let Self { task, is_running } = self;
        if is_running {
            // Records the wake-up that the task gave itself.
            task.state().transition_to_notified_by_ref();
            if task.state().transition_to_idle() == ToIdle::Cancelled {
                // SAFETY: `Cancelled` leaves RUNNING with this entry. The entry and the runtime hold the two
                // references.
                unsafe { (task.vtable().cancel)(task.0, 2) };
                return None;
            }
        }
        Some(Self {
            task,
            is_running: false,
        })
    }

    /// Discards the entry at the shutdown of the runtime. Cancels the task if the entry owns its future.
    pub(crate) fn give_up(self) {
        let Self { task, is_running } = self;
        if is_running {
            // SAFETY: the entry of a task that yielded owns RUNNING. The entry and the runtime hold the two
            // references.
            unsafe { (task.vtable().cancel)(task.0, 2) };
        } else {
            // SAFETY: the entry holds this reference and is consumed.
            unsafe { task.drop_references(1) };
        }
    }
}

/// A pointer to a task. A copy holds no reference; types that hold one say so.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawTask(pub(super) NonNull<Header>);

impl fmt::Debug for RawTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Task").field(&self.id()).finish()
    }
}

// SAFETY: the state word synchronises all access to a task. The functions that spawn tasks require `Send`
// futures, or keep their tasks on one thread.
unsafe impl Send for RawTask {}
// SAFETY: a shared `RawTask` can do what a copy can, and copies may be sent to other threads.
unsafe impl Sync for RawTask {}

impl RawTask {
    /// # Safety
    /// `header` points to a task to which the caller holds a reference.
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
        // SAFETY: the user of a `RawTask` holds or borrows a reference, which keeps the header alive.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(super) fn state(&self) -> &TaskState {
        &self.header().state
    }

    #[inline]
    pub(crate) fn id(&self) -> Id {
        self.header().id
    }

    #[inline]
    pub(super) fn is_job(&self) -> bool {
        self.vtable().is_job
    }

    /// Tells the types of futures apart.
    pub(crate) fn kind(&self) -> usize {
        std::ptr::from_ref(self.vtable()).addr()
    }

    #[inline]
    fn vtable(&self) -> &'static Vtable {
        self.header().vtable
    }

    // --- for the thread that runs the task ---

    /// Cancels the task at the shutdown of the runtime. If another thread runs it, that thread drops the
    /// future when the poll returns.
    pub(crate) fn shut_down(self) {
        if self.state().transition_to_shutdown() {
            // SAFETY: the state change above gave RUNNING to this thread. The reference is the runtime's.
            unsafe { (self.vtable().cancel)(self.0, 1) };
        }
    }

    // --- for wakers ---

    #[inline]
    pub(crate) fn wake_by_ref(self) {
        if current::wakes_itself(self) {
            return;
        }
        if self.state().transition_to_notified_by_ref() {
            // SAFETY: the state change above added the reference of the queue entry.
            unsafe { (self.vtable().schedule)(self.0) };
        }
    }

    /// # Safety
    /// The caller gives up one reference.
    pub(super) unsafe fn wake(self) {
        if current::wakes_itself(self) {
            // SAFETY: the reference that the caller gives up.
            unsafe { self.drop_references(1) };
            return;
        }
        match self.state().transition_to_notified_by_val() {
            ToNotified::DoNothing => {}
            // SAFETY: the entry takes over the caller's reference.
            ToNotified::Schedule => unsafe { (self.vtable().schedule)(self.0) },
            // SAFETY: the state change above dropped the last reference.
            ToNotified::Free => unsafe { (self.vtable().free)(self.0) },
        }
    }

    /// Cancels the task.
    pub(crate) fn abort(self) {
        if self.state().transition_to_notified_and_cancel() {
            // SAFETY: the state change above added the reference of the queue entry.
            unsafe { (self.vtable().schedule)(self.0) };
        }
    }

    /// Queues a new task, or cancels it if its runtime has shut down.
    ///
    /// # Safety
    /// The task is new: the caller passes the reference of its queue entry.
    #[inline]
    pub(crate) unsafe fn begin(self, is_shut_down: bool) {
        if is_shut_down {
            self.shut_down();
            // SAFETY: the reference of the queue entry, which is never made.
            unsafe { self.drop_references(1) };
        } else {
            // SAFETY: the caller passes the reference of the queue entry.
            unsafe { (self.vtable().schedule)(self.0) };
        }
    }

    // --- for the join handle ---

    /// Moves the output to `output`, which points to an `Option<Result<T, JoinError>>`.
    ///
    /// # Safety
    /// The task is complete, the caller is its join handle, and `T` is the task's output type.
    #[inline]
    pub(super) unsafe fn take_output(self, output: *mut ()) {
        // SAFETY: the caller is the join handle of a complete task with this output type.
        unsafe { (self.vtable().take_output)(self.0, output) };
    }

    /// # Safety
    /// The task is complete, and the caller is its join handle.
    #[inline]
    pub(super) unsafe fn drop_output(self) {
        // SAFETY: the caller is the join handle of a complete task, so it owns the stage.
        unsafe { (self.vtable().drop_output)(self.0) };
    }

    /// # Safety
    /// The caller owns the join waker's field.
    #[inline]
    pub(super) unsafe fn set_join_waker(self, waker: Option<Waker>) {
        // SAFETY: the caller owns the join waker's field and a reference.
        unsafe { (self.vtable().set_join_waker)(self.0, waker) };
    }

    /// # Safety
    /// No thread writes the join waker's field while the reference is used.
    #[inline]
    pub(super) unsafe fn join_waker(&self) -> &Option<Waker> {
        // SAFETY: the caller holds a reference to the task, and no thread writes the field.
        unsafe { &*(self.vtable().join_waker)(self.0) }
    }

    // --- references ---

    /// # Safety
    /// The caller owns `count` references and does not use the task through them afterwards.
    #[inline]
    pub(super) unsafe fn drop_references(self, count: usize) {
        if self.state().drop_references(count) {
            // SAFETY: the state change above dropped the last reference, so no other thread uses the task.
            unsafe { (self.vtable().free)(self.0) };
        }
    }

    /// # Safety
    /// No other reference to the task exists, and its output was taken or dropped.
    #[inline]
    pub(super) unsafe fn free(self) {
        // SAFETY: the caller has the only reference, and the stage is empty.
        unsafe { (self.vtable().free)(self.0) };
    }
}
