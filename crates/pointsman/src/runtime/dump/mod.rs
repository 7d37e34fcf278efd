//! A snapshot of the tasks of a runtime; see [`Handle::dump`](super::Handle::dump).
//!
//! Taking it polls no task and stops no worker. Tasks are read one after the other, so a dump can show a task as
//! waiting that has been woken since. A [`Problem`] is reported only if two readings find it unchanged.
//!
//! Cost: a lock per arena and a reference count per task.

mod blocked;
mod problems;
#[cfg(all(unix, feature = "net"))]
pub(super) mod serve;
#[cfg(all(unix, feature = "signal"))]
pub(super) mod signal;
mod take;
mod text;

use std::fmt;
use std::future::{IntoFuture, Ready, ready};
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

pub use self::problems::Problem;
pub(super) use self::take::StuckTask;
pub(super) use self::text::Length;
use crate::task::activity::WaitKind;
use crate::task::id::Id;

/// A snapshot of the tasks of a runtime: what each is doing, and what it waits for. [`Display`](fmt::Display) formats
/// it like a thread dump.
///
/// [`Handle::dump`](super::Handle::dump) takes it. Awaiting a dump returns it, so programs that await Tokio's `dump`
/// compile.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() {
/// use pointsman::runtime::Handle;
///
/// let task = pointsman::spawn(std::future::pending::<()>());
/// pointsman::task::yield_now().await;
/// let dump = Handle::current().dump();
/// assert_eq!(dump.tasks().iter().next().unwrap().id(), task.id());
/// println!("{dump}");
/// # }
/// ```
#[derive(Debug)]
pub struct Dump {
    tasks: Tasks,
    problems: Vec<Problem>,
}

/// The tasks of a [`Dump`], the oldest id first.
#[derive(Debug)]
pub struct Tasks {
    tasks: Vec<Task>,
}

/// A task in a [`Dump`].
#[derive(Debug)]
pub struct Task {
    trace: Trace,
}

/// The facts about a task. [`Display`](fmt::Display) formats them as in the text of the dump.
#[derive(Debug)]
pub struct Trace {
    id: Id,
    name: Option<Arc<str>>,
    location: Option<&'static Location<'static>>,
    age: Duration,
    spawner: Option<Id>,
    state: State,
    worker: Option<usize>,
    is_blocking: bool,
    polls: u32,
    longest_poll: Duration,
    wait: Option<Wait>,
}

/// What a task in a [`Dump`] is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// A thread polls it.
    Running,
    /// It was woken or has yielded, and is in a queue.
    Queued,
    /// It was polled and has not been woken since.
    Waiting,
}

/// What a task in a [`Dump`] waits for.
#[derive(Clone, Debug)]
pub struct Wait {
    kind: WaitKind,
    identity: u32,
    is_one_of_several: bool,
    task: Option<Id>,
    holders: Vec<Holder>,
    other_permits: u32,
}

/// The kind of resource that a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// Permits of a semaphore.
    Semaphore,
    /// A mutex.
    Mutex,
    /// A lock for readers and writers.
    RwLock,
    /// A value from a channel.
    Receive,
    /// Space in a channel, or the end of its receiver.
    Send,
    /// A notification.
    Notify,
    /// A point in time.
    Timer,
    /// Readiness of an I/O source.
    Io,
    /// The end of another task.
    Join,
    /// The other tasks at a barrier.
    Barrier,
    /// The initialization of a `OnceCell`.
    OnceCell,
}

/// A holder of a lock that a task waits for.
#[derive(Clone, Debug)]
pub struct Holder {
    /// The low half of the task's id; 0 if a thread outside of tasks holds the lock.
    number: u32,
    /// The id, if the task is in the dump.
    task: Option<Id>,
    permits: u32,
    since: Duration,
    is_unclaimed: bool,
}

impl Dump {
    /// Returns the tasks that were not complete. Includes blocking functions, and the tasks of each
    /// [`LocalSet`](crate::task::LocalSet) that this runtime was the last to run, or that was created in it and has not
    /// run.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// # use pointsman::runtime::Handle;
    /// assert_eq!(Handle::current().dump().tasks().len(), 0);
    /// # }
    /// ```
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the deadlocks, the futurelocks, and the tasks that nothing can wake but an abort.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use pointsman::runtime::{Handle, dump::Problem};
    ///
    /// let task = pointsman::spawn(std::future::pending::<()>());
    /// pointsman::task::yield_now().await;
    /// let dump = Handle::current().dump();
    /// assert!(matches!(dump.problems(), [Problem::NoWaker(id)] if *id == task.id()));
    /// # }
    /// ```
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    fn task(&self, id: Id) -> Option<&Task> {
        let at = self.tasks.tasks.binary_search_by_key(&id, Task::id);
        at.ok().map(|at| &self.tasks.tasks[at])
    }
}

impl IntoFuture for Dump {
    type Output = Self;
    type IntoFuture = Ready<Self>;

