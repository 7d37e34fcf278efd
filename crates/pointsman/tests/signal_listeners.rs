//! Bursts of signals, and listeners in several runtimes. Each test uses its own signal, as signals are sent to the
//! whole process.

#![cfg(all(unix, not(loom), feature = "full"))]

mod common;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;
use std::thread;

use common::{current_thread, must_end};
use pointsman::runtime::{Builder, Runtime, is_rt_shutdown_err};
use pointsman::signal::unix::{Signal, SignalKind, signal};

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

fn listener(runtime: &Runtime, kind: SignalKind) -> Signal {
    let _entered = runtime.enter();
    signal(kind).unwrap()
}

async fn has_signal(signal: &mut Signal) -> bool {
    poll_fn(|cx| Poll::Ready(signal.poll_recv(cx).is_ready())).await
}

#[test]
fn the_last_signal_of_a_storm_is_not_lost() {
    must_end(|| {
        let kind = SignalKind::user_defined1();
        let (one, other) = (threads(), current_thread());
        let is_last = Arc::new(AtomicBool::new(false));
        let listen = |runtime: &Runtime| {
            let mut signal = listener(runtime, kind);
            let is_last = Arc::clone(&is_last);
            async move {
                // Polled after a signal has arrived: it was the last, or one more is reported.
                loop {
                    signal.recv().await;
                    if is_last.load(SeqCst) {
                        return;
                    }
                }
            }
        };
        let tasks: Vec<_> = (0..8).map(|_| one.spawn(listen(&one))).collect();
        let last = listen(&other);
        let storm = thread::spawn({
            let is_last = Arc::clone(&is_last);
            move || {
                for _ in 0..100_000 {
                    // SAFETY: `raise` takes no pointer, and the signal has a handler. The thread has run it when the call
                    // returns, so the system does not coalesce two signals.
                    unsafe { libc::raise(kind.as_raw_value()) };
                }
                is_last.store(true, SeqCst);
                send(kind);
            }
        });
        other.block_on(last);
        for task in tasks {
            one.block_on(task).unwrap();
        }
        storm.join().unwrap();
    });
}

#[test]
fn a_runtime_without_a_running_thread_does_not_delay_others() {
    must_end(|| {
        let kind = SignalKind::user_defined2();
        let (idle, busy) = (current_thread(), current_thread());
        let mut late = listener(&idle, kind);
        let mut soon = listener(&busy, kind);
        for _ in 0..3 {
            send(kind);
            busy.block_on(soon.recv());
        }
        // They coalesce.
        idle.block_on(async {
            late.recv().await;
            assert!(!has_signal(&mut late).await);
        });
    });
}

#[test]
fn a_receipt_that_was_given_up_loses_nothing() {
    must_end(|| {
        let kind = SignalKind::window_change();
        let runtime = current_thread();
        let (mut signal, mut other) = (listener(&runtime, kind), listener(&runtime, kind));
        runtime.block_on(async {
            {
                let mut given_up = pin!(signal.recv());
                assert!(poll_fn(|cx| Poll::Ready(given_up.as_mut().poll(cx).is_pending())).await);
                send(kind);
                other.recv().await;
            }
            assert!(has_signal(&mut signal).await);
            assert!(!has_signal(&mut signal).await);
        });
    });
}

#[test]
fn signals_that_cannot_be_handled_are_an_error() {
    let runtime = current_thread();
    let entered = runtime.enter();
    for number in [-1, 0, libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, 10_000] {
        assert!(signal(SignalKind::from_raw(number)).is_err(), "{number}");
    }
    drop(entered);
    let handle = runtime.handle().clone();
    drop(runtime);
    let _entered = handle.enter();
    let error = signal(SignalKind::alarm()).unwrap_err();
    assert!(is_rt_shutdown_err(&error));
}
