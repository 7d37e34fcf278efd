//! Loom models of the blocking pool: submitters, threads and the shutdown in all orders.
//!
//! No time passes in a model: the watching thread checks at once, and a sleeping thread sleeps until it is called or, with
//! [`NOT_AT_ALL`], ends unless it was called before.

use std::sync::Arc;
use std::time::Duration;

use loom::sync::Notify;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use loom::thread;

use super::super::config::Config;
use super::super::handle::Handle;
use super::super::id::Id;
use super::super::scheduler::Shared;
use crate::task::origin::SpawnSite;
use crate::task::test_util::Drops;

const FOREVER: Duration = Duration::MAX;
const NOT_AT_ALL: Duration = Duration::ZERO;

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

/// A runtime without workers.
struct Running {
    handle: Handle,
    most_threads: usize,
    /// The numbers of running jobs and of completed jobs.
    at_once: Arc<AtomicUsize>,
    ran: Arc<AtomicUsize>,
}

impl Running {
    fn new(most_threads: usize, keep_alive: Duration) -> Self {
        let config = Config::for_model(0, most_threads, keep_alive);
        Self {
            handle: Handle {
                shared: Shared::new(Id::next(), config, |_| None, None),
            },
            most_threads,
            at_once: Arc::default(),
            ran: Arc::default(),
        }
    }

    fn submit(&self, job: impl FnOnce() + Send + 'static) {
        submit(&self.handle, self.job(job));
    }

    fn job<F: FnOnce() + Send + 'static>(&self, job: F) -> impl FnOnce() + Send + use<F> {
        let at_once = Arc::clone(&self.at_once);
        let ran = Arc::clone(&self.ran);
        let most = self.most_threads;
        move || {
            assert!(at_once.fetch_add(1, Relaxed) < most, "too many threads");
            job();
            ran.fetch_add(1, Relaxed);
            at_once.fetch_sub(1, Relaxed);
        }
    }

    /// Shuts the runtime down as `Runtime` does. Returns the number of completed jobs.
    fn end(self) -> usize {
        let shared = &self.handle.shared;
        shared.begin_shutdown();
        shared.finish_shutdown(false);
        shared.blocking.close();
        shared.blocking.wait(shared, None);
        let pool = &shared.blocking;
        assert_eq!(
            (pool.threads(), pool.idle_threads(), pool.queued()),
            (0, 0, 0)
        );
        assert!(pool.is_idle());
        assert!(pool.counts.get().is_zero());
        assert_eq!(pool.counts.helping(), 0);
        let shared = Arc::downgrade(shared);
        drop(self.handle);
        assert_eq!(
            shared.strong_count(),
            0,
            "a thread or a job keeps the runtime alive"
        );
        self.ran.load(Relaxed)
    }
}

fn submit(handle: &Handle, job: impl FnOnce() + Send + 'static) {
    drop(handle.spawn_blocking(job));
}

/// Lets threads wait until another thread opens it.
#[derive(Clone)]
struct Gate(Arc<(AtomicBool, Notify)>);

impl Gate {
    fn new() -> Self {
        Self(Arc::new((AtomicBool::new(false), Notify::new())))
    }

    fn open(&self) {
        let (is_open, notify) = &*self.0;
        is_open.store(true, Relaxed);
        notify.notify();
    }

    fn wait(&self) {
        let (is_open, notify) = &*self.0;
        while !is_open.load(Relaxed) {
            notify.wait();
        }
    }
}

/// Submits two jobs, the second at any moment of the first or of its thread.
fn runs_a_second_job(most_threads: usize, keep_alive: Duration) {
    let runtime = Running::new(most_threads, keep_alive);
    runtime.submit(|| {});
    let done = Gate::new();
    let its_done = done.clone();
    runtime.submit(move || its_done.open());
    done.wait();
    let ran = runtime.end();
    assert_eq!(ran, 2);
}

#[test]
fn a_job_submitted_while_the_last_thread_falls_asleep_runs() {
    large_model(|| runs_a_second_job(1, FOREVER));
}

#[test]
fn a_job_submitted_while_the_last_thread_ends_runs() {
    model(|| runs_a_second_job(1, NOT_AT_ALL));
}

#[test]
fn a_job_submitted_while_a_thread_falls_asleep_or_starts_runs() {
    large_model(|| runs_a_second_job(2, FOREVER));
}

#[test]
fn a_job_submitted_while_a_thread_ends_or_starts_runs() {
    large_model(|| runs_a_second_job(2, NOT_AT_ALL));
}

/// Two threads submit a job each.
fn runs_jobs_of_two_submitters(most_threads: usize, keep_alive: Duration) {
    let runtime = Running::new(most_threads, keep_alive);
    let (first, second) = (Gate::new(), Gate::new());
    let opens = first.clone();
    let job = runtime.job(move || opens.open());
    let handle = runtime.handle.clone();
    let other = thread::spawn(move || submit(&handle, job));
    let opens = second.clone();
    runtime.submit(move || opens.open());
    first.wait();
    second.wait();
    other.join().unwrap();
    let ran = runtime.end();
    assert_eq!(ran, 2);
}