    fn into_future(self) -> Ready<Self> {
        ready(self)
    }
}

impl Tasks {
    /// Iterates over the tasks, the oldest id first.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let dump = pointsman::runtime::Handle::current().dump();
    /// assert!(dump.tasks().iter().next().is_none());
    /// # }
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter()
    }

    /// Returns the number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns true if there was no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

impl Task {
    /// Returns the id of the task.
    #[must_use]
    pub fn id(&self) -> Id {
        self.trace.id
    }

    pub(super) fn write_title(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_title(&self.trace, f)
    }

    /// Returns the facts about the task, which can be printed.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the name that the task was given when it was spawned.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.trace.name.as_deref()
    }

    /// Returns the location of the call that spawned the task; `None` if the program has more than 32,000 such calls.
    #[must_use]
    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.trace.location
    }

    /// Returns the time since the task was spawned. The error is about 20 ms, plus the length of the poll that spawned
    /// the task.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.trace.age
    }

    /// Returns the id of the task that spawned this one. `None` if that task has ended, or if a thread outside of tasks
    /// spawned this one.
    #[must_use]
    pub fn spawner(&self) -> Option<Id> {
        self.trace.spawner
    }

    /// Returns what the task is doing.
    #[must_use]
    pub fn state(&self) -> State {
        self.trace.state
    }

    /// Returns the index of the worker that polls the task.
    #[must_use]
    pub fn worker(&self) -> Option<usize> {
        self.trace.worker
    }

    /// Returns whether this is a function of [`spawn_blocking`](crate::task::spawn_blocking).
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.trace.is_blocking
    }

    /// Returns the number of polls.
    #[must_use]
    pub fn polls(&self) -> u32 {
        self.trace.polls
    }

    /// Returns the length of the longest poll that was timed. A runtime times polls that it reports as stalls, and
    /// polls that begin soon after a task has blocked a worker. Zero means that no poll of this task was timed.
    #[must_use]
    pub fn longest_poll(&self) -> Duration {
        self.trace.longest_poll
    }

    /// Returns what the task waits for. `None` if it does not wait, or waits for a future that is not of this crate.
    #[must_use]
    pub fn waits_for(&self) -> Option<&Wait> {
        self.trace.wait.as_ref()
    }
}

impl Wait {
    /// Returns the kind of resource that the task waits for.
    #[must_use]
    pub fn resource(&self) -> Resource {
        match self.kind {
            WaitKind::Semaphore => Resource::Semaphore,
            WaitKind::Mutex => Resource::Mutex,
            WaitKind::RwLock => Resource::RwLock,
            WaitKind::Receive => Resource::Receive,
            WaitKind::Send => Resource::Send,
            WaitKind::Notify => Resource::Notify,
            WaitKind::Timer => Resource::Timer,
            WaitKind::Io => Resource::Io,
            WaitKind::Join => Resource::Join,
            WaitKind::Barrier => Resource::Barrier,
            WaitKind::OnceCell => Resource::OnceCell,
        }
    }

    /// Returns a number that identifies what the task waits for: tasks of a dump that wait for the same mutex, for
    /// example, have the same number.
    #[must_use]
    pub fn identity(&self) -> u32 {
        self.identity
    }

    /// Returns whether the task may also be waiting for something else, as in `select!` or with a timeout.
    #[must_use]
    pub fn is_one_of_several(&self) -> bool {
        self.is_one_of_several
    }

    /// Returns the task whose end is awaited, if it is in the dump.
    #[must_use]
    pub fn task(&self) -> Option<Id> {
        self.task
    }

    /// Returns the holders of the mutex, of the read-write lock, or of permits of the semaphore, or the task that
    /// initializes the cell. Up to six are known; see [`other_permits`](Self::other_permits).
    #[must_use]
    pub fn holders(&self) -> &[Holder] {
        &self.holders
    }

    /// Returns the number of permits of the semaphore, or of readers of the lock, that others than
    /// [`holders`](Self::holders) hold. 0 if it is unknown, as for a semaphore whose permits were added or forgotten.
    #[must_use]
    pub fn other_permits(&self) -> u32 {
        self.other_permits
    }
}

impl Holder {
    /// Returns the task that holds the lock. `None` if that task has ended or is of another runtime, or if a thread
    /// outside of tasks holds the lock.
    #[must_use]
    pub fn task(&self) -> Option<Id> {
        self.task
    }

    /// Returns the number of permits that it holds: 1 for a mutex or a reader, and for a writer the maximum number of
    /// readers.
    #[must_use]
    pub fn permits(&self) -> u32 {
        self.permits
    }

    /// Returns how long the lock has been held, to about 20 ms.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.since
    }

    /// Returns whether the lock was granted to a future that has not been polled since. The grant wakes the task, so
    /// this state lasts only if the task does not poll that future.
    #[must_use]
    pub fn is_unclaimed(&self) -> bool {
        self.is_unclaimed
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_dump(self, f)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_task(self, f, "")
    }
}
