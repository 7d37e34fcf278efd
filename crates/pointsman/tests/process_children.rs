//! Children that exit together, are dropped, or are waited for in unusual ways. The tests run one after the other,
//! because they count the children and descriptors of the whole process.

#![cfg(all(target_os = "linux", not(loom), feature = "full"))]

mod common;

use std::fs;
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use std::{mem, thread};

use common::{current_thread, must_end};
use pointsman::process::{Child, Command};
use pointsman::runtime::{Builder, Runtime};
use pointsman::task;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs a test alone, and fails if it leaks descriptors or children.
fn alone(test: impl FnOnce() + Send + 'static) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // The pipe for signals stays open.
    threads().block_on(async { Command::new("true").status().await.unwrap() });
    let before = descriptors();
    must_end(test);
    assert_eq!(descriptors(), before);
    assert!(!has_children());
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Whether there are children, including exited ones that are not reaped.
fn has_children() -> bool {
    // SAFETY: `waitid` writes to a local that outlives the call; with WNOWAIT it reaps no child. A `siginfo_t` of zeroes is
    // valid.
    unsafe {
        let mut info: libc::siginfo_t = mem::zeroed();
        let what = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_ALL, 0, &mut info, what) == 0
    }
}

fn until_there_are_no_children() {
    while has_children() {
        thread::sleep(Duration::from_millis(1));
    }
}

fn threads() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

/// A pipe as the child's standard input, which the child waits for until the other end is dropped.
fn gate() -> (Stdio, UnixStream) {
    let (inner, outer) = UnixStream::pair().unwrap();
    (OwnedFd::from(inner).into(), outer)
}

fn cat() -> Command {
    let mut command = Command::new("cat");
    command.stdout(Stdio::null());
    command
}

