//! Threads and blocking jobs of a runtime.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::super::blocking::{Host, Pool, Refused};
use super::{Shared, context};
use crate::loom::thread;
use crate::task::body::is_large;
use crate::task::coop;
use crate::task::join::JoinHandle;
use crate::task::origin::SpawnSite;
use crate::task::raw::{Notified, RawTask};

impl Shared {
    /// Starts a thread with the runtime's name, stack size and hooks. `run` runs with the runtime as the current one.
    pub(in crate::runtime) fn start_thread(
        self: &Arc<Self>,
        run: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>> {
        let mut builder = thread::Builder::new().name((self.config.thread_name)());
        if let Some(bytes) = self.config.thread_stack_size {
            builder = builder.stack_size(bytes);
        }
        let shared = Arc::clone(self);
        builder.spawn(move || {
            let current = context::set_current(&shared);
            if let Some(start) = &shared.config.on_thread_start {
                // Jobs and the shutdown already wait for this thread, so it goes on if the hook panics.
                let _ = catch_unwind(AssertUnwindSafe(|| start()));
            }
            run(&shared);
            if let Some(stop) = &shared.config.on_thread_stop {
                stop();
            }
            drop(current);
        })
    }

    /// Queues a function on the blocking pool. Also returns whether the pool accepted it.
    pub(crate) fn spawn_blocking<F, R>(
        self: &Arc<Self>,
        function: F,
        mut site: SpawnSite<'_>,
    ) -> (JoinHandle<R>, Result<(), Refused>)
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        site.span.set_size::<F>();
        if is_large::<F>() {
            self.spawn_small_blocking(Box::new(function), site)
        } else {
            self.spawn_small_blocking(function, site)
        }
    }

    fn spawn_small_blocking<F, R>(
        self: &Arc<Self>,
        function: F,
        mut site: SpawnSite<'_>,
    ) -> (JoinHandle<R>, Result<(), Refused>)
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        site.span.set_function::<F>();
        let job = site.traced(Job(Some(function)));
        // The pool decides whether it accepts the job: it stays open after tasks can no longer be spawned.
        // SAFETY: `make` calls the closure while this thread owns the arena.
        let (task, _) = self.make(|arena| unsafe { RawTask::new(arena, job, true, site) });
        // SAFETY: a new task has three references, and this is the only one that becomes a `JoinHandle`.
        let joined = unsafe { JoinHandle::new(task) };
        // SAFETY: a new task is in no queue, and this is the only one of its references that becomes an entry.
        let entry = unsafe { Notified::woken(task) };
        let accepted = self.blocking.submit(self, entry);
        #[cfg(feature = "diagnostics")]
        self.arm_stall_watch();
        #[cfg(feature = "test-util")]
        if self.config.exploration.is_some() {
            self.wait_for_jobs();
        }
        (joined, accepted)
    }
}

impl Host for Arc<Shared> {
    fn pool(&self) -> &Pool {
        &self.blocking
    }

    fn start_thread(
        &self,
        run: impl FnOnce(&Self) + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>> {
        Shared::start_thread(self, run)
    }

    fn jobs_done(&self) {
        // A paused clock may advance now.
        if self.driver.is_paused() {
            self.idle.unpark_all();
        }
    }
}

/// A function as a task: its only poll runs it.
struct Job<F>(Option<F>);

impl<F> Unpin for Job<F> {}

impl<F: FnOnce() -> R, R> Future for Job<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        let function = self.0.take().expect("a job is polled once");
        // The function has the thread to itself and may use any budget.
        Poll::Ready(coop::without_budget(function))
    }
}
