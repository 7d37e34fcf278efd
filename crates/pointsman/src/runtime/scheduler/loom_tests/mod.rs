//! Models of the scheduler: every order in which its threads can meet.
//!
//! No time passes here: what is woken in the end may not rely on a tick, and the watchdog looks at nothing.

mod block_on;
mod current_thread;
mod driver;
mod handoff;
mod idle;
mod inject;
mod queue;
mod runtime;
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

/// Like `loom::model`, for those that go on for longer.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.check(run);
}

/// Of three threads that all go on for long: their orders are too many, and are tried for a while.
fn large_model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.checkpoint_interval = 100;
    builder.max_duration = Some(Duration::from_secs(1));
    builder.check(run);
}

// --- entries ---

/// The numbers of the tasks of these entries, which are given up.
fn numbers(entries: impl IntoIterator<Item = Notified>) -> Vec<Id> {
    let give_up = |entry: Notified| {
        let id = entry.task.id();
        entry.give_up();
        id
    };
    entries.into_iter().map(give_up).collect()
}

/// Each number once, in no particular order.
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

/// Ends the runtime as its owner does, whose workers these are.
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
        assert_eq!(shared.strong_count(), 0, "the runtime is still there");
    }
}

/// Blocks on a future as a user of the runtime does.
fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    shared.block_on(pin!(future))
}

/// Waits without a runtime.
fn wait<T>(handle: JoinHandle<T>) -> T {
    match loom::future::block_on(handle) {
        Ok(output) => output,
        Err(error) => panic!("{error}"),
    }
}
