//! The program against a real process: the example `bank`, which this test starts as a child.
#![cfg(unix)]

#[path = "../examples/bank.rs"]
mod bank;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::TempDir;

const SOCKET: &str = "POINTSMAN_TOP_TEST_SOCKET";

/// Long enough on a busy machine for everything that does not hang.
const LIMIT: Duration = Duration::from_secs(60);

/// Not a test, but the child process.
#[test]
fn child() {
    if let Some(path) = std::env::var_os(SOCKET) {
        bank::run(path.as_ref(), mpsc::channel().1).unwrap();
    }
}

struct Bank {
    child: Child,
    path: PathBuf,
    _folder: TempDir,
}

impl Bank {
    /// Starts it, and waits until all that goes wrong in it has.
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bank.sock");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(SOCKET, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let bank = Self {
            child,
            path,
            _folder: folder,
        };
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < LIMIT, "the bank never gets stuck");
            let output = top(&["--json"], &bank.path);
            if let Ok(answer) = serde_json::from_slice::<serde_json::Value>(&output.stdout) {
                let workers = answer["workers"].as_array().unwrap();
                let is_stuck = workers
                    .iter()
                    .any(|worker| worker["poll_us"].as_u64() > Some(1_000_000));
                if is_stuck && answer["problem_count"] == 3 {
                    return bank;
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn top(options: &[&str], path: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman-top"));
    command.args(options).arg(path).output().unwrap()
}

/// Returns the message of a run that fails.
fn failure(path: &Path) -> String {
    let output = top(&["--once"], path);
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn one_frame_shows_all_that_goes_wrong() {
    let bank = Bank::open();
    let output = top(&["--once", "--sort", "longest"], &bank.path);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "runtime \"bank\", 2 workers",
        "blocking pool: 4 of 4 threads busy, 0 idle, 2 queued",
        " yearly report",
        "PROBLEMS 3",
        "deadlock: ",
        " ann to bob → ",
        " quote does not poll a future that got a lock",
        " archive waits, and nothing can wake it",
        " statement of bob ",
        " mutex held ",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
    let first = text
        .lines()
        .skip_while(|line| !line.contains("WAITS FOR"))
        .nth(1)
        .unwrap();
    assert!(
        first.contains("yearly report"),
        "the longest poll is the first:\n{text}"
    );
}

#[test]
fn two_at_once() {
    let bank = Bank::open();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..3 {
                    assert!(top(&["--json"], &bank.path).status.success());
                }
            });
        }
    });
}

#[test]
fn messages_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sock");
    assert!(
        failure(&path).contains("there is no "),
        "{}",
        failure(&path)
    );
    assert!(failure(folder.path()).contains("is not a socket"));
    drop(UnixListener::bind(&path).unwrap());
    assert!(failure(&path).contains("has ended"), "{}", failure(&path));
    fs::remove_file(&path).unwrap();

    // A process that accepts and says something else.
    let listener = UnixListener::bind(&path).unwrap();
    let answers = [
        ("", "has closed the connection"),
        ("{\"version\":1", "has closed the connection"),
        ("{\"version\":2}\n", "version 2 of the protocol"),
        ("{\"version\":1,\"error\":\"not today\"}\n", "not today"),
        ("HTTP/1.1 400 Bad Request\n", "cannot be read"),
        ("\0\0\n", "cannot be read"),
    ];
    for (answer, message) in answers {
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                // Read first: closing with unread data resets the connection.
                let _ = stream.read(&mut [0; 100]);
                stream.write_all(answer.as_bytes()).unwrap();
            });
            let failure = failure(&path);
            assert!(failure.contains(message), "{failure}");
        });
    }
    // Without a terminal.
    let output = top(&[], &path);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--once"));
}

#[test]
fn a_socket_of_another_user_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if std::os::unix::fs::chown(&path, Some(65_534), None).is_err() {
        eprintln!("Only root can test this.");
        return;
    }
    let failure = failure(&path);
    assert!(failure.contains("belongs to user 65534"), "{failure}");
}

/// The program in a terminal of 80 columns and 24 rows.
struct Terminal {
    top: Child,
    terminal: File,
    output: mpsc::Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn open(path: &Path) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&terminal, size).unwrap();
        let name = ptsname(&terminal, Vec::new())
            .unwrap()
            .into_string()
            .unwrap();
        let side = || File::options().read(true).write(true).open(&name).unwrap();
        let top = Command::new(env!("CARGO_BIN_EXE_pointsman-top"))
            .args(["--interval", "0.1"])
            .arg(path)
            .env("TERM", "xterm-256color")
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .unwrap();
        let terminal = File::from(terminal);
        let mut reader = terminal.try_clone().unwrap();
        let (sender, output) = mpsc::channel();
        // Ends with an error when the program has ended.
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                let _ = sender.send(buffer[..read].to_vec());
            }
        });
        Self {
            top,
            terminal,
            output,
            seen: String::new(),
        }
    }

    /// Waits for a text among what is drawn from now on.
    fn wait_for(&mut self, text: &str) {
        let began = Instant::now();
        while !self.seen.contains(text) {
            let left = LIMIT.saturating_sub(began.elapsed());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("{text:?} is missing in:\n{:?}", self.seen),
            }
        }
        self.seen.clear();
    }

    fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    fn quit(mut self) {
        self.press("q");
        assert!(self.top.wait().unwrap().success());
    }
}

#[test]
fn keys_in_a_terminal() {
    let bank = Bank::open();
    let mut terminal = Terminal::open(&bank.path);
    terminal.wait_for("PROBLEMS");
    terminal.press("\x1b[B\r");
    terminal.wait_for("spawned");
    terminal.press("\r");
    terminal.wait_for("PROBLEMS");
    terminal.press("p");
    terminal.wait_for("paused");
    terminal.quit();
}

#[test]
fn the_last_frame_stays_when_the_process_has_ended() {
    let bank = Bank::open();
    let mut terminal = Terminal::open(&bank.path);
    terminal.wait_for("PROBLEMS");
    drop(bank);
    terminal.wait_for("has ended");
    terminal.quit();
}
