//! Sleeping, and changing one's mind about it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::thread;

use pointsman::runtime::{Builder, Runtime};
use pointsman::time::{Duration, Instant, advance, sleep, sleep_until};
use tokio_test::{assert_pending, assert_ready, task};

fn runtime(start_paused: bool) -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(start_paused)
        .build()
        .unwrap()
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn never_ends_early_on_the_real_clock() {
    runtime(false).block_on(async {
        for microseconds in [0, 1, 700, 1_000, 1_001, 2_500] {
            let duration = Duration::from_micros(microseconds);
            let start = Instant::now();
            sleep(duration).await;
            assert!(start.elapsed() >= duration);
        }
    });
}

#[test]
fn time_counts_from_the_call_and_not_from_the_poll() {
    runtime(false).block_on(async {
        // Long enough for the processor's counter to be in use.
        sleep(milliseconds(12)).await;
        let before = Instant::now();
        let sleep = pin!(sleep(milliseconds(10)));
        let after = Instant::now();
        thread::sleep(milliseconds(30));
        let deadline = sleep.deadline();
        assert!(before + milliseconds(10) <= deadline);
        // The fraction that is taken off for certainty, and what lay between the readings.
        assert!(deadline <= after + milliseconds(10) + before.elapsed() / 512 + milliseconds(1));
        assert_eq!(deadline, sleep.deadline());
    });
}

#[test]
fn each_sleep_ends_at_its_own_deadline() {
    runtime(true).block_on(async {
        let start = Instant::now();
        let sleep_and_note = |count: u64| async move {
            sleep(milliseconds(count)).await;
            start.elapsed()
        };
        let counts = [700, 3, 64, 65, 4_096, 1];
        let elapsed = futures::future::join_all(counts.map(sleep_and_note)).await;
        assert_eq!(elapsed, counts.map(milliseconds));
    });
}

#[test]
fn stays_ready_after_its_end() {
    runtime(true).block_on(async {
        let mut sleep = task::spawn(sleep(milliseconds(1)));
        assert_pending!(sleep.poll());
        advance(milliseconds(1)).await;
        assert!(sleep.is_woken());
        assert_ready!(sleep.poll());
        assert_ready!(sleep.poll());
    });
}

#[test]
fn wakes_the_task_that_has_polled_last() {
    runtime(true).block_on(async {
        let mut sleep = Box::pin(sleep(milliseconds(5)));
        let mut first = task::spawn(());
        let mut second = task::spawn(());
        first.enter(|cx, _| assert_pending!(sleep.as_mut().poll(cx)));
        second.enter(|cx, _| assert_pending!(sleep.as_mut().poll(cx)));
        advance(milliseconds(5)).await;
        assert!(!first.is_woken());
        assert!(second.is_woken());
    });
}

#[test]
fn a_dropped_sleep_wakes_nobody() {
    runtime(true).block_on(async {
        let mut owner = task::spawn(());
        let mut sleep = Box::pin(sleep(milliseconds(5)));
        owner.enter(|cx, _| assert_pending!(sleep.as_mut().poll(cx)));
        drop(sleep);
        advance(milliseconds(10)).await;
        assert!(!owner.is_woken());
    });
}

#[test]
fn a_reset_sleep_wakes_without_another_poll() {
    runtime(true).block_on(async {
        let start = Instant::now();
        let mut owner = task::spawn(());
        let mut sleep = Box::pin(sleep(milliseconds(10)));
        owner.enter(|cx, _| assert_pending!(sleep.as_mut().poll(cx)));

        sleep.as_mut().reset(start + milliseconds(100));
        advance(milliseconds(99)).await;
        assert!(!owner.is_woken());

        sleep.as_mut().reset(start + milliseconds(200));
        sleep.as_mut().reset(start + milliseconds(150));
        advance(milliseconds(50)).await;
        assert!(!owner.is_woken());
        advance(milliseconds(1)).await;
        assert!(owner.is_woken());
        owner.enter(|cx, _| assert_ready!(sleep.as_mut().poll(cx)));

        sleep.as_mut().reset(start + milliseconds(300));
        assert!(!sleep.is_elapsed());
        owner.enter(|cx, _| assert_pending!(sleep.as_mut().poll(cx)));
        sleep.as_mut().reset(start + milliseconds(20));
        assert!(owner.is_woken());
        owner.enter(|cx, _| assert_ready!(sleep.as_mut().poll(cx)));
    });
}

#[test]
fn a_sleep_may_be_dropped_on_another_thread() {
    let runtime = runtime(false);
    let entered = runtime.enter();
    let mut long = task::spawn(sleep(Duration::from_secs(100)));
    drop(entered);
    assert_pending!(long.poll());
    thread::spawn(move || drop(long)).join().unwrap();
    runtime.block_on(async { sleep(milliseconds(1)).await });
}

#[test]
fn a_sleep_that_outlives_its_runtime_panics_when_polled() {
    let runtime = runtime(false);
    let (mut polled, fresh) = runtime.block_on(async {
        let mut polled = task::spawn(sleep(Duration::from_secs(100)));
        assert_pending!(polled.poll());
        (polled, sleep(Duration::from_secs(100)))
    });
    drop(runtime);
    assert!(polled.is_woken());
    catch_unwind(AssertUnwindSafe(|| polled.poll())).unwrap_err();
    let mut fresh = task::spawn(fresh);
    catch_unwind(AssertUnwindSafe(|| fresh.poll())).unwrap_err();
}

#[test]
fn there_is_no_sleep_without_a_runtime_that_has_time() {
    catch_unwind(|| drop(sleep(milliseconds(1)))).unwrap_err();
    catch_unwind(|| drop(sleep_until(Instant::now()))).unwrap_err();
    let timeless = Builder::new_current_thread().build().unwrap();
    catch_unwind(AssertUnwindSafe(|| {
        timeless.block_on(async { drop(sleep(milliseconds(1))) });
    }))
    .unwrap_err();
}

#[test]
fn the_clocks_of_two_runtimes_are_their_own() {
    let (here, there) = (runtime(true), runtime(true));
    here.block_on(async {
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| there.block_on(async { sleep(Duration::from_secs(3_600)).await }));
        });
        assert_eq!(start.elapsed(), Duration::ZERO);
    });
}

#[test]
fn many_threads_fire_and_cancel() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    thread::scope(|scope| {
        for seed in 0..3_u64 {
            let runtime = &runtime;
            scope.spawn(move || {
                runtime.block_on(async {
                    for round in 0..100 {
                        let start = Instant::now();
                        let limit = Duration::from_micros((seed * 977 + round * 313) % 2_000);
                        let mut long = pin!(sleep(limit * 3));
                        let _ = futures::poll!(long.as_mut());
                        long.as_mut().reset(start + limit * 2);
                        sleep(limit).await;
                        assert!(start.elapsed() >= limit);
                        if round % 3 == 0 {
                            long.await;
                            assert!(start.elapsed() >= limit * 2);
                        }
                    }
                });
            });
        }
    });
}
