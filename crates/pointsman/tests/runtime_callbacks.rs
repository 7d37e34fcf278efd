//! User code that a worker runs outside of tasks: hooks and wakers that panic or block.

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use common::must_end;
use futures::executor;
use gate::Gate;
use pointsman::runtime::{Builder, Handle, worker_index};
use pointsman::task::block_in_place;
use pointsman::time;

/// A hook whose first call signals that it has begun and blocks until the gate is open.
fn block_once(gate: &Gate) -> (impl Fn() + Send + Sync + 'static, mpsc::Receiver<()>) {
    let (begins, begun) = mpsc::channel();
    let (passage, is_first) = (gate.passage(), AtomicBool::new(true));
    let hook = move || {
        if is_first.swap(false, SeqCst) {
            let _ = begins.send(());
            passage.block();
        }
    };
    (hook, begun)
}

/// As many threads as there are cores are in `block_on`, so that no worker is woken for a task.
#[test]
fn a_task_that_is_spawned_while_a_worker_is_in_its_park_hook_is_run() {
    must_end(|| {
        let (gate, blocked) = (Gate::new(), Gate::new());
        let (hook, begun) = block_once(&gate);
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).on_thread_park(hook);
        let runtime = runtime.enable_all().build().unwrap();
        begun.recv().unwrap();
        let cores = thread::available_parallelism().unwrap().get();
        let (enters, entered) = mpsc::channel();
        let threads: Vec<_> = (0..cores)
            .map(|_| {
                let (handle, enters) = (runtime.handle().clone(), enters.clone());
                let passage = blocked.passage();
                thread::spawn(move || {
                    handle.block_on(async {
                        enters.send(()).unwrap();
                        passage.block();
                    })
                })
            })
            .collect();
        (0..cores).for_each(|_| entered.recv().unwrap());
        let task = runtime.spawn(async { 7 });
        gate.open();
        assert_eq!(executor::block_on(task).unwrap(), 7);
        blocked.open();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_hook_that_blocks_keeps_only_its_own_worker() {
    must_end(|| {
        for at_park in [true, false] {
            for _ in 0..20 {
                let gate = Gate::new();
                let (hook, begun) = block_once(&gate);
                let mut builder = Builder::new_multi_thread();
                match at_park {
                    true => builder.on_thread_park(hook),
                    false => builder.on_thread_unpark(hook),
                };
                let runtime = builder.worker_threads(2).enable_all().build().unwrap();
                let spawn = |n| runtime.spawn(async move { n });
                let first = spawn(1);
                if at_park {
                    begun.recv().unwrap();
                }
                for (n, task) in [(1, first), (2, spawn(2)), (3, spawn(3))] {
                    assert_eq!(executor::block_on(task).unwrap(), n);
                }
                gate.open();
            }
        }
    });
}

/// The task is in the queue of the hook's own worker.
#[test]
fn a_task_that_a_hook_spawns_is_run_while_the_hook_blocks() {
    must_end(|| {
        for _ in 0..20 {
            let handle = Arc::new(OnceLock::<Handle>::new());
            let (ends, ended) = mpsc::channel();
            let (its_handle, is_first) = (Arc::clone(&handle), AtomicBool::new(true));
            let hook = move || {
                if let Some(handle) = its_handle.get() {
                    if is_first.swap(false, SeqCst) {
                        let (runs, has_run) = mpsc::channel();
                        handle.spawn(async move { runs.send(()).unwrap() });
                        has_run.recv().unwrap();
                        ends.send(()).unwrap();
                    }
                }
            };
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.worker_threads(2).on_thread_park(hook);
            let runtime = runtime.enable_all().build().unwrap();
            handle.set(runtime.handle().clone()).unwrap();
            runtime.spawn(async {});
            ended.recv().unwrap();
        }
    });
}

#[test]
fn a_hook_in_block_in_place_keeps_its_worker() {
    must_end(|| {
        let (tells, told) = mpsc::channel();
        let hook = move || {
            let _ = tells.send(block_in_place(worker_index));
        };
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).on_thread_park(hook).build();
        assert_eq!(told.recv().unwrap(), Some(0));
        drop(runtime.unwrap());
    });
}

#[cfg(feature = "net")]
mod blocking_waker {
    use std::future::Future;
    use std::net::UdpSocket as Sender;
    use std::pin::Pin;
    use std::task::{Context, Poll, Wake, Waker};

    use pointsman::net::UdpSocket;
    use pointsman::runtime::Runtime;

    use super::common::threads;
    use super::*;

    struct Blocks(gate::Passage, mpsc::Sender<()>);

    impl Wake for Blocks {
        fn wake(self: Arc<Self>) {
            let _ = self.1.send(());
            self.0.block();
        }
    }

    /// A socket with a waiting receive operation, whose waker blocks until the gate is open.
    struct Receives {
        _receives: Pin<Box<dyn Future<Output = ()>>>,
        address: std::net::SocketAddr,
        begun: mpsc::Receiver<()>,
    }

    impl Receives {
        fn new(runtime: &Runtime, gate: &Gate) -> Self {
            let socket = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
            let address = socket.local_addr().unwrap();
            let mut receives = Box::pin(async move { drop(socket.recv(&mut [0]).await) });
            let (begins, begun) = mpsc::channel();
            let waker = Waker::from(Arc::new(Blocks(gate.passage(), begins)));
            let poll = receives.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(matches!(poll, Poll::Pending));
            Self {
                _receives: receives,
                address,
                begun,
            }
        }

        /// Returns when a thread of the runtime is blocked in the waker.
        fn block_waker(&self) {
            let sender = Sender::bind("127.0.0.1:0").unwrap();
            sender.send_to(b"x", self.address).unwrap();
            self.begun.recv().unwrap();
        }
    }

    fn run_tasks(runtime: &Runtime) {
        for n in 0..3 {
            let task = runtime.spawn(async move { n });
            assert_eq!(executor::block_on(task).unwrap(), n);
        }
    }

    /// The worker that waits for I/O runs it, or the watchdog if no worker waits for I/O yet.
    #[test]
    fn a_waker_that_blocks_keeps_only_its_own_worker() {
        must_end(|| {
            for _ in 0..20 {
                let gate = Gate::new();
                let runtime = threads(2);
                let receives = Receives::new(&runtime, &gate);
                receives.block_waker();
                run_tasks(&runtime);
                gate.open();
            }
        });
    }

    /// The watchdog runs it, since the only worker is blocked in a task. When the task ends, the worker begins to wait for
    /// I/O.
    #[test]
    fn a_waker_that_blocks_the_watchdog_keeps_no_worker() {
        must_end(|| {
            for _ in 0..20 {
                let (gate, task_gate) = (Gate::new(), Gate::new());
                let runtime = threads(1);
                let (begins, begun) = mpsc::channel();
                let passage = task_gate.passage();
                let blocked = runtime.spawn(async move {
                    begins.send(()).unwrap();
                    passage.block();
                });
                begun.recv().unwrap();
                let receives = Receives::new(&runtime, &gate);
                receives.block_waker();
                let parks = || runtime.metrics().worker_park_count(0);
                let before = parks();
                task_gate.open();
                executor::block_on(blocked).unwrap();
                while parks() == before {
                    thread::yield_now();
                }
                run_tasks(&runtime);
                gate.open();
            }
        });
    }
}

#[test]
fn a_callback_that_panics_in_block_on_ends_that_and_nothing_else() {
    must_end(|| {
        for at_park in [true, false] {
            let is_bad = Arc::new(AtomicBool::new(true));
            let panic_once = move || assert!(!is_bad.swap(false, SeqCst), "a callback");
            let mut builder = Builder::new_current_thread();
            match at_park {
                true => builder.on_thread_park(panic_once),
                false => builder.on_thread_unpark(panic_once),
            };
            let runtime = builder.enable_all().build().unwrap();
            let sleep = || async { time::sleep(Duration::from_millis(1)).await };
            let first = || runtime.block_on(sleep());
            catch_unwind(AssertUnwindSafe(first)).unwrap_err();
            let task = runtime.spawn(sleep());
            runtime.block_on(task).unwrap();
        }
    });
}

/// Without its workers the runtime would hang without an error.
#[test]
fn a_callback_that_panics_in_a_worker_ends_the_process() {
    const CHILD: &str = "POINTSMAN_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        let mut builder = Builder::new_multi_thread();
        let bad = || panic!("a callback");
        let runtime = builder.worker_threads(1).on_thread_park(bad).build();
        // Shorter, as the process is ended meanwhile.
        thread::sleep(Duration::from_secs(5));
        drop(runtime.unwrap());
        return;
    }
    must_end(|| {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "a_callback_that_panics_in_a_worker_ends_the_process",
            ])
            .arg("--nocapture")
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(!child.status.success(), "it went on");
        let said = String::from_utf8_lossy(&child.stderr).into_owned();
        assert!(said.contains("worker thread"), "{said}");
    });
}
