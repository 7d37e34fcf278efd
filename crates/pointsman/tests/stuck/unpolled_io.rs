//! A waker blocks the thread that polls for I/O: all workers were blocked, so this is the watchdog. When the workers
//! continue, no thread polls.

use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake};

use pointsman::net::UnixStream;
use pointsman::runtime::Builder;

struct Blocks {
    called: Sender<()>,
    never: Mutex<Receiver<()>>,
}

impl Wake for Blocks {
    fn wake(self: Arc<Self>) {
        self.called.send(()).unwrap();
        let _ = self.never.lock().unwrap().recv();
    }
}

pub(crate) fn main() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build().unwrap();
    let (called, is_called) = channel();
    let (_hold, never) = channel();
    let waker = Arc::new(Blocks {
        called,
        never: Mutex::new(never),
    });
    runtime.block_on(async {
        let (first, to_first) = UnixStream::pair().unwrap();
        let (second, to_second) = UnixStream::pair().unwrap();
        let mut to_first = to_first.into_std().unwrap();
        let blocks_its_worker = pointsman::spawn(async move {
            let waker = waker.into();
            let mut cx = Context::from_waker(&waker);
            assert!(first.poll_read_ready(&mut cx).is_pending());
            to_first.write_all(b"a").unwrap();
            is_called.recv().unwrap();
            first
        });
        let _first = blocks_its_worker.await.unwrap();
        to_second.into_std().unwrap().write_all(b"b").unwrap();
        second.readable().await.unwrap();
    });
}
