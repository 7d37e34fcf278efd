//! Full disks.

use std::ffi::CStr;
use std::path::Path;
use std::ptr;

use faults::{Findings, outcome, processor_time, runtime};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

/// The same operations return the same errors, and a disk with free space again is written.
pub(crate) fn full(times: usize, found: &mut Findings) {
    let began = processor_time();
    // Inherited by threads that are started from here.
    let small = mount();
    let runtime = runtime();
    runtime.block_on(async {
        for _ in 0..times {
            found.outcomes.add(format!("/dev/full: {}", device().await));
        }
        if small.is_none() {
            found
                .notes
                .push("no file system can be mounted here".to_owned());
        }
        for _ in 0..times / 10 + 1 {
            if let Some(folder) = &small {
                found
                    .outcomes
                    .add(format!("tmpfs: {}", file_system(folder).await));
            }
        }
    });
    drop(runtime);
    if small.is_some() {
        // SAFETY: the string is terminated by a zero and outlives the call.
        assert_eq!(
            unsafe { libc::umount2(PLACE.as_ptr(), libc::MNT_DETACH) },
            0
        );
    }
    found.processor_time_each(began, times);
}

async fn device() -> String {
    let mut file = OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .await
        .unwrap();
    let mut said = Vec::new();
    let mut say = |operation: &str, result: String| said.push(format!("{operation} {result}"));
    say("write", outcome(&file.write(b"data").await));
    say("flush", outcome(&file.flush().await));
    say("flush", outcome(&file.flush().await));
    say("write", outcome(&file.write(b"data").await));
    say("write again", outcome(&file.write(b"data").await));
    say("sync_all", outcome(&file.sync_all().await));
    say("write", outcome(&file.write(b"data").await));
    say("set_len", outcome(&file.set_len(3).await));
    say("write", outcome(&file.write(b"data").await));
    say("seek", outcome(&file.rewind().await));
    say("write_all", outcome(&file.write_all(&[7; 10 << 20]).await));
    say("write", outcome(&file.write(b"data").await));
    say("shutdown", outcome(&file.shutdown().await));
    say("shutdown", outcome(&file.shutdown().await));
    drop(file);
    say("fs::write", outcome(&fs::write("/dev/full", b"data").await));
    say(
        "fs::copy",
        outcome(&fs::copy("/proc/self/status", "/dev/full").await),
    );
    said.join(", ")
}

async fn file_system(folder: &Path) -> String {
    let path = folder.join("file");
    let mut file = File::create(&path).await.unwrap();
    let mut said = Vec::new();
    let error = loop {
        if let Err(error) = file.write_all(&[7; 10_000]).await {
            break Err::<(), _>(error);
        }
    };
    said.push(format!("write_all {}", outcome(&error)));
    said.push(format!("flush {}", outcome(&file.flush().await)));
    let content = fs::read(&path).await.unwrap();
    assert!(content.iter().all(|&it| it == 7));
    said.push(format!("{} bytes are there", content.len()));
    // There is free space again.
    file.set_len(0).await.unwrap();
    file.rewind().await.unwrap();
    file.write_all(b"data").await.unwrap();
    file.flush().await.unwrap();
    assert_eq!(fs::read(&path).await.unwrap(), b"data");
    said.join(", ")
}

const PLACE: &CStr = c"/mnt";

/// A small file system that is visible only to this thread and threads that it starts; none if that is forbidden.
fn mount() -> Option<&'static Path> {
    let (kind, options) = (c"tmpfs", c"size=262144");
    // SAFETY: all strings are terminated by a zero and outlive the call.
    let is_mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                ptr::null(),
            ) == 0
            && libc::mount(
                kind.as_ptr(),
                PLACE.as_ptr(),
                kind.as_ptr(),
                0,
                options.as_ptr().cast(),
            ) == 0
    };
    is_mounted.then_some(Path::new("/mnt"))
}
