//! Files when a call is cancelled, the disk is full, or the runtime shuts down.

#![cfg(all(feature = "fs", feature = "io-util"))]

mod common;

use std::future::Future;
use std::io::{ErrorKind, SeekFrom};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use common::must_end;
use pointsman::fs::{self, File, OpenOptions};
use pointsman::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use pointsman::runtime::{Builder, Runtime, is_rt_shutdown_err};
use pointsman::task::spawn_blocking;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Polls once and drops the future. Returns whether it was ready.
fn begin_and_drop(future: impl Future) -> bool {
    pin!(future)
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

#[pointsman::test]
async fn a_file_without_bytes_is_at_its_end_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty");
    fs::write(&path, "").await.unwrap();
    assert_eq!(fs::read(&path).await.unwrap(), b"");
    let mut file = OpenOptions::new();
    let mut file = file.read(true).append(true).open(&path).await.unwrap();
    for _ in 0..2 {
        assert_eq!(file.read(&mut [0; 8]).await.unwrap(), 0);
    }
    // The end is the current one, not the end at the time of the call.
    file.write_all(b"more").await.unwrap();
    file.rewind().await.unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "more");
    // An empty read is not the end of the file.
    file.rewind().await.unwrap();
    assert_eq!(file.read(&mut []).await.unwrap(), 0);
    assert_eq!(file.read(&mut [0; 8]).await.unwrap(), 4);
}

#[pointsman::test]
async fn a_large_file_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let bytes: Vec<u8> = (0..5_000_000_u32)
        .map(|n| (n / 251) as u8 ^ n as u8)
        .collect();
    let mut file = File::create_new(&path).await.unwrap();
    file.write_all(&bytes).await.unwrap();
    for max in [2 * 1024 * 1024, 100_000, 4095] {
        file.set_max_buf_size(max);
        file.rewind().await.unwrap();
        let mut back = Vec::new();
        file.read_to_end(&mut back).await.unwrap();
        assert!(bytes == back);
    }
    assert_eq!(file.stream_position().await.unwrap(), 5_000_000);
}

#[cfg(unix)]
#[pointsman::test]
async fn a_folder_is_no_file() {
    let mut folder = File::open(".").await.unwrap();
    for _ in 0..2 {
        let error = folder.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
    }
    assert!(folder.metadata().await.unwrap().is_dir());
}

#[cfg(target_os = "linux")]
#[pointsman::test]
async fn a_full_disk_is_reported_once_and_the_file_stays_usable() {
    let mut file = OpenOptions::new();
    let mut file = file.read(true).write(true).open("/dev/full").await.unwrap();
    for _ in 0..2 {
        file.write_all(b"hello").await.unwrap();
        assert_eq!(
            file.flush().await.unwrap_err().kind(),
            ErrorKind::StorageFull
        );
        file.flush().await.unwrap();
    }
    file.write_all(b"hello").await.unwrap();
    let error = file.write(b"more").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    // Operations that do not write keep the error for the next that does.
    file.write_all(b"hello").await.unwrap();
    let mut zeros = [1; 4];
    file.read_exact(&mut zeros).await.unwrap();
    assert_eq!(zeros, [0; 4]);
    file.seek(SeekFrom::Start(0)).await.unwrap();
    file.set_len(0).await.unwrap_err();
    file.metadata().await.unwrap();
    assert_eq!(
        file.flush().await.unwrap_err().kind(),
        ErrorKind::StorageFull
    );
    file.flush().await.unwrap();
}

/// Makes reads of this file take a job: Linux refuses to read it without waiting.
#[cfg(target_os = "linux")]
#[test]
fn a_cancelled_read_loses_no_bytes_and_moves_nothing() {
    let all = std::fs::read("/proc/self/cmdline").unwrap();
    let mut builder = Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let mut file = File::open("/proc/self/cmdline").await.unwrap();
        let mut head = [0; 5];
        file.read_exact(&mut head).await.unwrap();
        assert_eq!(head, all[..5]);

        // The only thread is occupied, so the read has not completed when it is cancelled.
        let cancel_read = |file: &mut File| {
            let (go, wait) = std::sync::mpsc::channel::<()>();
            drop(spawn_blocking(move || wait.recv()));
            assert!(!begin_and_drop(file.read(&mut [0; 10])));
            drop(go);
        };

        // The next reads return the bytes, also in parts.
        cancel_read(&mut file);
        let mut rest = [0; 4];
        file.read_exact(&mut rest).await.unwrap();
        assert_eq!(rest, all[5..9]);

        // Operations that use or set the position start from the reader's.
        assert_eq!(file.stream_position().await.unwrap(), 9);
        cancel_read(&mut file);
        assert_eq!(file.seek(SeekFrom::Current(-2)).await.unwrap(), 7);
        file.read_exact(&mut rest).await.unwrap();
        assert_eq!(rest, all[7..11]);
        cancel_read(&mut file);
        assert_eq!(file.seek(SeekFrom::Start(1)).await.unwrap(), 1);
        assert_eq!(file.read_u8().await.unwrap(), all[1]);
    });
}

