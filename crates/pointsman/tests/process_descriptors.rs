//! A child without a descriptor for it. One test, as it uses up the descriptors of its process.

#![cfg(all(target_os = "linux", not(loom), feature = "full"))]

mod common;

use std::fs::File;
use std::future::poll_fn;
use std::mem;
use std::process::Stdio;
use std::task::Poll;

use common::must_end;
use futures::FutureExt;
use futures::future::join_all;
use pointsman::process::Command;
use pointsman::runtime::Builder;

#[test]
fn children_are_waited_for_without_descriptors() {
    // SAFETY: `setrlimit` reads a local that outlives the call.
    unsafe {
        let mut limit = mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = 200;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
    must_end(|| {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut children: Vec<_> = (0..20)
                .map(|_| {
                    let mut command = Command::new("cat");
                    command.stdin(Stdio::piped()).stdout(Stdio::null());
                    command.spawn().unwrap()
                })
                .collect();
            let stdins: Vec<_> = children
                .iter_mut()
                .map(|child| child.stdin.take())
                .collect();
            let mut used = Vec::new();
            while let Ok(file) = File::open("/dev/null") {
                used.push(file);
            }
            assert!(Command::new("true").stdin(Stdio::piped()).spawn().is_err());
            let waits = children.iter_mut().map(|child| child.wait());
            let mut waits = join_all(waits);
            // All waits begin before the first child exits, so that no wait gets the descriptor of another.
            assert!(poll_fn(|cx| Poll::Ready(waits.poll_unpin(cx).is_pending())).await);
            drop(stdins);
            for status in waits.await {
                assert!(status.unwrap().success());
            }
        });
    });
}
