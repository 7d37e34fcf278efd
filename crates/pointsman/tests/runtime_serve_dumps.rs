//! `Handle::serve_dumps`: the socket's file, the protocol, and tools that do not follow it.
#![cfg(all(unix, feature = "diagnostics", feature = "net", not(miri)))]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{current_thread, must_end, threads};
use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::{Mutex, oneshot};
use pointsman::task;
use serde_json::Value;
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.sock");
    (folder, path)
}

/// A tool that is connected.
struct Tool(BufReader<UnixStream>);

impl Tool {
    fn connect(path: &Path) -> Self {
        Self(BufReader::new(UnixStream::connect(path).unwrap()))
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Returns the next answer; `None` at the end of the connection.
    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
            Ok(_) if !line.ends_with('\n') => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    fn ask(&mut self, request: &str) -> Value {
        self.send(format!("{request}\n"));
        self.receive().expect("an answer")
    }
}

/// The tasks of an answer.
fn tasks(answer: &Value) -> &[Value] {
    answer["tasks"].as_array().unwrap()
}

/// Asks until the answer fits.
fn ask_until(tool: &mut Tool, fits: impl Fn(&Value) -> bool) -> Value {
    loop {
        let answer = tool.ask("dump age 100");
        if fits(&answer) {
            return answer;
        }
    }
}

#[test]
fn all_workers_may_be_stuck() {
    must_end(|| {
        let (_folder, path) = folder();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .name("stuck \"runtime\"")
            .stall_threshold(std::time::Duration::from_millis(20))
            .on_stall(|_| {})
            .build()
            .unwrap();
        runtime.handle().serve_dumps(&path).unwrap();
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(std::sync::Mutex::new(released));
        for name in ["one", "other"] {
            let released = Arc::clone(&released);
            let block = async move { assert!(released.lock().unwrap().recv().is_err()) };
            let builder = task::Builder::new().name(name);
            builder.spawn_on(block, runtime.handle()).unwrap();
        }
        let mut tool = Tool::connect(&path);
        let answer = ask_until(&mut tool, |answer| {
            let mut workers = answer["workers"].as_array().unwrap().iter();
            workers.all(|worker| worker["poll_us"].as_u64() > Some(20_000))
        });
        assert_eq!(answer["version"], 1);
        assert_eq!(answer["process"]["id"], std::process::id());
        assert_eq!(answer["runtime"]["name"], "stuck \"runtime\"");
        assert_eq!(answer["runtime"]["flavor"], "multi_thread");
        assert_eq!(answer["counts"]["running"], 2);
        let [one, other] = tasks(&answer) else {
            panic!("{answer}");
        };
        assert_eq!(
            (&one["name"], &other["name"]),
            (&"one".into(), &"other".into())
        );
        assert!(one["location"].as_str().unwrap().starts_with(file!()));
        let mut polled: Vec<_> = (0..2)
            .map(|at| answer["workers"][at]["task"].as_u64())
            .collect();
        polled.sort();
        assert_eq!(polled, [one["id"].as_u64(), other["id"].as_u64()]);
        assert_eq!(answer["workers"][0]["state"], "task");
        drop(release);
    });
}

#[test]
fn waits_holders_and_problems_are_in_the_answer() {
    must_end(|| {
        let (_folder, path) = folder();
        let runtime = threads(1);
        let handle = runtime.handle();
        handle.serve_dumps(&path).unwrap();
        let locks = [(); 2].map(|()| Arc::new(Mutex::new(())));
        let both_locked = Arc::new(pointsman::sync::Barrier::new(2));
        for at in 0..2 {
            let (first, second) = (Arc::clone(&locks[at]), Arc::clone(&locks[1 - at]));
            let both_locked = Arc::clone(&both_locked);
            runtime.spawn(async move {
                let _first = first.lock().await;
                both_locked.wait().await;
                let _second = second.lock().await;
            });
        }
        runtime.spawn(std::future::pending::<()>());
        let mut tool = Tool::connect(&path);
        let answer = ask_until(&mut tool, |answer| answer["problem_count"] == 2);
        let all = tasks(&answer);
        let id = |at: usize| all[at]["id"].as_u64().unwrap();
        let problems = &answer["problems"];
        assert_eq!(problems[0]["kind"], "deadlock");
        assert_eq!(problems[0]["tasks"], serde_json::json!([id(0), id(1)]));
        assert_eq!(problems[1]["kind"], "lost");
        assert_eq!(problems[1]["tasks"], serde_json::json!([id(2)]));
        for (at, holder) in [(0, id(1)), (1, id(0))] {
            let wait = &all[at]["wait"];
            assert_eq!(wait["for"], "mutex");
            assert_eq!(wait["holders"][0]["task"], holder);
            assert_eq!(wait["holders"][0]["unclaimed"], false);
            assert_eq!(wait["holders"][0]["permits"], 1);
            assert_eq!(wait["other_permits"], 0);
        }
        // The tasks of problems are in an answer that has no room for others, and so is the one that was asked for.
        assert_eq!(tasks(&tool.ask("dump age 0")).len(), 3);
        runtime.spawn(async { pointsman::time::sleep(std::time::Duration::from_secs(60)).await });
        let answer = ask_until(&mut tool, |answer| answer["counts"]["waiting"] == 4);
        let sleeper = tasks(&answer)[3]["id"].as_u64().unwrap();
        assert_eq!(tasks(&tool.ask("dump age 0")).len(), 3);
        let answer = tool.ask(&format!("dump age 0 {sleeper}"));
        assert_eq!(tasks(&answer)[3]["wait"]["for"], "timer");
        assert_eq!(tasks(&tool.ask("dump age 0 0")).len(), 3);
        assert_eq!(tasks(&tool.ask("dump age 0 18446744073709551615")).len(), 3);
    });
}

#[test]
fn the_first_tasks_in_each_order_are_in_the_answer() {
    must_end(|| {
        let (_folder, path) = folder();
        let runtime = current_thread();
        runtime.handle().serve_dumps(&path).unwrap();
        let mut wakers = Vec::new();
        runtime.block_on(async {
            for polls in 0..20 {
                let (tx, rx) = oneshot::channel::<()>();
                wakers.push(tx);
                task::spawn(async move {
                    for _ in 0..polls {
                        task::yield_now().await;
                    }
                    rx.await
                });
            }
            for _ in 0..30 {
                task::yield_now().await;
            }
        });
        let mut tool = Tool::connect(&path);
        let answer = tool.ask("dump polls 3");
        assert_eq!(answer["counts"]["tasks"], 20);
        let polls: Vec<_> = tasks(&answer)
            .iter()
            .map(|task| task["polls"].as_u64())
            .collect();
        assert_eq!(polls, [Some(20), Some(19), Some(18)]);
        let ids = |answer: &Value| {
            let ids = tasks(answer)
                .iter()
                .map(|task| task["id"].as_u64().unwrap());
            ids.collect::<Vec<_>>()
        };
        assert!(ids(&tool.ask("dump age 100")).is_sorted());
        assert_eq!(tasks(&tool.ask("dump longest 5")).len(), 5);
    });
}

// --- the file ---

#[test]
fn the_file_is_for_the_user_alone_and_is_removed_at_shutdown() {
    must_end(|| {
        let (_folder, path) = folder();
        let runtime = threads(1);
        runtime.handle().serve_dumps(&path).unwrap();
        let file = fs::metadata(&path).unwrap();
        assert_eq!(file.mode() & 0o777, 0o600);
        let mut tool = Tool::connect(&path);
        tool.ask("dump age 1");
        drop(runtime);
        assert!(!path.exists());
        assert!(tool.receive().is_none(), "the connection ends");
    });
}

#[test]
fn a_shutdown_that_waits_can_be_looked_at() {
    must_end(|| {
        let (_folder, path) = folder();
        let runtime = threads(1);
        runtime.handle().serve_dumps(&path).unwrap();
        let (release, released) = mpsc::channel::<()>();
        runtime.spawn_blocking(move || released.recv());
        let mut tool = Tool::connect(&path);
        ask_until(&mut tool, |answer| answer["counts"]["running"] == 1);
        let dropped = thread::spawn(move || drop(runtime));
        let answer = tool.ask("dump age 10");
        assert_eq!(answer["blocking"]["threads"], 1);
        assert_eq!(answer["blocking"]["idle"], 0);
        drop(release);
        dropped.join().unwrap();
        assert!(!path.exists());
    });
}

#[test]
fn a_stale_socket_is_replaced_and_one_that_is_served_is_not() {
    must_end(|| {
        let (_folder, path) = folder();
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let runtime = threads(1);
        runtime.handle().serve_dumps(&path).unwrap();
        let error = runtime.handle().serve_dumps(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(
            error.to_string().contains(path.to_str().unwrap()),
            "{error}"
        );
        Tool::connect(&path).ask("dump age 1");
    });
}

#[test]
fn a_socket_with_a_full_queue_of_connections_is_in_use() {
    must_end(|| {
        let (_folder, path) = folder();
        let _listener = UnixListener::bind(&path).unwrap();
        let (count, connected) = mpsc::channel();
        let connect = path.clone();
        thread::spawn(move || {
            let mut all = Vec::new();
            while let Ok(stream) = UnixStream::connect(&connect) {
                all.push(stream);
                let _ = count.send(all.len());
            }
        });
        while connected.recv().unwrap() < 64 {}
        let error = threads(1).handle().serve_dumps(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn what_is_not_a_socket_is_left_alone() {
    let (folder, path) = folder();
    let runtime = threads(1);
    fs::write(&path, "precious").unwrap();
    let error = runtime.handle().serve_dumps(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");

    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    let error = runtime.handle().serve_dumps(&link).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);

    let error = runtime.handle().serve_dumps(folder.path()).unwrap_err();
    assert!(folder.path().is_dir(), "{error}");
}

#[test]
fn the_folder_must_exist_and_be_closed_to_others() {
    let (folder, path) = folder();
    let runtime = threads(1);
    let missing = folder.path().join("missing/dump.sock");
    let error = runtime.handle().serve_dumps(missing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);

    for mode in [0o777, 0o1777, 0o770, 0o702] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = runtime.handle().serve_dumps(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{mode:o}");
        assert!(!path.exists());
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    runtime.handle().serve_dumps(&path).unwrap();

    let long = folder.path().join("x".repeat(200));
    let error = runtime.handle().serve_dumps(long).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_file_of_another_process_is_not_removed() {
    let (_folder, path) = folder();
    let runtime = threads(1);
    runtime.handle().serve_dumps(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "another").unwrap();
    drop(runtime);
    assert!(path.exists());
}

#[test]
fn each_runtime_has_its_own_and_a_runtime_that_ended_gets_none() {
    must_end(|| {
        let (folder, path) = folder();
        let other_path = folder.path().join("other.sock");
        let (runtime, other) = (threads(1), current_thread());
        runtime.handle().serve_dumps(&path).unwrap();
        other.handle().serve_dumps(&other_path).unwrap();
        let ended = runtime.handle().clone();
        drop(runtime);
        assert!(ended.serve_dumps(&path).is_err());
        assert!(!path.exists());
        let answer = Tool::connect(&other_path).ask("dump age 1");
        assert_eq!(answer["runtime"]["flavor"], "current_thread");
        other.shutdown_background();
        assert!(!other_path.exists());
    });
}

// --- tools ---

fn served() -> (Runtime, TempDir, PathBuf) {
    let (folder, path) = folder();
    let runtime = threads(1);
    runtime.handle().serve_dumps(&path).unwrap();
    (runtime, folder, path)
}

#[test]
fn two_tools_at_once_each_get_what_they_asked_for() {
    must_end(|| {
        let (runtime, _folder, path) = served();
        for _ in 0..10 {
            runtime.spawn(std::future::pending::<()>());
        }
        // No task is a problem before its first poll.
        ask_until(&mut Tool::connect(&path), |answer| {
            answer["problem_count"] == 10
        });
        let together = Barrier::new(2);
        thread::scope(|scope| {
            for order in ["age", "polls"] {
                let (together, path) = (&together, &path);
                scope.spawn(move || {
                    let mut tool = Tool::connect(path);
                    for count in 0..10 {
                        together.wait();
                        let answer = tool.ask(&format!("dump {order} {count}"));
                        assert_eq!(answer["counts"]["tasks"], 10);
                        assert_eq!(
                            tasks(&answer).len(),
                            10,
                            "those of problems are always there"
                        );
                    }
                });
            }
        });
    });
}

#[test]
fn a_request_that_makes_no_sense_is_refused_and_the_next_is_answered() {
    must_end(|| {
        let (_runtime, _folder, path) = served();
        let mut tool = Tool::connect(&path);
        for request in [
            "",
            "dump",
            "GET / HTTP/1.1",
            "dump age many",
            "\u{1b}[2J",
            "{}",
        ] {
            let answer = tool.ask(request);
            assert_eq!(answer["version"], 1);
            assert!(answer["error"].is_string(), "{answer}");
        }
        assert!(tool.ask("dump age 1")["error"].is_null());
        // Several at once, and one in pieces.
        tool.send("dump age 1\ndump polls 1\nnonsense\ndump lon");
        assert!(tool.receive().unwrap()["error"].is_null());
        assert!(tool.receive().unwrap()["error"].is_null());
        assert!(tool.receive().unwrap()["error"].is_string());
        tool.send("gest 1\n");
        assert!(tool.receive().unwrap()["error"].is_null());
        // A tool that says that it sends nothing more still gets its answer.
        tool.send("dump age 1\n");
        tool.0
            .get_mut()
            .shutdown(std::net::Shutdown::Write)
            .unwrap();
        assert!(tool.receive().unwrap()["error"].is_null());
        assert!(tool.receive().is_none());
    });
}

#[test]
fn a_tool_that_floods_the_socket_delays_no_other() {
    must_end(|| {
        const REQUESTS: usize = 200;
        let (_runtime, _folder, path) = served();
        let mut flood = Tool::connect(&path);
        flood.send("nonsense\n".repeat(REQUESTS));
        assert!(Tool::connect(&path).ask("dump age 1")["error"].is_null());
        // The other tool got its answer before most of the refusals were written.
        flood.0.get_mut().set_nonblocking(true).unwrap();
        let mut refusals = Vec::new();
        let end = flood.0.read_to_end(&mut refusals).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::WouldBlock);
        let refusals = refusals.iter().filter(|&&byte| byte == b'\n').count();
        assert!(refusals < REQUESTS, "{refusals}");
    });
}

#[test]
fn a_request_without_an_end_closes_the_connection() {
    must_end(|| {
        let (_runtime, _folder, path) = served();
        let mut tool = Tool::connect(&path);
        // Fails once the other side has closed.
        while tool.0.get_mut().write_all(&[b'x'; 4096]).is_ok() {}
        let mut rest = Vec::new();
        let _ = tool.0.read_to_end(&mut rest);
        assert!(rest.len() < 200);
        assert!(Tool::connect(&path).ask("dump age 1")["error"].is_null());
    });
}

#[test]
fn a_tool_that_does_not_read_delays_no_other() {
    must_end(|| {
        let began = Instant::now();
        let (runtime, _folder, path) = served();
        // An answer that does not fit into the socket's buffer.
        for _ in 0..1_500 {
            runtime.spawn(std::future::pending::<()>());
        }
        let mut silent: Vec<_> = (0..3).map(|_| Tool::connect(&path)).collect();
        for tool in &mut silent {
            // Requests of which the second is not even read before the first answer is.
            tool.send("dump age 1500\n".repeat(100));
        }
        let mut tool = Tool::connect(&path);
        for _ in 0..3 {
            // A short answer, because the silent ones may be disconnected after 10 s.
            let answer = tool.ask("dump age 1");
            assert_eq!(answer["counts"]["tasks"], 1_500);
        }
        // A slow one gets what it asked for, if late, and is not disconnected before its time.
        for _ in 0..2 {
            match silent[0].receive() {
                Some(answer) => assert_eq!(tasks(&answer).len(), 1_500),
                None => assert!(began.elapsed() >= Duration::from_secs(10)),
            }
        }
    });
}

#[test]
fn connections_that_say_nothing_do_not_shut_out_others() {
    must_end(|| {
        let (_runtime, _folder, path) = served();
        let mut silent = Vec::new();
        for round in 0..10 {
            for _ in 0..20 {
                silent.push(UnixStream::connect(&path).unwrap());
            }
            let mut tool = Tool::connect(&path);
            assert!(tool.ask("dump age 1")["error"].is_null(), "{round}");
        }
        // The connections that were replaced are closed.
        assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn connections_that_end_at_any_moment_leave_nothing() {
    must_end(|| {
        let (_runtime, _folder, path) = served();
        for bytes in ["", "dump", "dump age 1\n", "dump age 1\ndump age 1\n"] {
            for _ in 0..50 {
                let mut stream = UnixStream::connect(&path).unwrap();
                stream.write_all(bytes.as_bytes()).unwrap();
            }
        }
        assert!(Tool::connect(&path).ask("dump age 1")["error"].is_null());
    });
}

/// On Linux a thread can have a user of its own, if it may.
#[cfg(target_os = "linux")]
#[test]
fn another_user_gets_no_answer() {
    must_end(|| {
        let (_runtime, folder, path) = served();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let other = thread::spawn({
            let path = path.clone();
            move || {
                let other: libc::uid_t = 65534;
                // SAFETY: changes the user of this thread only, unlike the function of the C library.
                let changed = unsafe { libc::syscall(libc::SYS_setresuid, other, other, other) };
                if changed != 0 {
                    eprintln!("Only root can test this.");
                    return;
                }
                let mut tool = Tool::connect(&path);
                let _ = tool.0.get_mut().write_all(b"dump age 1\n");
                assert_eq!(tool.receive(), None);
            }
        });
        other.join().unwrap();
        assert!(Tool::connect(&path).ask("dump age 1")["error"].is_null());
    });
}
