//! Tasks of a set with a name.

use std::fmt;
use std::future::Future;
use std::io;

use super::super::super::handle::Handle;
use super::super::builder;
use super::super::local_set::LocalSet;
use super::JoinSet;
use crate::task::abort::AbortHandle;

/// Spawns tasks with a name into a set; see [`JoinSet::build_task`].
///
/// ```
/// # use pointsman::task::JoinSet;
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let mut set = JoinSet::new();
/// set.build_task().name("answer").spawn(async { 42 })?;
/// assert_eq!(set.join_next().await.unwrap().unwrap(), 42);
/// # Ok(())
/// # }
/// ```
#[must_use = "spawns nothing until a method of it is called"]
pub struct Builder<'a, T> {
    set: &'a mut JoinSet<T>,
    builder: builder::Builder<'a>,
}

impl<T: 'static> JoinSet<T> {
    /// Returns a builder that spawns a task into the set.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let mut set = JoinSet::new();
    /// set.build_task().name("first").spawn(async { 1 })?;
    /// set.build_task().name("second").spawn_blocking(|| 2)?;
    /// assert_eq!(set.join_all().await.iter().sum::<u32>(), 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn build_task(&mut self) -> Builder<'_, T> {
        Builder {
            set: self,
            builder: builder::Builder::new(),
        }
    }
}

impl<'a, T: 'static> Builder<'a, T> {
    /// Sets the name of the task, which is copied when the task is spawned.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let mut set = JoinSet::new();
    /// for number in 0..3 {
    ///     let name = format!("connection {number}");
    ///     set.build_task().name(&name).spawn(async {})?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn name(self, name: &'a str) -> Self {
        Self {
            builder: self.builder.name(name),
            ..self
        }
    }

    /// Spawns a task onto the current runtime; see [`JoinSet::spawn`].
    ///
    /// # Errors
    /// None; for compatibility with Tokio.
    ///
    /// # Panics
    /// If called outside of a runtime.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let mut set = JoinSet::new();
    /// set.build_task().name("two").spawn(async { 1 + 1 })?;
    /// assert_eq!(set.join_all().await, [2]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn(future)?))
    }

    /// Spawns a task onto the runtime of `handle`; see [`JoinSet::spawn_on`].
    ///
    /// # Errors
    /// None; for compatibility with Tokio.
    ///
    /// ```
    /// # use pointsman::{runtime::Runtime, task::JoinSet};
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.build_task().name("two").spawn_on(async { 1 + 1 }, runtime.handle())?;
    /// assert_eq!(runtime.block_on(set.join_all()), [2]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_on(future, handle)?))
    }

    /// Spawns a task onto the current [`LocalSet`] or [`LocalRuntime`](crate::runtime::LocalRuntime); see
    /// [`JoinSet::spawn_local`].
    ///
    /// # Errors
    /// None; for compatibility with Tokio.
    ///
    /// # Panics
    /// If called outside of both.
    ///
    /// ```
    /// # use pointsman::{runtime::LocalRuntime, task::JoinSet};
    /// let sum = LocalRuntime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     set.build_task().name("two").spawn_local(async { 1 + 1 }).unwrap();
    ///     set.join_all().await
    /// });
    /// assert_eq!(sum, [2]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.builder.spawn_local(future)?))
    }

    /// Spawns a task onto a [`LocalSet`]; see [`JoinSet::spawn_local_on`].
    ///
    /// # Errors
    /// None; for compatibility with Tokio.
    ///
    /// ```
    /// # use pointsman::task::{JoinSet, LocalSet};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let (local, mut set) = (LocalSet::new(), JoinSet::new());
    /// set.build_task().name("two").spawn_local_on(async { 1 + 1 }, &local)?;
    /// assert_eq!(local.run_until(set.join_all()).await, [2]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local_set: &LocalSet) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        let task = self.builder.spawn_local_on(future, local_set)?;
        Ok(self.set.insert(task))
    }

    /// Runs a blocking function on the blocking pool of the current runtime; see [`JoinSet::spawn_blocking`].
    ///
    /// # Errors
    /// If the runtime has shut down, or the pool has no thread and none can be started.
    ///
    /// # Panics
    /// If called outside of a runtime.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let mut set = JoinSet::new();
    /// set.build_task().name("two").spawn_blocking(|| 1 + 1)?;
    /// assert_eq!(set.join_all().await, [2]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(self, function: F) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_blocking(function)?))
    }

    /// Runs a blocking function on the blocking pool of the runtime of `handle`; see [`JoinSet::spawn_blocking_on`].
    ///
    /// # Errors
    /// If the runtime has shut down, or the pool has no thread and none can be started.
    ///
    /// ```
    /// # use pointsman::{runtime::Runtime, task::JoinSet};
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.build_task().name("two").spawn_blocking_on(|| 1 + 1, runtime.handle())?;
    /// assert_eq!(runtime.block_on(set.join_all()), [2]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F>(self, function: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let task = self.builder.spawn_blocking_on(function, handle)?;
        Ok(self.set.insert(task))
    }
}

impl<T> fmt::Debug for Builder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("set", &self.set)
            .field("builder", &self.builder)
            .finish()
    }
}
