//! Ticks, on time and late.

use pointsman::runtime::Builder;
use pointsman::time::{Duration, Instant, Interval, MissedTickBehavior, advance, interval};

fn paused(test: impl AsyncFnOnce(Instant, Interval)) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let start = Instant::now();
        test(start, interval(seconds(10))).await;
    });
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The ticks when the second is awaited 35 seconds after the first.
async fn after_a_late_one(behavior: MissedTickBehavior, mut interval: Interval) -> [u64; 4] {
    let start = interval.tick().await;
    interval.set_missed_tick_behavior(behavior);
    advance(seconds(35)).await;
    let mut ticks = [0; 4];
    for tick in &mut ticks {
        *tick = (interval.tick().await - start).as_secs();
    }
    ticks
}

#[test]
fn bursts_until_it_has_caught_up() {
    paused(async |_, interval| {
        let ticks = after_a_late_one(MissedTickBehavior::Burst, interval).await;
        assert_eq!(ticks, [10, 20, 30, 40]);
    });
}

#[test]
fn delay_shifts_all_later_ticks() {
    paused(async |_, interval| {
        let ticks = after_a_late_one(MissedTickBehavior::Delay, interval).await;
        assert_eq!(ticks, [10, 45, 55, 65]);
    });
}

#[test]
fn skip_omits_missed_ticks() {
    paused(async |_, interval| {
        let ticks = after_a_late_one(MissedTickBehavior::Skip, interval).await;
        assert_eq!(ticks, [10, 40, 50, 60]);
    });
}

#[test]
fn a_little_late_is_not_missed() {
    paused(async |start, mut interval| {
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        interval.tick().await;
        advance(seconds(10) + Duration::from_millis(5)).await;
        assert_eq!(interval.tick().await, start + seconds(10));
        assert_eq!(interval.tick().await, start + seconds(20));
    });
}

#[test]
fn a_tick_that_is_given_up_is_not_lost() {
    paused(async |start, mut interval| {
        interval.tick().await;
        assert!(futures::poll!(Box::pin(interval.tick())).is_pending());
        advance(seconds(10)).await;
        assert_eq!(interval.tick().await, start + seconds(10));
    });
}

#[test]
fn resets_set_the_next_tick() {
    paused(async |start, mut interval| {
        interval.tick().await;
        advance(seconds(3)).await;
        interval.reset();
        assert_eq!(interval.tick().await, start + seconds(13));
        interval.reset_immediately();
        assert_eq!(interval.tick().await, start + seconds(13));
        interval.reset_after(seconds(1));
        assert_eq!(interval.tick().await, start + seconds(14));
        interval.reset_at(start + seconds(20));
        assert_eq!(interval.tick().await, start + seconds(20));
        assert_eq!(interval.tick().await, start + seconds(30));
        interval.reset_after(Duration::MAX);
    });
}
