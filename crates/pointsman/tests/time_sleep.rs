//! Sleeping, and resetting and cancelling sleeps.

mod common;

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;

use common::must_end;
use pointsman::runtime::{Builder, Runtime};
use pointsman::task::yield_now;
use pointsman::time::{Duration, Instant, Sleep, advance, sleep, sleep_until};
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
        let before = Instant::now();
        let sleep = pin!(sleep(milliseconds(10)));
        let after = Instant::now();
        thread::sleep(milliseconds(30));
        let deadline = sleep.deadline();
        assert!(before + milliseconds(10) <= deadline);
        assert!(deadline <= after + milliseconds(10));
        sleep.await;
        assert!(Instant::now() >= deadline);
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
fn a_dropped_sleep_wakes_no_task() {
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

fn both_flavors() -> [Runtime; 2] {
    let several = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build();
    [runtime(false), several.unwrap()]
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
        for runtime in both_flavors() {
            runtime.block_on(async {
                let deadline = Instant::now() + milliseconds(5);
                let waker = Arc::new(Fails).into();
                let mut failing = pin!(sleep_until(deadline));
                let polled = failing.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                let others: Vec<_> = (0..100)
                    .map(|_| pointsman::spawn(sleep_until(deadline)))
                    .collect();
                for other in others {
                    other.await.unwrap();
                }
                while !failing.is_elapsed() {
                    yield_now().await;
                }
                // The runtime still works.
                pointsman::spawn(sleep(milliseconds(1))).await.unwrap();
            });
        }
    });
}

#[test]
fn a_waker_that_panics_does_not_disturb_the_end_of_a_runtime() {
    must_end(|| {
        for runtime in both_flavors() {
            let mut failing = {
                let _guard = runtime.enter();
                Box::pin(sleep(milliseconds(60_000)))
            };
            let waker = Arc::new(Fails).into();
            let polled = failing.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            drop(runtime);
            assert!(failing.is_elapsed());
        }
    });
}

type Action = Box<dyn Fn()>;

thread_local! {
    static MEDDLING: RefCell<Option<Action>> = const { RefCell::new(None) };
    static MEDDLED: Cell<usize> = const { Cell::new(0) };
}

fn meddle() {
    // Not nested.
    if let Some(action) = MEDDLING.take() {
        MEDDLED.set(MEDDLED.get() + 1);
        action();
        MEDDLING.set(Some(action));
    }
}

/// A waker that runs a function whenever it is cloned, woken or dropped.
fn meddler() -> Waker {
    const TABLE: RawWakerVTable = RawWakerVTable::new(
        |_| {
            meddle();
            RawWaker::new(std::ptr::null(), &TABLE)
        },
        |_| meddle(),
        |_| meddle(),
        |_| meddle(),
    );
    // SAFETY: the table's functions ignore the data, which is null.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
}

#[test]
fn wakers_may_use_timers_and_runtimes_whenever_they_are_used() {
    must_end(|| {
        let runtime = runtime(true);
        let other = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            MEDDLING.set(Some(Box::new(move || {
                let mut cx = Context::from_waker(Waker::noop());
                let here = pin!(sleep(milliseconds(1)));
                assert!(here.poll(&mut cx).is_pending());
                let _guard = other.enter();
                let there = pin!(sleep(milliseconds(1_000)));
                assert!(there.poll(&mut cx).is_pending());
            })));
            let poll = |sleep: Pin<&mut Sleep>| {
                let before = MEDDLED.get();
                let waker = meddler();
                let polled = sleep.poll(&mut Context::from_waker(&waker));
                drop(waker);
                assert!(MEDDLED.get() > before);
                polled
            };
            let mut first = Box::pin(sleep(milliseconds(10)));
            let mut second = Box::pin(sleep(milliseconds(10)));
            assert!(poll(first.as_mut()).is_pending());
            // Replaced twice.
            assert!(
                first
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()))
                    .is_pending()
            );
            assert!(poll(first.as_mut()).is_pending());
            assert!(poll(second.as_mut()).is_pending());
            let before = MEDDLED.get();
            // Woken, by the owner and by the driver, and dropped.
            first.as_mut().reset(Instant::now());
            assert!(MEDDLED.get() > before);
            assert!(first.is_elapsed());
            let before = MEDDLED.get();
            advance(milliseconds(10)).await;
            assert!(MEDDLED.get() > before);
            assert!(second.is_elapsed());
            assert!(poll(second.as_mut()).is_ready());
            second.as_mut().reset(Instant::now() + milliseconds(5));
            assert!(poll(second.as_mut()).is_pending());
            let before = MEDDLED.get();
            drop(second);
            assert!(MEDDLED.get() > before);
        });
        // A runtime, which must not be dropped in another.
        MEDDLING.set(None);
    });
}

#[test]
fn a_sleep_uses_its_own_runtime_wherever_it_is_polled() {
    must_end(|| {
        let [here, own] = both_flavors();
        let make = || {
            let _guard = own.enter();
            sleep(milliseconds(3))
        };
        // Neither runtime's thread, then that of the other.
        futures::executor::block_on(make());
        here.block_on(async {
            make().await;
            let mut sleep = pin!(make());
            assert!(
                poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx)))
                    .await
                    .is_pending()
            );
            sleep.as_mut().reset(Instant::now() + milliseconds(1));
            sleep.await;
        });
    });
}

#[test]
fn in_an_exiting_thread_a_sleep_may_be_dropped_but_not_created() {
    struct AtTheEnd(Option<Pin<Box<Sleep>>>);
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            drop(self.0.take());
            assert!(catch_unwind(|| sleep(Duration::ZERO)).is_err());
            ENDED.fetch_add(1, Relaxed);
        }
    }
    thread_local! {
        static LAST: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
    }
    must_end(|| {
        let runtime = runtime(false);
        let handle = runtime.handle().clone();
        let thread = thread::spawn(move || {
            // Before the runtime is entered, so that it is dropped after the runtime's values, or before: both orders
            // work.
            LAST.with(|_| ());
            std::mem::forget(handle.enter());
            let mut sleep = Box::pin(sleep(milliseconds(60_000)));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(sleep.as_mut().poll(&mut cx).is_pending());
            LAST.set(Some(AtTheEnd(Some(sleep))));
        });
        thread.join().unwrap();
        assert_eq!(ENDED.load(Relaxed), 1);
    });
}
