//! The threads of blocking work: each job gets one, up to the limit run at once, and idle threads exit.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use common::{current_thread, must_end, threads, wait};
use gate::Gate;
use pointsman::runtime::{Builder, Runtime};

/// Runs on both kinds of runtimes.
fn each(test: impl Fn(Runtime) + Send + 'static) {
    must_end(move || {
        test(current_thread());
        test(threads(1));
        test(threads(2));
        test(threads(4));
    });
}

#[test]
fn jobs_that_wait_for_each_other_all_run_at_once() {
    each(|runtime| {
        for _ in 0..2 {
            let barrier = Arc::new(Barrier::new(32));
            let jobs: Vec<_> = (0..32)
                .map(|_| {
                    let barrier = Arc::clone(&barrier);
                    runtime.spawn_blocking(move || barrier.wait().is_leader())
                })
                .collect();
            let leaders = runtime.block_on(async {
                let mut leaders = 0;
                for job in jobs {
                    leaders += usize::from(job.await.unwrap());
                }
                leaders
            });
            assert_eq!(leaders, 1);
        }
    });
}

#[test]
fn threads_that_are_slow_to_start_are_not_started_again_and_again() {
    must_end(|| {
        let started = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&started);
        let runtime = Builder::new_current_thread()
            .on_thread_start(move || {
                count.fetch_add(1, SeqCst);
                thread::sleep(Duration::from_millis(50));
            })
            .build()
            .unwrap();
        let (tx, rx) = mpsc::channel();
        let first = runtime.spawn_blocking(move || rx.recv().unwrap());
        let second = runtime.spawn_blocking(move || tx.send(()).unwrap());
        runtime.block_on(first).unwrap();
        runtime.block_on(second).unwrap();
        drop(runtime);
        // One for each job, the watchdog, and one that was about to start.
        assert!(started.load(SeqCst) <= 4, "{started:?} threads");
    });
}

#[test]
fn a_short_job_never_waits_behind_one_that_blocks() {
    must_end(|| {
        let runtime = threads(2);
        let mut gates = Vec::new();
        for n in 0..20 {
            let gate = Gate::new();
            let blocked = gate.passage();
            gates.push((gate, runtime.spawn_blocking(move || blocked.block())));
            assert_eq!(
                runtime.block_on(runtime.spawn_blocking(move || n)).unwrap(),
                n
            );
        }
        for (gate, job) in gates {
            gate.open();
            runtime.block_on(job).unwrap();
        }
    });
}

#[test]
fn not_more_jobs_run_at_once_than_were_allowed() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(3)
            .build()
            .unwrap();
        let present = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        // All three threads are in use, and more jobs wait.
        let barrier = Arc::new(Barrier::new(3));
        let jobs: Vec<_> = (0..30)
            .map(|_| {
                let present = Arc::clone(&present);
                let most = Arc::clone(&most);
                let barrier = Arc::clone(&barrier);
                runtime.spawn_blocking(move || {
                    most.fetch_max(present.fetch_add(1, SeqCst) + 1, SeqCst);
                    barrier.wait();
                    present.fetch_sub(1, SeqCst);
                })
            })
            .collect();
        for job in jobs {
            runtime.block_on(job).unwrap();
        }
        assert_eq!(most.load(SeqCst), 3);
        assert!(runtime.metrics().num_blocking_threads() <= 3);
    });
}

#[test]
fn idle_threads_exit_and_new_ones_start() {
    must_end(|| {
        for most in [1, 512] {
            let runtime = Builder::new_multi_thread()
                .worker_threads(1)
                .max_blocking_threads(most)
                .thread_keep_alive(Duration::from_millis(1))
                .build()
                .unwrap();
            for n in 0..20 {
                let job = runtime.spawn_blocking(move || n);
                assert_eq!(runtime.block_on(job).unwrap(), n);
                while runtime.metrics().num_blocking_threads() > 0 {
                    thread::yield_now();
                }
            }
        }
    });
}

/// A job is submitted just as the only thread for it is about to exit.
#[test]
fn a_thread_that_is_kept_for_ever_takes_the_next_job() {
    must_end(|| {
        let mut builder = Builder::new_current_thread();
        builder.thread_keep_alive(Duration::MAX);
        let runtime = builder.max_blocking_threads(1).build().unwrap();
        let metrics = runtime.metrics();
        let first = wait(runtime.spawn_blocking(|| thread::current().id()));
        while metrics.num_idle_blocking_threads() == 0 {
            thread::yield_now();
        }
        let second = wait(runtime.spawn_blocking(|| thread::current().id()));
        assert_eq!(first, second);
    });
}

#[test]
fn no_job_is_forgotten_by_a_thread_that_ends() {
    must_end(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .thread_keep_alive(Duration::from_micros(50))
            .build()
            .unwrap();
        for n in 0..2_000u64 {
            let job = runtime.spawn_blocking(move || n);
            assert_eq!(runtime.block_on(job).unwrap(), n);
            let until = Instant::now() + Duration::from_micros(40 + n % 64 * 2);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
    });
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_task_runs_on_any_thread_that_waits_for_it() {
    must_end(|| {
        let runtime = threads(1);
        let woken = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&woken));
        let gate = Gate::new();
        let opened = gate.passage();
        let mut task = pin!(runtime.spawn_blocking(move || opened.block()));
        let mut cx = Context::from_waker(&waker);
        assert!(task.as_mut().poll(&mut cx).is_pending());
        gate.open();
        while woken.0.load(SeqCst) == 0 {
            thread::yield_now();
        }
        assert!(matches!(task.poll(&mut cx), Poll::Ready(Ok(()))));
        assert_eq!(woken.0.load(SeqCst), 1);
        drop(runtime.spawn(pending::<()>()));
    });
}