/// A socket as a file: reads and writes wait for the peer.
#[cfg(unix)]
fn slow_file() -> (File, std::os::unix::net::UnixStream) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    (File::from(std::os::fd::OwnedFd::from(ours)), theirs)
}

/// More than a socket accepts before the peer reads.
#[cfg(unix)]
const MUCH: usize = 2 * 1024 * 1024;

#[cfg(unix)]
#[pointsman::test]
async fn a_read_that_was_cancelled_while_it_waits_is_there_for_the_next() {
    use std::io::Write;
    let (mut file, mut other) = slow_file();
    let mut bytes = [0; 8];
    for _ in 0..3 {
        assert!(!begin_and_drop(file.read(&mut bytes)));
    }
    // A file with a running job is not returned.
    let mut file = file.try_into_std().unwrap_err();
    other.write_all(b"hello").unwrap();
    assert_eq!(file.read(&mut bytes[..2]).await.unwrap(), 2);
    // Later data is not read before the rest.
    other.write_all(b"world").unwrap();
    assert_eq!(file.read(&mut bytes[2..]).await.unwrap(), 3);
    assert_eq!(file.read(&mut bytes[5..]).await.unwrap(), 3);
    assert_eq!(&bytes, b"hellowor");
    assert!(file.try_into_std().is_ok());
}

#[cfg(unix)]
#[pointsman::test]
async fn a_write_that_was_cancelled_while_it_waits_has_not_begun() {
    use std::io::Read;
    let (mut file, mut other) = slow_file();
    assert_eq!(file.write(&vec![1; MUCH]).await.unwrap(), MUCH);
    for _ in 0..3 {
        assert!(!begin_and_drop(file.write(b"cancelled")));
        assert!(!begin_and_drop(file.flush()));
        assert!(!begin_and_drop(file.sync_all()));
    }
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        other.read_to_end(&mut all).unwrap();
        all
    });
    file.write_all(b"end").await.unwrap();
    file.flush().await.unwrap();
    drop(file);
    let all = reader.join().unwrap();
    assert_eq!(all.len(), MUCH + 3);
    assert!(all.ends_with(&[1, b'e', b'n', b'd']));
}

#[cfg(unix)]
#[test]
fn the_end_of_the_runtime_waits_for_the_write_of_a_file_that_was_dropped() {
    use std::io::Read;
    must_end(|| {
        let (mut file, mut other) = slow_file();
        let runtime = runtime();
        assert_eq!(runtime.block_on(file.write(&vec![1; MUCH])).unwrap(), MUCH);
        drop(file);
        let end = std::thread::spawn(move || drop(runtime));
        let mut all = Vec::new();
        // The peer sees the end once the job has ended.
        other.read_to_end(&mut all).unwrap();
        assert_eq!(all, vec![1; MUCH]);
        end.join().unwrap();
    });
}

#[test]
fn writes_fail_after_shutdown_and_continue_in_another_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let first = runtime();
    let handle = first.handle().clone();
    let mut file = first.block_on(File::create_new(&path)).unwrap();
    first.block_on(file.write_all(b"one")).unwrap();
    drop(first);
    {
        let _entered = handle.enter();
        let mut write = pin!(file.write(b"lost"));
        let Poll::Ready(Err(error)) = write.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("nothing can be written");
        };
        assert!(is_rt_shutdown_err(&error));
    }
    runtime().block_on(async {
        file.write_all(b"two").await.unwrap();
        file.rewind().await.unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "onetwo");
    });
}

/// How many descriptors of the file this process has open.
#[cfg(target_os = "linux")]
fn descriptors_of(path: &std::path::Path) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
    links.filter(|target| target == path).count()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_stays_open_however_it_ends() {
    must_end(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("file");
        std::fs::write(&path, vec![7; 100_000]).unwrap();
        for round in 0..50 {
            let runtime = runtime();
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            runtime.block_on(async {
                // A cancelled open.
                begin_and_drop(options.open(&path));
                let mut file = options.open(&path).await.unwrap();
                begin_and_drop(file.write(&[8; 50_000]));
                if round % 2 == 0 {
                    begin_and_drop(file.seek(SeekFrom::End(0)));
                    begin_and_drop(file.read(&mut [0; 1000]));
                }
                let clone = file.try_clone().await.unwrap();
                begin_and_drop(clone.sync_all());
                drop(file);
            });
            // Waits for the cancelled operation.
            drop(runtime);
            assert_eq!(descriptors_of(&path), 0);
        }
    });
}
