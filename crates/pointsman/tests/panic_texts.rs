//! Panic messages are Tokio's: tests expect panics by them, and users search for them.

mod common;

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Waker};

use common::{current_thread, must_end};
use pointsman::runtime::{Builder, Handle, LocalOptions, Runtime};
use pointsman::sync::{RwLock, Semaphore, broadcast, mpsc, oneshot};
use pointsman::time::{self, Duration, Instant};
use pointsman::{spawn, task};

pointsman::task_local! {
    static KEY: u32;
}

fn threads() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
}

fn poll_once(future: impl Future) {
    let _ = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}

/// Asserts that the panic message begins with `text`.
#[track_caller]
fn panics<R>(text: &str, call: impl FnOnce() -> R) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("it does not panic: {text}");
    };
    let given = match panic.downcast::<String>() {
        Ok(given) => *given,
        Err(panic) => panic.downcast_ref::<&str>().unwrap().to_string(),
    };
    assert!(given.starts_with(text), "{given:?} instead of {text:?}");
}

#[test]
fn of_clocks_and_timers() {
    must_end(|| {
        let outside = "time cannot be frozen from outside the Tokio runtime";
        panics(outside, time::pause);
        panics(outside, time::resume);
        panics(outside, || poll_once(time::advance(Duration::ZERO)));
        let in_thread =
            |future: Pin<Box<dyn Future<Output = ()>>>| current_thread().block_on(future);
        panics("time is already frozen", || {
            in_thread(Box::pin(async {
                time::pause();
                time::pause();
            }));
        });
        let running = "time is not frozen";
        panics(running, || in_thread(Box::pin(async { time::resume() })));
        panics(running, || {
            in_thread(Box::pin(time::advance(Duration::ZERO)))
        });
        let add = "overflow when adding duration to instant";
        panics(add, || {
            in_thread(Box::pin(async {
                time::pause();
                time::advance(Duration::MAX).await;
            }));
        });
        panics(add, || Instant::now() + Duration::MAX);
        let flavor = "`time::pause()` requires the `current_thread` Tokio runtime. This is the default Runtime used \
                      by `#[tokio::test].";
        panics(flavor, || threads().block_on(async { time::pause() }));
        panics(flavor, || {
            Builder::new_multi_thread().start_paused(true).build()
        });
        panics("`period` must be non-zero.", || {
            in_thread(Box::pin(async { drop(time::interval(Duration::ZERO)) }));
        });
        let no_runtime =
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime";
        panics(no_runtime, || time::sleep(Duration::ZERO));
        panics(no_runtime, Handle::current);
        panics(no_runtime, || spawn(async {}));
        panics(no_runtime, || task::spawn_blocking(|| ()));
    });
}

#[test]
fn of_builders() {
    let builder = Builder::new_multi_thread;
    panics("Worker threads cannot be set to 0", || {
        builder().worker_threads(0).build()
    });
    panics("Max blocking threads cannot be set to 0", || {
        builder().max_blocking_threads(0).build()
    });
    panics("event_interval must be greater than 0", || {
        builder().event_interval(0).build()
    });
    panics("global_queue_interval must be greater than 0", || {
        builder().global_queue_interval(0).build()
    });
    #[cfg(any(feature = "net", feature = "process", feature = "signal"))]
    panics("max_io_events_per_tick must be non-zero", || {
        builder().max_io_events_per_tick(0).build()
    });
    panics("runtime name shouldn't be empty", || {
        builder().name(" ").build()
    });
    panics("thread name may not contain interior null bytes", || {
        builder().thread_name("a\0b").build()
    });
    panics("multi_thread is not supported for LocalRuntime", || {
        builder().build_local(LocalOptions::default())
    });
}

#[test]
fn of_channels_and_locks() {
    const MAX: usize = Semaphore::MAX_PERMITS;
    let many = format!("a semaphore may not have more than MAX_PERMITS permits ({MAX})");
    panics(&many, || Semaphore::new(MAX + 1));
    panics(&many, || mpsc::channel::<()>(MAX + 1));
    panics(
        &format!("cannot add more than MAX_PERMITS permits ({MAX})"),
        || {
            Semaphore::new(0).add_permits(MAX + 1);
        },
    );
    let overflows = format!("number of added permits (1) would overflow MAX_PERMITS ({MAX})");
    panics(&overflows, || Semaphore::new(MAX).add_permits(1));
    panics("mpsc bounded channel requires buffer > 0", || {
        mpsc::channel::<()>(0)
    });
    panics("broadcast channel capacity cannot be zero", || {
        broadcast::channel::<()>(0)
    });
    // The message of an `assert_ne!`, as in Tokio.
    let none = "assertion `left != right` failed: a RwLock may not be created with 0 readers";
    panics(none, || RwLock::with_max_readers((), 0));
    panics("called after complete", || {
        let (tx, mut rx) = oneshot::channel();
        tx.send(()).unwrap();
        poll_once(&mut rx);
        poll_once(&mut rx);
    });
    panics(
        "Cannot block the current thread from within a runtime.",
        || current_thread().block_on(async { oneshot::channel::<()>().1.blocking_recv() }),
    );
}

#[test]
fn of_tasks() {
    must_end(|| {
        panics(
            "cannot access a task-local storage value without setting it first",
            || KEY.get(),
        );
        panics(
            "cannot enter a task-local scope while the task-local storage is borrowed",
            || {
                KEY.sync_scope(1, || KEY.with(|_| KEY.sync_scope(2, || ())));
            },
        );
        panics("Can't get a task id when not inside a task", task::id);
        panics("JoinHandle polled after completion", || {
            current_thread().block_on(async {
                let mut task = spawn(async {});
                (&mut task).await.unwrap();
                let _ = task.await;
            });
        });
        panics("`JoinError` reason is not a panic.", || {
            let task = current_thread().spawn(pending::<()>());
            current_thread().block_on(task).unwrap_err().into_panic()
        });
        panics(
            "can call blocking only when running on the multi-threaded runtime",
            || {
                current_thread().block_on(async { task::block_in_place(|| ()) });
            },
        );
        panics("Cannot start a runtime from within a runtime.", || {
            current_thread().block_on(async { current_thread().block_on(async {}) });
        });
        panics(
            "`EnterGuard` values dropped out of order. Guards returned by `tokio::runtime::Handle::enter()` must be \
             dropped in the reverse order as they were acquired.",
            || {
                let (one, other) = (current_thread(), current_thread());
                let first = one.enter();
                let _second = other.enter();
                drop(first);
            },
        );
        panics(
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`",
            || task::spawn_local(async {}),
        );
    });
}

#[cfg(all(unix, feature = "net"))]
#[test]
fn of_sockets() {
    use pointsman::net::TcpListener;

    panics(
        "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime builder to enable IO.",
        || {
            let runtime = Builder::new_current_thread().build().unwrap();
            runtime.block_on(TcpListener::bind("127.0.0.1:0"))
        },
    );
    if cfg!(debug_assertions) {
        panics(
            "Registering a blocking socket with the tokio runtime is unsupported.",
            || {
                let blocking = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
                current_thread().block_on(async { TcpListener::from_std(blocking) })
            },
        );
    }
}
