//! The pausable clock.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pointsman::runtime::{Builder, Runtime};
use pointsman::time::{self, Duration, Instant, sleep};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn panics(run: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

#[test]
fn shows_the_same_until_it_is_moved_or_started() {
    runtime().block_on(async {
        time::pause();
        let start = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(Instant::now(), start);
        time::advance(Duration::from_nanos(17)).await;
        assert_eq!(start.elapsed(), Duration::from_nanos(17));
        time::resume();
        while start.elapsed() == Duration::from_nanos(17) {
            std::thread::yield_now();
        }
        time::pause();
        let again = Instant::now();
        assert!(again > start + Duration::from_nanos(17));
        assert_eq!(Instant::now(), again);
    });
}

#[test]
fn a_sleep_created_before_the_pause_ends_on_time() {
    runtime().block_on(async {
        sleep(Duration::from_millis(12)).await;
        let before = Instant::now();
        let sleep = sleep(Duration::from_secs(5));
        time::pause();
        time::advance(Duration::from_secs(2)).await;
        sleep.await;
        let elapsed = before.elapsed();
        assert!(elapsed >= Duration::from_secs(5));
        assert!(elapsed < Duration::from_secs(6));
    });
}

#[test]
fn moves_only_when_nothing_is_left_to_do() {
    runtime().block_on(async {
        time::pause();
        let start = Instant::now();
        let mut sleep = Box::pin(sleep(Duration::from_secs(1)));
        assert!(futures::poll!(sleep.as_mut()).is_pending());
        time::advance(Duration::ZERO).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        sleep.await;
        assert!(start.elapsed() >= Duration::from_secs(1));
    });
}

#[test]
fn cannot_be_moved_while_it_runs_or_stopped_or_started_twice() {
    assert!(panics(|| runtime().block_on(time::advance(Duration::ZERO))));
    assert!(panics(|| runtime().block_on(async { time::resume() })));
    assert!(panics(|| {
        runtime().block_on(async {
            time::pause();
            time::pause();
        });
    }));
}

#[test]
fn cannot_be_moved_too_far() {
    let runtime = runtime();
    runtime.block_on(async { time::pause() });
    assert!(panics(|| runtime.block_on(time::advance(Duration::MAX))));
    runtime.block_on(time::advance(Duration::from_secs(1)));
}

#[test]
fn there_is_none_outside_of_a_runtime() {
    assert!(panics(time::pause));
    assert!(panics(time::resume));
}

#[test]
fn that_of_many_threads_cannot_be_paused() {
    let runtime = Builder::new_multi_thread().enable_time().build().unwrap();
    assert!(panics(|| runtime.block_on(async { time::pause() })));
}
