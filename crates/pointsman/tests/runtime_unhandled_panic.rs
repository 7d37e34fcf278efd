//! What the panic of a task does to its runtime or set.

mod common;

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;

use common::must_end;
use pointsman::runtime::{Builder, LocalOptions, Runtime, UnhandledPanic};
use pointsman::task::{LocalSet, spawn_local};

const OF_RUNTIME: &str =
    "a spawned task panicked and the runtime is configured to shut down on unhandled panic";
const OF_SET: &str =
    "a spawned task panicked and the LocalSet is configured to shutdown on unhandled panic";

fn fragile() -> Builder {
    let mut builder = Builder::new_current_thread();
    builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    builder
}

/// The text of the panic of `run`.
fn panic_of<R>(run: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).err().expect("no panic");
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .expect("no text")
}

fn panics(runtime: &Runtime) {
    runtime.spawn(async { panic!("in the task") });
}

#[test]
fn block_on_panics_and_other_tasks_are_dropped() {
    let runtime = fragile().build().unwrap();
    let held = Arc::new(());
    let other = runtime.spawn({
        let held = Arc::clone(&held);
        async move {
            let _held = held;
            pending::<()>().await;
        }
    });
    panics(&runtime);
    assert_eq!(panic_of(|| runtime.block_on(pending::<()>())), OF_RUNTIME);
    assert_eq!(Arc::strong_count(&held), 1);
    assert!(other.is_finished());
    // Again, and tasks that are spawned later are cancelled.
    assert_eq!(panic_of(|| runtime.block_on(async {})), OF_RUNTIME);
    let late = runtime.spawn(async {});
    assert!(
        futures::executor::block_on(late)
            .unwrap_err()
            .is_cancelled()
    );
}

#[test]
fn the_drop_of_the_runtime_still_waits_for_blocking_functions() {
    let (writes, written) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let runtime = fragile().build().unwrap();
    runtime.spawn_blocking(move || {
        let _ = released.recv();
        writes.send(()).unwrap();
    });
    panics(&runtime);
    assert_eq!(panic_of(|| runtime.block_on(pending::<()>())), OF_RUNTIME);
    drop(release);
    drop(runtime);
    assert_eq!(written.try_recv(), Ok(()));
}

#[test]
fn all_threads_in_block_on_panic() {
    must_end(|| {
        let runtime = Arc::new(fragile().build().unwrap());
        let (begins, begun) = mpsc::channel();
        let threads = [(); 3].map(|()| {
            let (runtime, begins) = (Arc::clone(&runtime), begins.clone());
            thread::spawn(move || {
                runtime.block_on(async {
                    begins.send(()).unwrap();
                    pending::<()>().await;
                })
            })
        });
        for _ in &threads {
            begun.recv().unwrap();
        }
        panics(&runtime);
        for thread in threads {
            assert!(thread.join().is_err());
        }
    });
}

#[test]
fn a_blocking_function_may_panic() {
    let runtime = fragile().build().unwrap();
    let job = runtime.spawn_blocking(|| panic!("in the function"));
    assert!(runtime.block_on(job).unwrap_err().is_panic());
}

#[test]
fn a_local_runtime_ends_too() {
    let runtime = fragile().build_local(LocalOptions::default()).unwrap();
    let panicked = panic_of(|| {
        runtime.block_on(async {
            spawn_local(async { panic!("in the task") });
            pending::<()>().await;
        });
    });
    assert_eq!(panicked, OF_RUNTIME);
}

#[test]
fn a_set_panics_and_its_other_tasks_are_dropped() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let mut local = LocalSet::new();
    local.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let held = Rc::new(());
    local.spawn_local({
        let held = Rc::clone(&held);
        async move {
            let _held = held;
            pending::<()>().await;
        }
    });
    local.spawn_local(async { panic!("in the task") });
    let panicked = panic_of(|| local.block_on(&runtime, pending::<()>()));
    assert_eq!(panicked, OF_SET);
    assert_eq!(Rc::strong_count(&held), 1);
    // The runtime goes on.
    assert_eq!(runtime.block_on(async { 7 }), 7);
}

#[test]
fn panics_are_ignored_by_default() {
    let runtime = Builder::new_current_thread().build().unwrap();
    panics(&runtime);
    assert_eq!(runtime.block_on(runtime.spawn(async { 7 })).unwrap(), 7);
}

#[test]
fn a_multi_thread_runtime_cannot_end_with_a_panic() {
    let panicked = panic_of(|| {
        Builder::new_multi_thread().unhandled_panic(UnhandledPanic::ShutdownRuntime);
    });
    assert!(panicked.contains("only supported in current thread runtime"));
}
