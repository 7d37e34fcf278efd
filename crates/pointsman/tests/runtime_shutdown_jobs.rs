//! Blocking work when its runtime shuts down: jobs that were submitted before still run, as in Tokio.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::future::{Future, pending};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::must_end;
use futures::executor;
use gate::Gate;
use pointsman::runtime::{Builder, Handle, LocalRuntime, Runtime};
use pointsman::task::JoinHandle;

/// A runtime with one thread for blocking work.
fn each(test: impl Fn(&dyn Fn() -> Runtime) + Send + 'static) {
    must_end(move || {
        for workers in [0, 1, 3] {
            test(&|| {
                let mut builder = match workers {
                    0 => Builder::new_current_thread(),
                    _ => Builder::new_multi_thread(),
                };
                builder.worker_threads(workers.max(1));
                builder.max_blocking_threads(1).enable_all();
                builder.build().unwrap()
            });
        }
    });
}

/// Ten jobs for one thread. The first waits for the gate, the others record that they have run.
fn ten_jobs(runtime: &Runtime) -> (Gate, mpsc::Receiver<usize>) {
    let gate = Gate::new();
    let (tx, rx) = mpsc::channel();
    let passage = gate.passage();
    let (begun, has_begun) = mpsc::channel();
    drop(runtime.spawn_blocking(move || {
        begun.send(()).unwrap();
        passage.block();
    }));
    for n in 1..10 {
        let tx = tx.clone();
        drop(runtime.spawn_blocking(move || tx.send(n).unwrap()));
    }
    has_begun.recv().unwrap();
    (gate, rx)
}

#[test]
fn a_runtime_that_is_dropped_runs_the_queued_jobs() {
    each(|runtime| {
        let runtime = runtime();
        let (gate, ran) = ten_jobs(&runtime);
        let task = runtime.spawn(pending::<()>());
        let ends = thread::spawn(move || drop(runtime));
        // The shutdown has begun.
        assert!(executor::block_on(task).unwrap_err().is_cancelled());
        assert!(!ends.is_finished());
        gate.open();
        ends.join().unwrap();
        assert_eq!(ran.try_iter().collect::<Vec<_>>(), Vec::from_iter(1..10));
    });
}

#[test]
fn the_queued_jobs_go_on_when_the_end_no_longer_waits() {
    each(|runtime| {
        for is_background in [false, true] {
            let runtime = runtime();
            let (gate, ran) = ten_jobs(&runtime);
            match is_background {
                false => runtime.shutdown_timeout(Duration::from_millis(1)),
                true => runtime.shutdown_background(),
            }
            assert!(ran.try_recv().is_err());
            gate.open();
            assert_eq!(ran.iter().collect::<Vec<_>>(), Vec::from_iter(1..10));
        }
    });
}

#[test]
fn a_job_that_drops_its_runtime_keeps_no_job_behind_it_from_running() {
    each(|runtime| {
        let runtime = runtime();
        let handle = runtime.handle().clone();
        let (tx, ran) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        drop(handle.spawn_blocking(move || {
            may_go_on.recv().unwrap();
            drop(runtime);
        }));
        drop(handle.spawn_blocking(move || tx.send(()).unwrap()));
        go_on.send(()).unwrap();
        ran.recv().unwrap();
    });
}

/// Submits a job when it is dropped.
struct CleansUp(Handle, mpsc::Sender<JoinHandle<u32>>);

impl CleansUp {
    /// A task that never ends and owns one of these, and the number of submitted jobs.
    fn owned_by_task(
        handle: &Handle,
    ) -> (
        impl Future<Output = ()> + use<>,
        mpsc::Receiver<JoinHandle<u32>>,
    ) {
        let (tx, rx) = mpsc::channel();
        let cleans_up = Self(handle.clone(), tx);
        let owner = async move {
            let _cleans_up = cleans_up;
            pending::<()>().await;
        };
        (owner, rx)
    }
}

impl Drop for CleansUp {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.spawn_blocking(|| 7));
    }
}

#[test]
fn a_job_that_a_dropped_task_submits_is_run() {
    each(|runtime| {
        let runtime = runtime();
        let (owner, jobs) = CleansUp::owned_by_task(runtime.handle());
        drop(runtime.spawn(owner));
        drop(runtime);
        assert_eq!(executor::block_on(jobs.recv().unwrap()).unwrap(), 7);
    });
}

#[test]
fn a_job_that_a_dropped_local_task_submits_is_run() {
    must_end(|| {
        let runtime = LocalRuntime::new().unwrap();
        let (owner, jobs) = CleansUp::owned_by_task(runtime.handle());
        drop(runtime.spawn_local(owner));
        drop(runtime);
        assert_eq!(executor::block_on(jobs.recv().unwrap()).unwrap(), 7);
    });
}

#[test]
fn an_end_with_a_time_limit_accepts_no_jobs_of_dropped_tasks() {
    each(|runtime| {
        for limit in [Duration::ZERO, Duration::from_secs(10)] {
            let runtime = runtime();
            let (owner, jobs) = CleansUp::owned_by_task(runtime.handle());
            drop(runtime.spawn(owner));
            runtime.shutdown_timeout(limit);
            let job = jobs.recv().unwrap();
            assert!(executor::block_on(job).unwrap_err().is_cancelled());
        }
    });
    must_end(|| {
        let runtime = LocalRuntime::new().unwrap();
        let (owner, jobs) = CleansUp::owned_by_task(runtime.handle());
        drop(runtime.spawn_local(owner));
        runtime.shutdown_background();
        let job = jobs.recv().unwrap();
        assert!(executor::block_on(job).unwrap_err().is_cancelled());
    });
}
