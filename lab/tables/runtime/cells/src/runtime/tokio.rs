//! Tokio, and runtimes with the same names.

use super::Purpose;
use super::subject::runtime::{Builder, Runtime as Built};
use super::subject::task;
use crate::form::Form;

pub(crate) use super::subject::task::{JoinHandle, spawn, spawn_blocking};
pub(crate) use super::subject::time::{sleep, timeout};

pub(crate) struct Runtime(Built);

impl Runtime {
    /// A single worker is the thread that blocks. The document's timers run on separate workers even then.
    pub(crate) fn new(form: Form, purpose: Purpose, workers: usize) -> Self {
        let as_published = form == Form::Published && purpose == Purpose::Timers;
        let has_workers = workers > 1 || as_published || purpose == Purpose::Outside;
        let mut builder = if has_workers {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(workers);
            builder
        } else {
            Builder::new_current_thread()
        };
        Self(builder.enable_all().build().expect("a runtime"))
    }

    pub(crate) fn block_on<F>(&mut self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.0.block_on(future)
    }

    /// Spawns from outside the runtime.
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.spawn(future)
    }
}

/// Spawns a task that may stay on one worker; tasks of this runtime can always move.
pub(crate) fn spawn_pinned<F, Made>(make: F) -> JoinHandle<Made::Output>
where
    F: FnOnce() -> Made,
    Made: Future + Send + 'static,
    Made::Output: Send + 'static,
{
    task::spawn(make())
}