#[test]
fn a_thousand_children_end_at_once() {
    // SAFETY: both calls access a local that outlives them; an `rlimit` of zeroes is valid.
    unsafe {
        let mut limit = mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
    alone(|| {
        threads().block_on(async {
            let (inner, outer) = UnixStream::pair().unwrap();
            let waits: Vec<_> = (0..1000)
                .map(|_| {
                    let stdin = OwnedFd::from(inner.try_clone().unwrap());
                    let mut child = cat().stdin(stdin).spawn().unwrap();
                    task::spawn(async move { child.wait().await.unwrap() })
                })
                .collect();
            drop((inner, outer));
            for wait in waits {
                assert!(wait.await.unwrap().success());
            }
        });
    });
}

#[test]
fn children_that_are_dropped_are_reaped_when_they_end() {
    alone(|| {
        let runtime = threads();
        let (inner, outer) = UnixStream::pair().unwrap();
        runtime.block_on(async {
            for _ in 0..100 {
                let stdin = OwnedFd::from(inner.try_clone().unwrap());
                drop(cat().stdin(stdin).spawn().unwrap());
            }
        });
        assert!(has_children());
        drop((inner, outer));
        // The runtime is idle meanwhile.
        until_there_are_no_children();
    });
}

#[test]
fn a_child_whose_runtime_has_ended_is_reaped_by_the_next_that_has_children() {
    alone(|| {
        let (stdin, outer) = gate();
        let child = current_thread().block_on(async { cat().stdin(stdin).spawn().unwrap() });
        drop(child);
        drop(outer);
        let runtime = threads();
        runtime.block_on(async { Command::new("true").status().await.unwrap() });
        until_there_are_no_children();
    });
}

#[test]
fn children_are_killed_with_the_runtime_whose_tasks_have_them() {
    alone(|| {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        let runtime = threads();
        let (inner, _outer) = UnixStream::pair().unwrap();
        runtime.block_on(async {
            for _ in 0..20 {
                let mut command = Command::new("cat");
                let stdin = OwnedFd::from(inner.try_clone().unwrap());
                let stdout = OwnedFd::from(writer.try_clone().unwrap());
                command.stdin(stdin).stdout(stdout).kill_on_drop(true);
                let mut child = command.spawn().unwrap();
                // Otherwise the command keeps the pipes open.
                drop(command);
                task::spawn(async move { child.wait().await });
            }
        });
        drop(writer);
        drop(runtime);
        // The end of the pipe: all writers have closed it.
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        let runtime = threads();
        runtime.block_on(async { Command::new("true").status().await.unwrap() });
        until_there_are_no_children();
    });
}

async fn poll_once(future: &mut (impl Future + Unpin)) -> bool {
    let mut future = std::pin::Pin::new(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

#[test]
fn a_wait_that_was_given_up_is_begun_again() {
    alone(|| {
        threads().block_on(async {
            let (stdin, outer) = gate();
            let mut child = cat().stdin(stdin).spawn().unwrap();
            for _ in 0..3 {
                assert!(!poll_once(&mut Box::pin(child.wait())).await);
            }
            let task = task::spawn(async move { (child.wait().await.unwrap(), child) });
            task::yield_now().await;
            drop(outer);
            let (status, mut child) = task.await.unwrap();
            assert!(status.success());
            assert_eq!(child.try_wait().unwrap(), Some(status));
        });
    });
}

#[test]
fn a_wait_continues_in_another_runtime() {
    alone(|| {
        let (stdin, outer) = gate();
        let mut child: Child = threads().block_on(async { cat().stdin(stdin).spawn().unwrap() });
        let mut wait = Box::pin(child.wait());
        assert!(!threads().block_on(poll_once(&mut wait)));
        let runtime = current_thread();
        assert!(!runtime.block_on(poll_once(&mut wait)));
        drop(outer);
        assert!(runtime.block_on(wait).unwrap().success());
    });
}

#[test]
fn the_input_of_a_child_is_closed_when_it_is_waited_for() {
    alone(|| {
        current_thread().block_on(async {
            let mut child = cat().stdin(Stdio::piped()).spawn().unwrap();
            assert_eq!(child.try_wait().unwrap(), None);
            assert!(child.stdin.is_some());
            assert!(child.wait().await.unwrap().success());
            assert!(child.stdin.is_none());
        });
    });
}

#[test]
fn much_output_of_both_streams_is_collected() {
    alone(|| {
        current_thread().block_on(async {
            let script = "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; \
                          head -c 1000000 /dev/zero";
            let output = Command::new("sh").args(["-c", script]).output().await;
            let output = output.unwrap();
            assert_eq!(output.stdout.len(), 2_000_000);
            assert_eq!(output.stderr.len(), 1_000_000);
        });
    });
}

#[test]
fn the_output_of_a_child_is_the_input_of_another() {
    alone(|| {
        current_thread().block_on(async {
            let mut command = Command::new("echo");
            let mut first = command.arg("hello").stdout(Stdio::piped()).spawn().unwrap();
            let stdin = Stdio::try_from(first.stdout.take().unwrap()).unwrap();
            let output = Command::new("cat").stdin(stdin).output().await.unwrap();
            assert_eq!(output.stdout, b"hello\n");
            assert!(first.wait().await.unwrap().success());
        });
    });
}

#[test]
fn a_program_that_does_not_exist_leaves_nothing() {
    alone(|| {
        current_thread().block_on(async {
            let mut command = Command::new("/no/such/program");
            command.stdin(Stdio::piped());
            assert_eq!(command.spawn().unwrap_err().kind(), ErrorKind::NotFound);
            let error = command.output().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
        });
    });
}

#[test]
fn no_child_is_started_without_a_runtime_to_wait_for_it() {
    alone(|| {
        let outside = std::panic::catch_unwind(|| Command::new("true").spawn());
        assert!(outside.is_err());
        let without_io = Builder::new_current_thread().build().unwrap();
        let without_io = std::panic::catch_unwind(|| {
            without_io.block_on(async { Command::new("true").spawn() })
        });
        assert!(without_io.is_err());
        let handle = current_thread().handle().clone();
        let _entered = handle.enter();
        let error = Command::new("true").spawn().unwrap_err();
        assert!(pointsman::runtime::is_rt_shutdown_err(&error));
    });
}