#[test]
fn one_thread_runs_jobs_submitted_at_once() {
    large_model(|| runs_jobs_of_two_submitters(1, FOREVER));
}

#[test]
fn ending_threads_run_jobs_submitted_at_once() {
    large_model(|| runs_jobs_of_two_submitters(2, NOT_AT_ALL));
}

#[test]
fn a_job_behind_a_blocked_one_gets_another_thread() {
    large_model(|| {
        let runtime = Running::new(2, FOREVER);
        let (gate, done) = (Gate::new(), Gate::new());
        let (opens, is_done) = (gate.clone(), done.clone());
        runtime.submit(move || {
            gate.wait();
            is_done.open();
        });
        runtime.submit(move || opens.open());
        done.wait();
        assert_eq!(runtime.end(), 2);
    });
}

#[test]
fn a_job_submitted_while_the_watching_ends_gets_a_thread() {
    large_model(|| {
        let runtime = Running::new(2, FOREVER);
        let (gate, done) = (Gate::new(), Gate::new());
        let (opens, is_done) = (gate.clone(), done.clone());
        runtime.submit(|| {});
        runtime.submit(move || {
            gate.wait();
            is_done.open();
        });
        runtime.submit(move || opens.open());
        done.wait();
        runtime.end();
    });
}

#[test]
fn three_dependent_jobs_get_three_threads() {
    large_model(|| {
        let runtime = Running::new(3, FOREVER);
        let gates = [Gate::new(), Gate::new()];
        let opens = gates.clone();
        for gate in gates.clone() {
            runtime.submit(move || gate.wait());
        }
        let done = Gate::new();
        let is_done = done.clone();
        runtime.submit(move || {
            opens.iter().for_each(Gate::open);
            is_done.open();
        });
        done.wait();
        runtime.end();
    });
}

#[test]
fn the_pool_is_not_idle_until_a_job_has_run() {
    model(|| {
        let runtime = Running::new(1, FOREVER);
        let has_run = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&has_run);
        runtime.submit(move || runs.store(true, Relaxed));
        if runtime.handle.shared.blocking.is_idle() {
            assert!(has_run.load(Relaxed), "an idle pool has run all jobs");
        }
        runtime.end();
    });
}

/// Shuts the runtime down at any moment of these jobs. Each job runs exactly once.
fn runs_all_jobs_by_the_shutdown(most_threads: usize, jobs: usize, keep_alive: Duration) {
    let runtime = Running::new(most_threads, keep_alive);
    let drops = Drops::default();
    for _ in 0..jobs {
        let witness = drops.witness();
        runtime.submit(move || drop(witness));
    }
    assert_eq!(runtime.end(), jobs);
    assert_eq!(drops.count(), jobs);
}

#[test]
fn one_thread_runs_all_jobs_by_the_shutdown() {
    model(|| runs_all_jobs_by_the_shutdown(1, 2, FOREVER));
}

#[test]
fn two_threads_run_all_jobs_by_the_shutdown() {
    large_model(|| runs_all_jobs_by_the_shutdown(2, 3, FOREVER));
}

#[test]
fn ending_threads_run_all_jobs_by_the_shutdown() {
    model(|| runs_all_jobs_by_the_shutdown(1, 2, NOT_AT_ALL));
}

/// The shutdown waits for an accepted job, and the submitter of a refused job gets an error.
fn submits_a_job_during_the_shutdown(jobs_before: usize) {
    let runtime = Running::new(1, FOREVER);
    for _ in 0..jobs_before {
        runtime.submit(|| {});
    }
    let drops = Drops::default();
    let witness = drops.witness();
    let has_run = Arc::new(AtomicBool::new(false));
    let runs = Arc::clone(&has_run);
    let job = runtime.job(move || {
        runs.store(true, Relaxed);
        drop(witness);
    });
    let handle = runtime.handle.clone();
    let other = thread::spawn(move || {
        let (joined, accepted) = handle.shared.spawn_blocking(job, SpawnSite::caller());
        drop(joined);
        accepted.is_ok()
    });
    let shared = Arc::clone(&runtime.handle.shared);
    shared.begin_shutdown();
    shared.blocking.close();
    shared.blocking.wait(&shared, None);
    let has_run_by_the_end = has_run.load(Relaxed);
    let was_accepted = other.join().unwrap();
    assert_eq!(has_run_by_the_end, was_accepted);
    assert_eq!(shared.blocking.threads(), 0);
    drop(shared);
    assert_eq!(runtime.end(), jobs_before + usize::from(was_accepted));
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_job_submitted_during_the_shutdown_runs_or_is_refused() {
    large_model(|| submits_a_job_during_the_shutdown(0));
}

#[test]
fn a_job_submitted_while_the_shutdown_ends_a_thread_runs_or_is_refused() {
    large_model(|| submits_a_job_during_the_shutdown(1));
}
