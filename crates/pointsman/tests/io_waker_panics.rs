//! A waker that panics on an I/O event: the panic is caught, and the runtime still works.

#![cfg(feature = "full")]

use std::future::poll_fn;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};

use pointsman::io::{AsyncReadExt, AsyncWriteExt};
use pointsman::net::{TcpListener, TcpStream};
use pointsman::runtime::{Builder, Runtime};
use pointsman::task;

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connect = TcpStream::connect(listener.local_addr().unwrap());
    let (client, server) = pointsman::join!(connect, listener.accept());
    (client.unwrap(), server.unwrap().0)
}

struct Panics(mpsc::Sender<()>);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
        panic!("expected: a waker panics");
    }
}

/// The waker is called when the stream is readable.
fn wait_by(waker: &Waker, stream: &TcpStream) {
    let mut cx = Context::from_waker(waker);
    while let Poll::Ready(ready) = stream.poll_read_ready(&mut cx) {
        ready.unwrap();
        stream.try_read(&mut [0]).unwrap_err();
    }
}

fn panicking() -> (Waker, mpsc::Receiver<()>) {
    let (sender, receiver) = mpsc::channel();
    (Waker::from(Arc::new(Panics(sender))), receiver)
}

async fn echo() {
    let (mut client, mut server) = pair().await;
    let server = task::spawn(async move { server.read_u8().await.unwrap() });
    client.write_u8(7).await.unwrap();
    assert_eq!(server.await.unwrap(), 7);
}

#[test]
fn a_single_threaded_runtime_keeps_running() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (client, server) = runtime.block_on(pair());
    let (waker, called) = panicking();
    runtime.block_on(async {
        wait_by(&waker, &server);
        client.try_write(b"x").unwrap();
        while called.try_recv().is_err() {
            task::yield_now().await;
        }
    });
    runtime.block_on(echo());
    // While the thread never sleeps.
    runtime.block_on(async {
        let mut echo = task::spawn(echo());
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            std::pin::Pin::new(&mut echo).poll(cx)
        })
        .await
        .unwrap();
    });
    // From another thread.
    let remote = std::thread::spawn({
        let handle = runtime.handle().clone();
        move || handle.spawn(async { 7 })
    });
    let spawned = runtime.block_on(async { task::spawn_blocking(|| remote.join().unwrap()).await });
    assert_eq!(runtime.block_on(spawned.unwrap()).unwrap(), 7);
}

/// Occupies the only worker of a runtime until the sender is dropped.
fn block_worker(runtime: &Runtime) -> mpsc::Sender<()> {
    let (sender, receiver) = mpsc::channel::<()>();
    let (started, starts) = mpsc::channel();
    runtime.spawn(async move {
        started.send(()).unwrap();
        receiver.recv().unwrap_err();
    });
    starts.recv().unwrap();
    sender
}

#[test]
fn io_continues_while_the_worker_is_blocked() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build().unwrap();
    let (client, server) = runtime.block_on(pair());
    let (waker, called) = panicking();
    wait_by(&waker, &server);
    let blocks = block_worker(&runtime);
    client.try_write(b"x").unwrap();
    called.recv().unwrap();
    runtime.block_on(async {
        let (mut client, mut server) = pair().await;
        client.write_u8(7).await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), 7);
    });
    drop(blocks);
    runtime.block_on(echo());
}
