//! The functions of the builder that the runtime calls for each task.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use crate::task::id::Id;
use crate::task::raw::RawTask;

/// The task that [`Builder::on_task_spawn`](super::Builder::on_task_spawn) and the related options pass to functions.
///
/// ```
/// use pointsman::runtime::{Builder, TaskMeta};
///
/// fn log(task: &TaskMeta<'_>) {
///     println!("task {}", task.id());
/// }
/// let runtime = Builder::new_current_thread().on_task_spawn(log).build()?;
/// runtime.spawn(async {});
/// # Ok::<_, std::io::Error>(())
/// ```
pub struct TaskMeta<'a> {
    id: Id,
    spawned_at: &'static Location<'static>,
    _borrowed: PhantomData<&'a ()>,
}

impl TaskMeta<'_> {
    pub(super) fn new(task: RawTask) -> Self {
        Self {
            id: task.id(),
            spawned_at: task.header().site.location(),
            _borrowed: PhantomData,
        }
    }

    /// Returns the id of the task.
    ///
    /// ```
    /// use pointsman::runtime::Builder;
    /// use std::sync::mpsc;
    ///
    /// let (ids, spawned) = mpsc::channel();
    /// let runtime = Builder::new_current_thread()
    ///     .on_task_spawn(move |task| ids.send(task.id()).unwrap())
    ///     .build()?;
    /// let task = runtime.spawn(async {});
    /// assert_eq!(spawned.recv(), Ok(task.id()));
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the location of the call that spawned the task. Without the feature `diagnostics`, returns a location in
    /// this crate, so that hooks written for Tokio compile.
    ///
    /// ```
    /// use pointsman::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread()
    ///     .on_task_spawn(|task| println!("spawned at {}", task.spawned_at()))
    ///     .build()?;
    /// runtime.spawn(async {});
    /// # Ok::<_, std::io::Error>(())
    /// ```
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }
}

impl fmt::Debug for TaskMeta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskMeta")
            .field("id", &self.id)
            .field("spawned_at", &self.spawned_at)
            .finish_non_exhaustive()
    }
}

pub(super) type TaskHook = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

#[derive(Clone, Default)]
pub(super) struct TaskHooks {
    pub(super) spawn: Option<TaskHook>,
    pub(super) before_poll: Option<TaskHook>,
    pub(super) after_poll: Option<TaskHook>,
    pub(super) terminate: Option<TaskHook>,
}

/// What a runtime or a [`LocalSet`](crate::task::LocalSet) does when one of its tasks panics.
///
/// ```
/// use pointsman::runtime::{Builder, UnhandledPanic};
///
/// let runtime = Builder::new_current_thread().unhandled_panic(UnhandledPanic::Ignore).build()?;
/// let task = runtime.spawn(async { panic!("in a task") });
/// assert!(runtime.block_on(task).unwrap_err().is_panic());
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// Only the [`JoinHandle`](crate::task::JoinHandle) of the task gets the panic. This is the default.
    #[default]
    Ignore,
    /// The runtime shuts down, and its `block_on` panics; a set drops its tasks and panics when it runs.
    ShutdownRuntime,
}
