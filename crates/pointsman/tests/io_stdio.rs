//! The standard streams, in processes of their own: this program, run as one of the `child_` functions.

#![cfg(all(feature = "io-std", feature = "io-util"))]

#[path = "common/gate.rs"]
mod gate;

use std::future::pending;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command, Stdio, exit};
use std::sync::mpsc;
use std::thread;

use futures::executor;
use gate::Gate;
use pointsman::io::{self, AsyncReadExt, AsyncWriteExt};
use pointsman::runtime::{Builder, Runtime};

/// Starts the test of this name, which plays the child's part, with three pipes.
fn child(name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The output before this is the test harness's.
fn end_of(child: Child) -> Vec<u8> {
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    output.stdout
}

#[test]
fn an_input_that_is_closed_at_once_is_at_its_end() {
    let mut child = child("child_reads_to_the_end");
    drop(child.stdin.take());
    assert!(end_of(child).ends_with(b"read 0"));
}

#[test]
#[ignore = "a child"]
fn child_reads_to_the_end() {
    Runtime::new().unwrap().block_on(async {
        let mut input = io::stdin();
        let mut all = Vec::new();
        input.read_to_end(&mut all).await.unwrap();
        assert_eq!(input.read(&mut [0; 8]).await.unwrap(), 0);
        let mut output = io::stdout();
        let text = format!("read {}", all.len());
        output.write_all(text.as_bytes()).await.unwrap();
        // Without a line break the output waits for this.
        output.flush().await.unwrap();
    });
    exit(0);
}

#[test]
fn values_are_received_in_order() {
    let mut child = child("child_copies");
    let bytes: Vec<u8> = (0..5_000_000_u32)
        .map(|n| (n / 251) as u8 ^ n as u8)
        .collect();
    let mut input = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = thread::spawn(move || input.write_all(&sent).unwrap());
    let output = end_of(child);
    writer.join().unwrap();
    assert!(output.ends_with(&bytes));
}

#[test]
#[ignore = "a child"]
fn child_copies() {
    Runtime::new().unwrap().block_on(async {
        let mut output = io::stdout();
        io::copy(&mut io::stdin(), &mut output).await.unwrap();
        output.shutdown().await.unwrap();
    });
    exit(0);
}

#[test]
fn an_output_without_a_reader_is_an_error() {
    let mut child = child("child_writes_when_told");
    // The test harness has printed its output before this line.
    let mut ready = [0];
    let errors = child.stderr.as_mut().unwrap();
    errors.read_exact(&mut ready).unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    end_of(child);
}

#[test]
#[ignore = "a child"]
fn child_writes_when_told() {
    Runtime::new().unwrap().block_on(async {
        let mut errors = io::stderr();
        errors.write_all(b"x").await.unwrap();
        errors.flush().await.unwrap();
        io::stdin().read_exact(&mut [0]).await.unwrap();
        let mut output = io::stdout();
        let mut told = 0;
        while told < 2 {
            output.write_all(b"hello\n").await.unwrap();
            // Another child that is being started may hold the other end of the pipe briefly.
            if let Err(error) = output.flush().await {
                assert_eq!(error.kind(), ErrorKind::BrokenPipe);
                told += 1;
            }
        }
    });
    exit(0);
}

#[test]
fn an_unflushed_line_is_written_before_the_runtime_shuts_down() {
    let child = child("child_does_not_wait");
    assert!(end_of(child).ends_with(b"not waited for\n"));
}

#[test]
fn a_line_that_finds_no_free_thread_is_written_before_the_runtime_ends() {
    let child = child("child_fills_the_pool");
    assert!(end_of(child).ends_with(b"behind another\n"));
}

#[test]
#[ignore = "a child"]
fn child_fills_the_pool() {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).build().unwrap();
    let gate = Gate::new();
    let passage = gate.passage();
    let (begun, has_begun) = mpsc::channel();
    drop(runtime.spawn_blocking(move || {
        begun.send(()).unwrap();
        passage.block();
    }));
    has_begun.recv().unwrap();
    let write = async { io::stdout().write_all(b"behind another\n").await };
    runtime.block_on(write).unwrap();
    let task = runtime.spawn(pending::<()>());
    let ends = thread::spawn(move || drop(runtime));
    // The shutdown has begun.
    assert!(executor::block_on(task).unwrap_err().is_cancelled());
    gate.open();
    ends.join().unwrap();
    exit(0);
}

#[test]
#[ignore = "a child"]
fn child_does_not_wait() {
    let runtime = Runtime::new().unwrap();
    runtime
        .block_on(io::stdout().write_all(b"not waited for\n"))
        .unwrap();
    drop(runtime);
    exit(0);
}
