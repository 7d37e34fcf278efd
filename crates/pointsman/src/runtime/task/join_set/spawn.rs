//! The methods that spawn tasks into a set.

use std::future::Future;

use super::super::super::handle::Handle;
use super::super::blocking::spawn_blocking;
use super::super::local_set::LocalSet;
use super::super::local_set::shared::spawn_local;
use super::super::spawn::spawn;
use super::JoinSet;
use crate::task::abort::AbortHandle;

impl<T: 'static> JoinSet<T> {
    /// Spawns a task; see [`spawn`](crate::spawn).
    ///
    /// # Panics
    /// If called outside of a runtime.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// let endless = set.spawn(std::future::pending());
    /// set.spawn(async { 2 });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 2);
    /// endless.abort();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(spawn(task))
    }

    /// Spawns a task onto the runtime of `handle`. May be called outside of a runtime.
    ///
    /// ```
    /// # use pointsman::{runtime::Runtime, task::JoinSet};
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.spawn_on(async { 1 + 1 }, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [2]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(task))
    }

    /// Spawns a task onto the current [`LocalSet`]; see [`spawn_local`](crate::task::spawn_local).
    ///
    /// # Panics
    /// If called outside of a `LocalSet` and of a [`LocalRuntime`](crate::runtime::LocalRuntime).
    ///
    /// ```
    /// # use pointsman::{runtime::LocalRuntime, task::JoinSet};
    /// use std::rc::Rc;
    ///
    /// let sum = LocalRuntime::new()?.block_on(async {
    ///     let mut set = JoinSet::new();
    ///     let number = Rc::new(7);
    ///     set.spawn_local(async move { *number });
    ///     set.join_all().await
    /// });
    /// assert_eq!(sum, [7]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(spawn_local(task))
    }

    /// Spawns a task onto `local_set`. It runs when the set runs.
    ///
    /// ```
    /// # use pointsman::task::{JoinSet, LocalSet};
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// use std::rc::Rc;
    ///
    /// let (local, mut set) = (LocalSet::new(), JoinSet::new());
    /// let number = Rc::new(7);
    /// set.spawn_local_on(async move { *number }, &local);
    /// assert_eq!(local.run_until(set.join_all()).await, [7]);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    /// Runs a blocking function on the blocking pool; see [`spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// If called outside of a runtime, or if the pool has no thread and none can be started.
    ///
    /// ```
    /// # use pointsman::task::JoinSet;
    /// # #[pointsman::main(flavor = "current_thread")] async fn main() {
    /// let mut set = JoinSet::new();
    /// for file in ["Cargo.toml", "src/lib.rs"] {
    ///     set.spawn_blocking(move || std::fs::read(file).unwrap().len());
    /// }
    /// assert!(set.join_all().await.iter().all(|length| *length > 0));
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, function: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(spawn_blocking(function))
    }

    /// Runs a blocking function on the blocking pool of the runtime of `handle`. May be called outside of a runtime.
    ///
    /// # Panics
    /// If the pool has no thread and none can be started.
    ///
    /// ```
    /// # use pointsman::{runtime::Runtime, task::JoinSet};
    /// let runtime = Runtime::new()?;
    /// let mut set = JoinSet::new();
    /// set.spawn_blocking_on(|| 1 + 1, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [2]);
    /// # Ok::<_, std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, function: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(function))
    }
}

/// Spawns a task for each future.
///
/// # Panics
/// If called outside of a runtime.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        set.extend(futures);
        set
    }
}

/// Spawns a task for each future.
///
/// # Panics
/// If called outside of a runtime.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}
