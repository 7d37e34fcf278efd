//! Tasks with a name.

use std::future::Future;
use std::io;

use super::super::blocking::Refused;
use super::super::handle::Handle;
use super::local_set::LocalSet;
use super::local_set::shared::{current_set, spawn_in};
use super::spawn::{spawn_at, spawn_on};
use crate::task::join::JoinHandle;
use crate::task::origin::SpawnSite;

/// Spawns tasks with a name, which dumps, stall reports and the spans of the feature `tracing` show. The name has no
/// effect if the features `diagnostics` and `tracing` are both off.
///
/// ```
/// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let task = pointsman::task::Builder::new().name("answer").spawn(async { 42 })?;
/// assert_eq!(task.await.unwrap(), 42);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "spawns nothing until a method of it is called"]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// Returns a builder without a name.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// pointsman::task::Builder::new().spawn(async {})?.await.unwrap();
    /// # Ok(())
    /// # }
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a builder with this name, which is copied when the task is spawned.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// for number in 0..3 {
    ///     let name = format!("connection {number}");
    ///     pointsman::task::Builder::new().name(&name).spawn(async {})?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn name(&self, name: &'a str) -> Self {
        Self { name: Some(name) }
    }

    #[track_caller]
    fn site(&self) -> SpawnSite<'_> {
        SpawnSite::named_caller(self.name.as_ref())
    }

    /// Spawns a task onto the current runtime; see [`spawn`](super::spawn::spawn).
    ///
    /// # Errors
    /// None; for compatibility with Tokio.
    ///
    /// # Panics
    /// If called outside of a runtime.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let task = pointsman::task::Builder::new().name("two").spawn(async { 1 + 1 })?;
    /// assert_eq!(task.await.unwrap(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(spawn_at(future, self.site()))
    }

    /// Spawns a task onto the runtime of `handle`. May be called outside of a runtime.
    ///
    /// # Errors
    /// None; for compatibility with Tokio.
    ///
    /// ```
    /// use pointsman::{runtime::Runtime, task::Builder};
    ///
    /// let runtime = Runtime::new()?;
    /// let task = Builder::new().name("two").spawn_on(async { 1 + 1 }, runtime.handle())?;
    /// assert_eq!(runtime.block_on(task).unwrap(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(spawn_on(&handle.shared, future, self.site()))
    }

    /// Spawns a task onto the current [`LocalSet`] or [`LocalRuntime`](crate::runtime::LocalRuntime); see
    /// [`spawn_local`](crate::task::spawn_local).
    ///
    /// # Errors
    /// None; for compatibility with Tokio.
    ///
    /// # Panics
    /// If called outside of both.
    ///
    /// ```
    /// use pointsman::{runtime::LocalRuntime, task::Builder};
    ///
    /// let runtime = LocalRuntime::new()?;
    /// runtime.block_on(async {
    ///     let task = Builder::new().name("two").spawn_local(async { 1 + 1 }).unwrap();
    ///     assert_eq!(task.await.unwrap(), 2);
    /// });
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(spawn_in(&current_set(), future, self.site()))
    }

    /// Spawns a task onto a [`LocalSet`].
    ///
    /// # Errors
    /// None; for compatibility with Tokio.
    ///
    /// ```
    /// # use pointsman::task::{Builder, LocalSet};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let local = LocalSet::new();
    /// let task = Builder::new().name("two").spawn_local_on(async { 1 + 1 }, &local)?;
    /// assert_eq!(local.run_until(task).await.unwrap(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(
        self,
        future: F,
        local_set: &LocalSet,
    ) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(local_set.spawn_at(future, self.site()))
    }

    /// Runs a blocking function on the blocking pool of the current runtime; see
    /// [`spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Errors
    /// If the runtime has shut down, or the pool has no thread and none can be started.
    ///
    /// # Panics
    /// If called outside of a runtime.
    ///
    /// ```
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let file = pointsman::task::Builder::new()
    ///     .name("read the manifest")
    ///     .spawn_blocking(|| std::fs::read("Cargo.toml"))?;
    /// assert!(!file.await.unwrap()?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(self, function: F) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.spawn_blocking_on(function, &Handle::current())
    }

    /// Runs a blocking function on the blocking pool of the runtime of `handle`. May be called outside of a runtime.
    ///
    /// # Errors
    /// If the runtime has shut down, or the pool has no thread and none can be started.
    ///
    /// ```
    /// use pointsman::{runtime::Runtime, task::Builder};
    ///
    /// let runtime = Runtime::new()?;
    /// let job = Builder::new().name("two").spawn_blocking_on(|| 1 + 1, runtime.handle())?;
    /// assert_eq!(runtime.block_on(job).unwrap(), 2);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F, R>(self, function: F, handle: &Handle) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (joined, accepted) = handle.shared.spawn_blocking(function, self.site());
        match accepted {
            Ok(()) => Ok(joined),
            Err(Refused::Closed) => Err(io::Error::other("blocking pool shutting down")),
            Err(Refused::NoThread(error)) => Err(error),
        }
    }
}
