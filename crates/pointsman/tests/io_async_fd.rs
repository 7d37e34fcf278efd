//! `AsyncFd` through the public API.
#![cfg(all(unix, feature = "net"))]

mod common;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};

use common::must_end;
use futures::FutureExt;
use pointsman::io::{Interest, unix::AsyncFd};
use pointsman::runtime::{Builder, Runtime};
use pointsman::task::{self, JoinSet};

fn runtimes() -> [Runtime; 2] {
    let mut builder = Builder::new_multi_thread();
    let threads = builder.worker_threads(2).enable_all().build().unwrap();
    let current_thread = Builder::new_current_thread().enable_all().build();
    [threads, current_thread.unwrap()]
}

/// A descriptor, and its peer.
fn pair() -> (AsyncFd<UnixStream>, UnixStream) {
    let (one, other) = UnixStream::pair().unwrap();
    one.set_nonblocking(true).unwrap();
    // SAFETY: the stream owns the descriptor, which is therefore open until the stream is dropped.
    (unsafe { AsyncFd::register(one) }.unwrap(), other)
}

#[test]
fn a_new_descriptor_gets_no_events_of_a_closed_one() {
    must_end(|| {
        for runtime in runtimes() {
            runtime.block_on(async {
                for _ in 0..100 {
                    let (one, mut other) = pair();
                    assert!(one.readable().now_or_never().is_none());
                    // The event may arrive before, while or after the descriptor is closed.
                    other.write_all(b"ping").unwrap();
                    drop(one);
                }
            });
        }
    });
}

#[test]
fn a_descriptor_that_was_given_out_can_be_registered_again() {
    must_end(|| {
        for runtime in runtimes() {
            runtime.block_on(async {
                let (mut one, mut other) = pair();
                for _ in 0..10 {
                    let inner = one.into_inner();
                    other.write_all(b"p").unwrap();
                    // SAFETY: the stream owns the descriptor, which is therefore open until the stream is dropped.
                    one = unsafe { AsyncFd::register(inner) }.unwrap();
                    let read = |mut fd: &UnixStream| fd.read(&mut [0; 8]);
                    let count = one.async_io(Interest::READABLE, read).await.unwrap();
                    assert_eq!(count, 1);
                }
            });
        }
    });
}

#[test]
fn events_after_the_guard_are_not_cleared_by_it() {
    must_end(|| {
        for runtime in runtimes() {
            runtime.block_on(async {
                let (one, mut other) = pair();
                other.write_all(b"first").unwrap();
                let mut guard = one.readable().await.unwrap();
                assert_eq!((&mut one.get_ref()).read(&mut [0; 8]).unwrap(), 5);
                other.write_all(b"second").unwrap();
                // A second wait sees the second event, in any task and thread.
                let news = one.async_io(Interest::READABLE, |mut fd| fd.read(&mut [0; 8]));
                let result = guard.try_io(|_| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                assert!(result.is_err());
                other.write_all(b"third").unwrap();
                assert!(news.await.unwrap() >= 6);
            });
        }
    });
}

#[test]
fn all_that_wait_are_woken() {
    must_end(|| {
        for runtime in runtimes() {
            runtime.block_on(async {
                let (one, mut other) = pair();
                let one = Arc::new(one);
                let mut waits = JoinSet::new();
                for index in 0..20 {
                    let one = Arc::clone(&one);
                    let interest = match index % 2 {
                        0 => Interest::READABLE,
                        _ => Interest::READABLE | Interest::ERROR,
                    };
                    waits.spawn(async move { one.ready(interest).await.unwrap().ready() });
                }
                task::yield_now().await;
                other.write_all(b"ping").unwrap();
                for ready in waits.join_all().await {
                    assert!(ready.is_readable());
                }
            });
        }
    });
}

struct Fails;

impl Wake for Fails {
    fn wake(self: Arc<Self>) {
        panic!("this waker fails");
    }
}

#[test]
fn a_panicking_waker_affects_no_other_waiter() {
    must_end(|| {
        for runtime in runtimes() {
            runtime.block_on(async {
                let (one, mut other) = pair();
                let one = Arc::new(one);
                let waits = {
                    let one = Arc::clone(&one);
                    task::spawn(async move { one.readable().await.map(drop) })
                };
                task::yield_now().await;
                let waker = Arc::new(Fails).into();
                let polled = one.poll_read_ready(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                other.write_all(b"ping").unwrap();
                waits.await.unwrap().unwrap();
                // The runtime still works.
                let (two, mut other) = pair();
                let waits = task::spawn(async move { two.readable().await.map(drop) });
                other.write_all(b"ping").unwrap();
                waits.await.unwrap().unwrap();
            });
        }
    });
}

#[test]
fn a_waker_that_panics_does_not_disturb_the_end_of_a_runtime() {
    must_end(|| {
        for runtime in runtimes() {
            let pairs = runtime.block_on(async { [pair(), pair()] });
            let waker = Arc::new(Fails).into();
            let mut cx = Context::from_waker(&waker);
            for (one, _) in &pairs {
                assert!(one.poll_read_ready(&mut cx).is_pending());
            }
            drop(runtime);
            for (one, _) in &pairs {
                let polled = one.poll_read_ready(&mut cx).map(|result| result.is_err());
                assert_eq!(polled, Poll::Ready(true));
            }
        }
    });
}
