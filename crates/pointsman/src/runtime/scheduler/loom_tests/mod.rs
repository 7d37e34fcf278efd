//! Loom models of the scheduler. Loom runs each model in all orders of its threads' steps, up to the configured number of
//! preemptions.
//!
//! No time passes in a model and the watchdog does not run, so a task that is woken must not depend on a tick.

mod block_on;
mod current_thread;
mod driver;
mod handoff;
mod idle;
mod inject;
mod queue;
mod runtime;
#[cfg(feature = "diagnostics")]
mod slot;
mod watchdog;

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use loom::thread;

use super::super::config::Config;
use super::super::handle::Handle;
use super::super::id::Id as RuntimeId;
use super::Shared;
use crate::task::id::Id;
use crate::task::join::JoinHandle;
use crate::task::raw::Notified;
use crate::time;

/// As `loom::model`, with more branches.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.check(run);
}

/// For models with too many orders, such as those of three busy threads: tries orders for a second.
fn large_model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.checkpoint_interval = 100;
    builder.max_duration = Some(Duration::from_secs(1));
    builder.check(run);
}

// --- entries ---

/// Gives up the entries and returns the ids of their tasks.
fn numbers(entries: impl IntoIterator<Item = Notified>) -> Vec<Id> {
    let give_up = |entry: Notified| {
        let id = entry.task.id();
        entry.give_up();
        id
    };
    entries.into_iter().map(give_up).collect()
}

/// Asserts that both have the same ids, in any order.
fn assert_all(mut seen: Vec<Id>, mut expected: Vec<Id>) {
    seen.sort_by_key(Id::to_string);
    expected.sort_by_key(Id::to_string);
    assert_eq!(seen, expected);
}

fn is_in_order(all: &[Id], part: &[Id]) -> bool {
    let mut rest = all.iter();
    part.iter().all(|id| rest.any(|other| other == id))
}

// --- a runtime ---

/// A runtime with its worker threads, which `end` shuts down as `Runtime` does.
struct Running {
    handle: Handle,
    workers: Vec<thread::JoinHandle<()>>,
}

impl Running {
    fn new(workers: usize) -> Self {
        Self::with_time(workers, |_| None)
    }

    fn with_time(
        workers: usize,
        time: impl FnOnce(Weak<Shared>) -> Option<Arc<time::Driver>>,
    ) -> Self {
        let config = Config::for_model(workers, 1, Duration::ZERO);
        let handle = Handle {
            shared: Shared::new(RuntimeId::next(), config, time, None),
        };
        let workers = (0..workers)
            .map(|index| {
                let handle = handle.clone();
                thread::spawn(move || handle.shared.run_worker(index))
            })
            .collect();
        Self { handle, workers }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    fn begin_end(&self) {
        let shared = self.shared();
        shared.begin_shutdown();
        let watchdog = shared.finish_shutdown(!self.workers.is_empty());
        assert!(watchdog.is_none());
    }

    fn end(self) {
        self.begin_end();
        self.finish_end();
    }

    fn finish_end(self) {
        for worker in self.workers {
            worker.join().unwrap();
        }
        if let Some(driver) = self.handle.shared.time() {
            driver.shutdown();
        }
        self.handle.shared.blocking.close();
        self.handle.shared.blocking.wait(&self.handle.shared, None);
        let shared = Arc::downgrade(&self.handle.shared);
        drop(self.handle);
        assert_eq!(shared.strong_count(), 0, "the runtime was not freed");
    }
}

/// Blocks on a future of the runtime.
fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    shared.block_on(pin!(future))
}

/// Blocks on a task outside of the runtime.
fn wait<T>(handle: JoinHandle<T>) -> T {
    match loom::future::block_on(handle) {
        Ok(output) => output,
        Err(error) => panic!("{error}"),
    }
}
