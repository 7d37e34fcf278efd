//! Nio. Its timers do not move between threads, so a task that sleeps is pinned.

use super::Purpose;
use crate::form::Form;

pub(crate) use ::nio::{JoinHandle, sleep, spawn, spawn_blocking, spawn_pinned, timeout};

pub(crate) enum Runtime {
    /// As the document builds it: every worker is a thread of its own.
    Apart(::nio::Runtime),
    /// As `#[nio::main]` builds it: the first worker is the thread that blocks.
    Here(::nio::LocalRuntime),
}

impl Runtime {
    pub(crate) fn new(form: Form, purpose: Purpose, workers: usize) -> Self {
        let workers = u8::try_from(workers).expect("Nio has at most 255 workers");
        let mut builder = ::nio::RuntimeBuilder::new().worker_threads(workers);
        if form == Form::Published && purpose == Purpose::Timers {
            builder = builder.min_tasks_per_worker(1);
        }
        if form == Form::Published || purpose == Purpose::Outside {
            Self::Apart(builder.rt().expect("a runtime"))
        } else {
            Self::Here(builder.build().expect("a runtime"))
        }
    }

    pub(crate) fn block_on<F>(&mut self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        match self {
            Self::Apart(runtime) => runtime.block_on(move || future),
            Self::Here(runtime) => runtime.block_on(future),
        }
    }

    /// Spawns from outside the runtime.
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self {
            Self::Apart(runtime) => runtime.spawn(future),
            Self::Here(runtime) => runtime.runtime_context().spawn(future),
        }
    }
}
