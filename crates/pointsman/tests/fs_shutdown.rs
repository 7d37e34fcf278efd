//! An accepted operation of `fs` is completed, even if the blocking pool is full and the runtime is dropped at once.

#![cfg(all(feature = "fs", feature = "io-util"))]

mod common;
#[path = "common/gate.rs"]
mod gate;

use std::future::{Future, pending};
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::thread;

use common::must_end;
use futures::executor;
use gate::Gate;
use pointsman::fs::{self, File, OpenOptions};
use pointsman::io::AsyncWriteExt;
use pointsman::runtime::{Builder, Runtime};
use pointsman::task::spawn_blocking;

fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()].map(|mut builder| {
        builder
            .max_blocking_threads(1)
            .enable_all()
            .build()
            .unwrap()
    })
}

/// Occupies the only thread for blocking work.
async fn fill_pool() -> Gate {
    let gate = Gate::new();
    let passage = gate.passage();
    let (begun, has_begun) = mpsc::channel();
    drop(spawn_blocking(move || {
        begun.send(()).unwrap();
        passage.block();
    }));
    has_begun.recv().unwrap();
    gate
}

/// Returns the contents of the file after the runtime was dropped while its pool was full. `act` gets a file that holds
/// `0123`, positioned at its end.
fn after_the_end<F: Future>(act: impl Fn(File, Arc<Path>) -> F + Send + 'static) -> Vec<String> {
    must_end(move || {
        let runtimes = runtimes().into_iter();
        let contents = runtimes.map(|runtime| {
            let folder = tempfile::tempdir().unwrap();
            let path: Arc<Path> = folder.path().join("file").into();
            let gate = runtime.block_on(async {
                let mut file = File::create(&path).await.unwrap();
                file.write_all(b"0123").await.unwrap();
                file.flush().await.unwrap();
                let gate = fill_pool().await;
                act(file, Arc::clone(&path)).await;
                gate
            });
            let task = runtime.spawn(pending::<()>());
            let ends = thread::spawn(move || drop(runtime));
            // The shutdown has begun.
            assert!(executor::block_on(task).unwrap_err().is_cancelled());
            gate.open();
            ends.join().unwrap();
            std::fs::read_to_string(&path).unwrap()
        });
        contents.collect()
    })
}

/// Begins an operation and cancels it.
fn begin(future: impl Future) {
    let polled = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "the pool is full");
}

#[test]
fn a_write_that_was_accepted_is_written() {
    let contents = after_the_end(async |mut file, _| {
        file.write_all(b"data").await.unwrap();
        file
    });
    assert_eq!(contents, ["0123data"; 2]);
}

#[test]
fn a_write_is_written_while_another_waits_for_it() {
    let contents = after_the_end(async |mut file, _| {
        file.write_all(b"data").await.unwrap();
        begin(file.write_all(b"not accepted"));
        begin(file.flush());
        begin(file.sync_all());
    });
    assert_eq!(contents, ["0123data"; 2]);
}

#[test]
fn a_new_length_that_has_begun_is_set() {
    let contents = after_the_end(async |file, _| begin(file.set_len(2)));
    assert_eq!(contents, ["01"; 2]);
}

#[test]
fn a_function_of_a_path_that_has_begun_is_done() {
    let contents = after_the_end(async |_, path| begin(fs::write(&path, "all")));
    assert_eq!(contents, ["all"; 2]);
}

/// Writes race with the shutdown.
#[test]
fn a_write_is_either_written_before_the_end_or_refused() {
    must_end(|| {
        for _ in 0..100 {
            for runtime in runtimes() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("file");
                let accepted = Arc::new(AtomicUsize::new(0));
                let mut options = OpenOptions::new();
                let file = options.append(true).create(true).open(&path);
                let mut file = runtime.block_on(file).unwrap();
                let handle = runtime.handle().clone();
                let counts = Arc::clone(&accepted);
                let (begun, has_begun) = mpsc::channel();
                let writes = thread::spawn(move || {
                    handle.block_on(async move {
                        while file.write_all(b"x").await.is_ok() {
                            counts.fetch_add(1, SeqCst);
                            let _ = begun.send(());
                        }
                    });
                });
                has_begun.recv().unwrap();
                drop(runtime);
                let accepted = accepted.load(SeqCst);
                let written = std::fs::read(&path).unwrap().len();
                assert!(written >= accepted, "{written} of {accepted}");
                writes.join().unwrap();
                assert_eq!(std::fs::read(&path).unwrap().len(), written);
            }
        }
    });
}

/// Limits the address space so that no thread can be started.
#[cfg(target_os = "linux")]
#[test]
fn a_write_that_gets_no_thread_is_refused_and_not_written_later() {
    must_end(|| {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.thread_stack_size(usize::MAX / 2).build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = File::from_std(std::fs::File::create(&path).unwrap());
        for _ in 0..2 {
            runtime.block_on(file.write(b"lost")).unwrap_err();
        }
        drop(runtime);
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    });
}
