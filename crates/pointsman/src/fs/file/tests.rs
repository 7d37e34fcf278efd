//! Reads by jobs, of a file that is also written.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, SeekFrom};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::{Context, Waker};

use super::File;
use crate::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::runtime::Builder;
use crate::task::spawn_blocking;

async fn read(file: &mut File, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; most];
    let mut buf = ReadBuf::new(&mut bytes);
    let read = poll_fn(|cx| Pin::new(&mut *file).poll_read(cx, &mut buf));
    read.await.unwrap();
    buf.filled().to_vec()
}

async fn write(file: &mut File, bytes: &[u8]) {
    let part = [IoSlice::new(bytes)];
    let write = poll_fn(|cx| Pin::new(&mut *file).poll_write_vectored(cx, &part));
    assert_eq!(write.await.unwrap(), bytes.len());
    flush(file).await.unwrap();
}

async fn flush(file: &mut File) -> io::Result<()> {
    poll_fn(|cx| Pin::new(&mut *file).poll_flush(cx)).await
}

async fn seek(file: &mut File, to: SeekFrom) -> u64 {
    Pin::new(&mut *file).start_seek(to).unwrap();
    let seek = poll_fn(|cx| Pin::new(&mut *file).poll_complete(cx));
    seek.await.unwrap()
}

/// Cancels a read of 6 bytes before its job gets a thread.
fn cancel_read(file: &mut File) {
    let (go, wait) = mpsc::channel::<()>();
    drop(spawn_blocking(move || wait.recv()));
    let read = pin!(read(file, 6));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(read.poll(&mut cx).is_pending());
    drop(go);
}

/// Runs a test with a file of `0123456789` whose reads take jobs, and returns its contents.
fn with_file<F: Future<Output = File>>(test: impl FnOnce(File) -> F) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("file");
    std::fs::write(&path, "0123456789").unwrap();
    let mut builder = Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let mut options = File::options();
        let file = options.read(true).write(true).open(&path).await;
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut))]
        let mut file = file.unwrap();
        #[cfg(target_os = "linux")]
        file.cached.disable();
        drop(test(file).await);
    });
    std::fs::read(&path).unwrap()
}

#[test]
#[cfg_attr(miri, ignore)]
fn a_write_goes_where_the_reader_is() {
    let bytes = with_file(async |mut file: File| {
        assert_eq!(read(&mut file, 2).await, b"01");
        cancel_read(&mut file);
        write(&mut file, b"abc").await;
        assert_eq!(read(&mut file, 2).await, b"56");
        // Also if some of the buffered bytes were read.
        cancel_read(&mut file);
        assert_eq!(read(&mut file, 1).await, b"7");
        write(&mut file, b"d").await;
        file
    });
    assert_eq!(bytes, b"01abc567d9");
}

#[test]
#[cfg_attr(miri, ignore)]
fn a_seek_and_a_new_length_forget_what_was_read_ahead() {
    let bytes = with_file(async |mut file: File| {
        cancel_read(&mut file);
        flush(&mut file).await.unwrap();
        file.set_len(4).await.unwrap();
        assert_eq!(read(&mut file, 9).await, b"0123");
        assert_eq!(seek(&mut file, SeekFrom::Start(0)).await, 0);
        cancel_read(&mut file);
        // The running job must end first.
        let error = Pin::new(&mut file).start_seek(SeekFrom::Start(0));
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::Other);
        file.sync_all().await.unwrap();
        assert_eq!(read(&mut file, 1).await, b"0");
        assert_eq!(seek(&mut file, SeekFrom::Current(1)).await, 2);
        assert_eq!(seek(&mut file, SeekFrom::End(-1)).await, 3);
        assert_eq!(read(&mut file, 9).await, b"3");
        assert_eq!(read(&mut file, 9).await, b"");
        file
    });
    assert_eq!(bytes, b"0123");
}

#[test]
#[cfg_attr(miri, ignore)]
fn what_goes_by_a_position_that_a_clone_shares_takes_a_job() {
    let bytes = with_file(async |mut file: File| {
        let mut clone = file.try_clone().await.unwrap();
        for file in [&mut file, &mut clone] {
            let (go, wait) = mpsc::channel::<()>();
            drop(spawn_blocking(move || wait.recv()));
            Pin::new(&mut *file).start_seek(SeekFrom::Start(1)).unwrap();
            let mut cx = Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut *file).poll_complete(&mut cx).is_pending());
            drop(go);
            let seek = poll_fn(|cx| Pin::new(&mut *file).poll_complete(cx));
            assert_eq!(seek.await.unwrap(), 1);
            cancel_read(file);
            assert_eq!(read(file, 2).await, b"12");
        }
        file
    });
    assert_eq!(bytes, b"0123456789");
}
