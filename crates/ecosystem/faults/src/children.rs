//! Children that exit at once.

use std::io;
use std::process::Stdio;
use std::ptr;
use std::time::{Duration, Instant};

use faults::{Findings, processor_time, runtime};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// The number of children that exit at the same time.
const AT_ONCE: usize = 250;
/// Their exit status.
const CODE: i32 = 7;

fn child() -> Child {
    // Waits for the end of its input.
    Command::new("sh")
        .args(["-c", "read line; printf ended; exit 7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Each child that is waited for returns its own status and its output; dropped children are reaped too.
pub(crate) fn die_at_once(children: usize, found: &mut Findings) {
    let started = Instant::now();
    let began = processor_time();
    let runtime = runtime();
    let mut dying = Duration::ZERO;
    runtime.block_on(async {
        for _ in 0..children.div_ceil(AT_ONCE) {
            let mut tasks = JoinSet::new();
            let mut inputs = Vec::new();
            for number in 0..AT_ONCE.min(children) {
                let mut child = child();
                inputs.push(child.stdin.take());
                // A tenth of the children is dropped.
                if number % 10 == 0 {
                    continue;
                }
                tasks.spawn(async move {
                    let mut said = String::new();
                    let mut output = child.stdout.take().unwrap();
                    let (status, read) =
                        tokio::join!(child.wait(), output.read_to_string(&mut said));
                    assert_eq!(status.unwrap().code(), Some(CODE));
                    read.unwrap();
                    assert_eq!(said, "ended");
                });
            }
            let closed = Instant::now();
            drop(inputs);
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
            dying += closed.elapsed();
        }
        // The exit of another child triggers the reaping of dropped ones.
        for _ in 0..100 {
            Command::new("true").status().await.unwrap();
            if !has_children() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("some children were not reaped");
    });
    drop(runtime);
    let each = |time: Duration| time.as_secs_f64() * 1e3 / children as f64;
    found.figure("all of it", each(started.elapsed()), "ms each");
    found.figure("from the death to the end", each(dying), "ms each");
    found.processor_time_each(began, children);
}

fn has_children() -> bool {
    // SAFETY: `waitid` accepts a null pointer for its result, and with WNOWAIT reaps no child.
    let result = unsafe {
        let mut information = std::mem::zeroed::<libc::siginfo_t>();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_ALL, 0, ptr::from_mut(&mut information), options)
    };
    let error = io::Error::last_os_error();
    !(result == -1 && error.raw_os_error() == Some(libc::ECHILD))
}
