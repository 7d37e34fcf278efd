//! `Builder::dump_on_signal`, in child processes that receive the signal.
#![cfg(all(unix, feature = "diagnostics", feature = "signal", not(miri)))]

mod common;

use std::future::pending;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use common::must_end;
use pointsman::runtime::Builder;
use pointsman::signal::unix::{SignalKind, signal};
use pointsman::task::{spawn, yield_now};

/// A run of an ignored test of this file in a process of its own.
struct Run {
    child: Child,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Run {
    /// Returns when the process says that it is ready.
    fn new(name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--ignored", "--nocapture"]);
        command.env("POINTSMAN_STALL", "off").stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut run = Self { child, stderr };
        run.skip_to("ready");
        run
    }

    fn skip_to(&mut self, line: &str) {
        assert!(self.stderr.any(|each| each.unwrap() == line), "no {line:?}");
    }

    fn send(&self, signal: SignalKind) {
        // SAFETY: the process is a child that was not waited for.
        let sent = unsafe { libc::kill(self.child.id() as i32, signal.as_raw_value()) };
        assert_eq!(sent, 0);
    }

    /// The lines up to an empty one, with what changes left out.
    fn read(&mut self) -> Vec<String> {
        let lines = self.stderr.by_ref().map(Result::unwrap);
        let lines = lines.take_while(|line| !line.is_empty());
        lines
            .map(|line| match line.split_once(" (") {
                // The id and the location.
                Some((task, rest)) => {
                    let (kind, _id) = task.rsplit_once(' ').unwrap();
                    format!("{kind} #{}", &rest[rest.find(')').unwrap() + 1..])
                        .split(", age")
                        .next()
                        .unwrap()
                        .to_owned()
                }
                None => line,
            })
            .collect()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_signal_prints_the_dump_while_all_workers_are_stuck() {
    must_end(|| {
        let mut run = Run::new("stuck");
        // Each signal prints one.
        for _ in 0..2 {
            run.send(SignalKind::user_defined1());
            assert_eq!(
                run.read(),
                [
                    "pointsman: dump of runtime 1 \"web\"",
                    "3 tasks: 2 running, 1 queued, 0 waiting"
                ]
            );
            assert_eq!(
                run.read(),
                ["task #, running", "task #, running", "task #, queued"]
            );
        }
    });
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn stuck() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .name("web")
        .dump_on_signal(SignalKind::user_defined1())
        .build()
        .unwrap();
    let (hold, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    let shared = std::sync::Arc::new((released, std::sync::Barrier::new(3)));
    for _ in 0..2 {
        let shared = shared.clone();
        runtime.spawn(async move {
            shared.1.wait();
            let _ = shared.0.lock().unwrap().recv();
        });
    }
    shared.1.wait();
    runtime.spawn(async {});
    eprintln!("ready");
    std::thread::park();
    drop(hold);
}

#[test]
fn listeners_and_other_runtimes_get_the_signal_too() {
    must_end(|| {
        let mut run = Run::new("several");
        run.send(SignalKind::user_defined2());
        run.skip_to("the listener was notified");
    });
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn several() {
    let build = || {
        Builder::new_current_thread()
            .enable_all()
            .dump_on_signal(SignalKind::user_defined2())
            .build()
            .unwrap()
    };
    drop(build());
    let runtime = build();
    runtime.block_on(async {
        spawn(pending::<()>());
        yield_now().await;
        let mut listener = signal(SignalKind::user_defined2()).unwrap();
        eprintln!("ready");
        listener.recv().await;
        eprintln!("the listener was notified");
    });
}

#[test]
fn a_forked_process_prints_its_own_dumps() {
    must_end(|| {
        let mut run = Run::new("forks");
        let lines = run.read();
        assert!(lines[0].ends_with(" \"child\""), "{lines:?}");
    });
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn forks() {
    let build = |name| {
        Builder::new_current_thread()
            .name(name)
            .dump_on_signal(SignalKind::user_defined1())
            .build()
            .unwrap()
    };
    let raise = || {
        // SAFETY: the signal has a handler.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
    };
    let _runtime = build("parent");
    // SAFETY: the other threads of the test hold no lock that the forked process uses.
    let process = unsafe { libc::fork() };
    if process == 0 {
        eprintln!("ready");
        // Of no runtime of this process, and not for the parent.
        raise();
        std::thread::sleep(Duration::from_millis(100));
        let _runtime = build("child");
        raise();
        // Until it is printed.
        std::thread::sleep(Duration::from_secs(1));
        // SAFETY: the call has no conditions.
        unsafe { libc::_exit(0) };
    }
    let mut status = -1;
    // SAFETY: `status` has room for the result.
    assert_eq!(unsafe { libc::waitpid(process, &mut status, 0) }, process);
}

#[test]
fn a_signal_that_cannot_be_handled_fails_the_build() {
    for (number, expected) in [
        (libc::SIGKILL, "Refusing to register signal 9"),
        (libc::SIGSEGV, "Refusing to register signal 11"),
        (0, "Refusing to register signal 0"),
        (-1, "Refusing to register signal -1"),
        (1_000, "Refusing to register signal 1000"),
    ] {
        let mut builder = Builder::new_current_thread();
        let error = builder.dump_on_signal(SignalKind::from_raw(number)).build();
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    // No such signal.
    let mut builder = Builder::new_current_thread();
    assert!(
        builder
            .dump_on_signal(SignalKind::from_raw(200))
            .build()
            .is_err()
    );
}
