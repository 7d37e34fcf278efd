//! A task as those see it who do not know the type of its future: a header, and a table of functions for all
//! that depends on the type (see [`body`](super::body)).
//!
//! Invariant: whoever has a [`RawTask`] to use has a reference to it, as the word of the task counts them (see
//! [`state`](super::state)); the memory goes back to its arena with the last.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;

use super::current;
use super::id::Id;
use super::slab::Chunk;
use super::state::{Pended, State, Wake};

/// What every task has. Its address is the task's.
#[repr(C)]
pub(crate) struct Header {
    pub(super) state: State,
    /// The next task of whatever chain this one is in: of a queue, or of memory that came back.
    pub(crate) next: Cell<*const Header>,
    pub(super) vtable: &'static Vtable,
    /// Where the memory came from. The arena and with it the scheduler are found there.
    pub(super) chunk: *const Chunk,
    pub(crate) id: Id,
}

/// What depends on the type of the future.
pub(super) struct Vtable {
    /// Whether it runs in a thread for work that blocks, which sees to its end.
    pub(super) is_job: bool,
    pub(super) run: unsafe fn(NonNull<Header>, is_running: bool) -> Ran,
    pub(super) schedule: unsafe fn(NonNull<Header>),
    pub(super) cancel: unsafe fn(NonNull<Header>, held: usize),
    /// Moves the output to `*mut Option<Result<T, JoinError>>`.
    pub(super) take_output: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the output that nobody has taken.
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    pub(super) set_join_waker: unsafe fn(NonNull<Header>, Option<Waker>),
    pub(super) join_waker: unsafe fn(NonNull<Header>) -> *const Option<Waker>,
    pub(super) free: unsafe fn(NonNull<Header>),
}

/// What has become of a task that was run.
pub(super) enum Ran {
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
pub(crate) struct Notified {
    pub(crate) task: RawTask,
    /// The task has woken itself, and is running still: whoever takes the entry goes on running it.
    pub(crate) is_running: bool,
}

impl Notified {
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

    /// As an entry of a task that does not run, for queues that cannot say that it does. `None` if the task was
    /// aborted, and has ended now.
    pub(crate) fn stop_running(self) -> Option<Self> {
        let Self { task, is_running } = self;
        if is_running {
            // It has woken itself.
            task.state().wake_by_ref();
            if task.state().pend() == Pended::Cancel {
                // SAFETY: RUNNING is this entry's still; that and the runtime hold the task.
                unsafe { (task.vtable().cancel)(task.0, 2) };
                return None;
            }
        }
        Some(Self {
            task,
            is_running: false,
        })
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
pub(crate) struct RawTask(pub(super) NonNull<Header>);

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
    pub(super) fn is_job(&self) -> bool {
        self.vtable().is_job
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
        if current::wakes_itself(self) {
            return;
        }
        if self.state().wake_by_ref() {
            // SAFETY: the reference that was added is the queue entry's.
            unsafe { (self.vtable().schedule)(self.0) };
        }
    }

    /// # Safety
    /// A reference of the caller's goes.
    pub(super) unsafe fn wake(self) {
        if current::wakes_itself(self) {
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
