//! Runtime threads that are blocked for a second: the latency of echoes meanwhile.

use std::io::{Read, Write};
use std::net;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use faults::{EchoBeside, Findings, listen, runtime_of};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::sync::oneshot;

const CONNECTIONS: usize = 8;
/// Repeated, as it depends on which thread gets the work.
const TIMES: usize = 3;

struct Blocking(Duration);

impl Wake for Blocking {
    fn wake(self: Arc<Self>) {
        thread::sleep(self.0);
    }
}

/// A waker blocks the thread that dispatches I/O events.
pub(crate) fn waker(milliseconds: usize, found: &mut Findings) {
    let runtime = runtime_of(2);
    let beside = EchoBeside::begin(&runtime, CONNECTIONS);
    let waker = Waker::from(Arc::new(Blocking(Duration::from_millis(
        milliseconds as u64,
    ))));
    for _ in 0..TIMES {
        let (listener, address) = listen(&runtime);
        let mut peer = net::TcpStream::connect(address).unwrap();
        let (mut stream, _) = runtime.block_on(listener.accept()).unwrap();
        let mut byte = [0];
        let mut poll = || {
            let mut cx = Context::from_waker(&waker);
            let mut buffer = ReadBuf::new(&mut byte);
            Pin::new(&mut stream).poll_read(&mut cx, &mut buffer)
        };
        assert!(poll().is_pending());
        peer.write_all(&[7]).unwrap();
        thread::sleep(Duration::from_millis(milliseconds as u64));
        assert!(matches!(poll(), Poll::Ready(Ok(()))));
        assert_eq!(byte, [7]);
    }
    found.figure("echo beside", beside.latest(), "ms at most");
}

/// A task blocks one of two workers, after an I/O event has woken it.
pub(crate) fn one_of_two(milliseconds: usize, found: &mut Findings) {
    worker(milliseconds, 2, found);
}

/// A task blocks the only worker.
pub(crate) fn only(milliseconds: usize, found: &mut Findings) {
    worker(milliseconds, 1, found);
}

fn worker(milliseconds: usize, workers: usize, found: &mut Findings) {
    let runtime = runtime_of(workers);
    let beside = EchoBeside::begin(&runtime, CONNECTIONS);
    let (listener, address) = listen(&runtime);
    let (ended, has_ended) = oneshot::channel();
    runtime.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..TIMES {
            let byte = stream.read_u8().await.unwrap();
            thread::sleep(Duration::from_millis(milliseconds as u64));
            stream.write_u8(byte).await.unwrap();
        }
        ended.send(()).unwrap();
    });
    let mut peer = net::TcpStream::connect(address).unwrap();
    for _ in 0..TIMES {
        peer.write_all(&[7]).unwrap();
        peer.read_exact(&mut [0]).unwrap();
        // Until latency is back to normal.
        thread::sleep(Duration::from_millis(20));
    }
    has_ended.blocking_recv().unwrap();
    found.figure("echo beside", beside.latest(), "ms at most");
}
