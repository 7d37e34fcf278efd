//! Bursts of signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use faults::{EchoBeside, Findings, processor_time, runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;

const LISTENERS: usize = 8;

/// Each listener is notified of the burst and of one more signal after it; some are created and dropped meanwhile.
pub(crate) fn storm(signals: usize, found: &mut Findings) {
    let began = processor_time();
    let runtime = runtime();
    let beside = EchoBeside::begin(&runtime, 2);
    let is_over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    let mut started = Instant::now();
    runtime.block_on(async {
        for number in 0..LISTENERS {
            let mut storm = signal(SignalKind::user_defined1()).unwrap();
            let mut last = signal(SignalKind::user_defined2()).unwrap();
            let is_over = Arc::clone(&is_over);
            tasks.spawn(async move {
                let mut heard = 0_usize;
                loop {
                    tokio::select! {
                        _ = storm.recv() => heard += 1,
                        _ = last.recv() => break,
                    }
                    // Half of them are replaced each time.
                    if number % 2 == 0 && !is_over.load(Relaxed) {
                        storm = signal(SignalKind::user_defined1()).unwrap();
                    }
                }
                // A notification from before the last signal may be pending.
                let _ = timeout(Duration::from_millis(50), storm.recv()).await;
                let one_more = timeout(Duration::from_secs(10), storm.recv()).await;
                assert_eq!(one_more.expect("a signal is lost"), Some(()));
                heard
            });
        }
        started = Instant::now();
        let raising = tokio::task::spawn_blocking(move || {
            (0..signals).for_each(|_| raise(libc::SIGUSR1));
        });
        raising.await.unwrap();
    });
    let storm = started.elapsed();
    is_over.store(true, Relaxed);
    runtime.block_on(async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        raise(libc::SIGUSR2);
        tokio::time::sleep(Duration::from_millis(300)).await;
        raise(libc::SIGUSR1);
        while let Some(ended) = tasks.join_next().await {
            assert!(ended.unwrap() > 0, "a listener has heard nothing");
        }
    });
    found.figure("echo beside", beside.latest(), "ms at most");
    drop(runtime);
    found.figure(
        "time",
        storm.as_secs_f64() * 1e6 / signals as f64,
        "µs each",
    );
    found.processor_time_each(began, signals);
}

fn raise(signal: i32) {
    // SAFETY: `raise` takes no pointer, and the signal has a handler.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}
