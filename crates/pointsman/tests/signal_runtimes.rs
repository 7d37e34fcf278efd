//! A listener whose runtime has shut down. One test: any other runtime of the process would deliver to it.

#![cfg(all(unix, not(loom), feature = "full"))]

mod common;

use std::future::poll_fn;
use std::task::Poll;

use common::must_end;
use pointsman::runtime::{Builder, Runtime};
use pointsman::signal::unix::{SignalKind, signal};
use pointsman::task;

fn send(kind: SignalKind) {
    // SAFETY: `kill` with this process's id passes no pointer; the signal has a handler.
    assert_eq!(0, unsafe {
        libc::kill(libc::getpid(), kind.as_raw_value())
    });
}

fn threads() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn a_listener_outlives_its_runtime() {
    must_end(|| {
        let kind = SignalKind::hangup();
        let mut signal = threads().block_on(async { signal(kind).unwrap() });
        send(kind);
        let mut builder = Builder::new_current_thread();
        builder
            .enable_all()
            .build()
            .unwrap()
            .block_on(signal.recv());
        threads().block_on(async {
            assert!(poll_fn(|cx| Poll::Ready(signal.poll_recv(cx).is_pending())).await);
            send(kind);
            task::spawn(async move { signal.recv().await })
                .await
                .unwrap();
        });
    });
}
