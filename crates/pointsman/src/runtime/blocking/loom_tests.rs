//! Models of the pool: every order in which those who bring jobs, its threads and its end can meet.
//!
//! No time passes here. A thread that watches looks at once, and one that sleeps does so for ever or, with
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
use crate::task::test_util::Drops;

const FOR_EVER: Duration = Duration::MAX;
const NOT_AT_ALL: Duration = Duration::ZERO;

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

/// A runtime for its pool alone.
struct Running {
    handle: Handle,
    most_threads: usize,
    /// Jobs that run, and how many have run.
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

    fn bring(&self, job: impl FnOnce() + Send + 'static) {
        bring(&self.handle, self.job(job));
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

    /// As the owner of a runtime does. How many jobs have run.
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
        assert_eq!(shared.strong_count(), 0, "a thread or a job is still there");
        self.ran.load(Relaxed)
    }
}

fn bring(handle: &Handle, job: impl FnOnce() + Send + 'static) {
    drop(handle.spawn_blocking(job));
}

/// One waits here until another opens it.
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

/// Two jobs, the second of them brought at any moment of the first or of its thread's.
fn a_second_job_is_run(most_threads: usize, keep_alive: Duration) {
    let runtime = Running::new(most_threads, keep_alive);
    runtime.bring(|| {});
    let done = Gate::new();
    let its_done = done.clone();
    runtime.bring(move || its_done.open());
    done.wait();
    let ran = runtime.end();
    assert_eq!(ran, 2);
}

#[test]
fn a_job_that_comes_as_the_last_thread_goes_to_sleep_is_run() {
    large_model(|| a_second_job_is_run(1, FOR_EVER));
}

#[test]
fn a_job_that_comes_as_the_last_thread_ends_is_run() {
    model(|| a_second_job_is_run(1, NOT_AT_ALL));
}

#[test]
fn a_job_that_comes_as_a_thread_goes_to_sleep_or_another_may_be_started_is_run() {
    large_model(|| a_second_job_is_run(2, FOR_EVER));
}

#[test]
fn a_job_that_comes_as_a_thread_ends_or_another_may_be_started_is_run() {
    large_model(|| a_second_job_is_run(2, NOT_AT_ALL));
}

/// Two that bring a job each.
fn two_bring_jobs_at_once(most_threads: usize, keep_alive: Duration) {
    let runtime = Running::new(most_threads, keep_alive);
    let (first, second) = (Gate::new(), Gate::new());
    let opens = first.clone();
    let job = runtime.job(move || opens.open());
    let handle = runtime.handle.clone();
    let other = thread::spawn(move || bring(&handle, job));
    let opens = second.clone();
    runtime.bring(move || opens.open());
    first.wait();
    second.wait();
    other.join().unwrap();
    let ran = runtime.end();
    assert_eq!(ran, 2);
}

#[test]
fn jobs_that_two_bring_at_once_are_run_by_one_thread() {
    large_model(|| two_bring_jobs_at_once(1, FOR_EVER));
}

#[test]
fn jobs_that_two_bring_at_once_are_run_by_threads_that_end() {
    large_model(|| two_bring_jobs_at_once(2, NOT_AT_ALL));
}

#[test]
fn a_job_behind_one_that_blocks_gets_another_thread() {
    large_model(|| {
        let runtime = Running::new(2, FOR_EVER);
        let (gate, done) = (Gate::new(), Gate::new());
        let (opens, is_done) = (gate.clone(), done.clone());
        runtime.bring(move || {
            gate.wait();
            is_done.open();
        });
        runtime.bring(move || opens.open());
        done.wait();
        assert_eq!(runtime.end(), 2);
    });
}

#[test]
fn a_job_that_comes_as_nobody_watches_any_more_gets_a_thread() {
    large_model(|| {
        let runtime = Running::new(2, FOR_EVER);
        let (gate, done) = (Gate::new(), Gate::new());
        let (opens, is_done) = (gate.clone(), done.clone());
        runtime.bring(|| {});
        runtime.bring(move || {
            gate.wait();
            is_done.open();
        });
        runtime.bring(move || opens.open());
        done.wait();
        runtime.end();
    });
}

#[test]
fn three_that_wait_for_the_last_get_three_threads() {
    large_model(|| {
        let runtime = Running::new(3, FOR_EVER);
        let gates = [Gate::new(), Gate::new()];
        let opens = gates.clone();
        for gate in gates.clone() {
            runtime.bring(move || gate.wait());
        }
        let done = Gate::new();
        let is_done = done.clone();
        runtime.bring(move || {
            opens.iter().for_each(Gate::open);
            is_done.open();
        });
        done.wait();
        runtime.end();
    });
}

#[test]
fn a_job_is_seen_until_it_has_run() {
    model(|| {
        let runtime = Running::new(1, FOR_EVER);
        let has_run = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&has_run);
        runtime.bring(move || runs.store(true, Relaxed));
        if runtime.handle.shared.blocking.is_idle() {
            assert!(has_run.load(Relaxed), "it is somewhere still");
        }
        runtime.end();
    });
}

/// The shutdown may come at any moment of these jobs. Each job runs exactly once.
fn jobs_are_run_by_the_end(most_threads: usize, jobs: usize, keep_alive: Duration) {
    let runtime = Running::new(most_threads, keep_alive);
    let drops = Drops::default();
    for _ in 0..jobs {
        let witness = drops.witness();
        runtime.bring(move || drop(witness));
    }
    assert_eq!(runtime.end(), jobs);
    assert_eq!(drops.count(), jobs);
}

#[test]
fn jobs_of_one_thread_are_run_by_the_end() {
    model(|| jobs_are_run_by_the_end(1, 2, FOR_EVER));
}

#[test]
fn jobs_of_two_threads_are_run_by_the_end() {
    large_model(|| jobs_are_run_by_the_end(2, 3, FOR_EVER));
}

#[test]
fn jobs_of_a_thread_that_ends_are_run_by_the_end() {
    model(|| jobs_are_run_by_the_end(1, 2, NOT_AT_ALL));
}

/// The shutdown waits for an accepted job, and the submitter of a refused job gets an error.
fn a_job_meets_the_end(jobs_before: usize) {
    let runtime = Running::new(1, FOR_EVER);
    for _ in 0..jobs_before {
        runtime.bring(|| {});
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
        let (joined, accepted) = handle.shared.spawn_blocking(job);
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
fn a_job_that_meets_the_end_is_run_by_then_or_refused() {
    large_model(|| a_job_meets_the_end(0));
}

#[test]
fn a_job_that_meets_the_end_of_a_thread_is_run_by_then_or_refused() {
    large_model(|| a_job_meets_the_end(1));
}
