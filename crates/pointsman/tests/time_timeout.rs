//! Timeouts.

use std::future::{pending, ready};

use pointsman::runtime::{Builder, Runtime};
use pointsman::task::coop;
use pointsman::time::{Duration, Instant, sleep, timeout, timeout_at};

fn paused() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

#[test]
fn a_ready_future_completes_even_after_the_deadline() {
    paused().block_on(async {
        let past = Instant::now() - Duration::from_secs(1);
        assert_eq!(timeout_at(past, ready(1)).await, Ok(1));
        assert_eq!(timeout(Duration::ZERO, ready(2)).await, Ok(2));
        assert!(timeout_at(past, pending::<()>()).await.is_err());
    });
}

#[test]
fn ends_at_its_deadline() {
    paused().block_on(async {
        let start = Instant::now();
        let slow = sleep(Duration::from_millis(30));
        assert!(timeout(Duration::from_millis(20), slow).await.is_err());
        assert_eq!(start.elapsed(), Duration::from_millis(20));
        let fast = sleep(Duration::from_millis(30));
        assert!(timeout(Duration::from_millis(40), fast).await.is_ok());
        assert_eq!(start.elapsed(), Duration::from_millis(50));
    });
}

#[test]
fn a_limit_beyond_all_time_is_none() {
    paused().block_on(async {
        let slow = sleep(Duration::from_secs(1_000_000));
        assert!(timeout(Duration::MAX, slow).await.is_ok());
    });
}

#[test]
fn a_future_that_spends_the_budget_at_each_poll_is_limited() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let busy = async {
            loop {
                coop::consume_budget().await;
            }
        };
        let outcome: Result<(), _> = timeout(Duration::from_millis(2), busy).await;
        assert!(outcome.is_err());
    });
}

#[test]
fn the_future_can_be_reached_and_taken_out() {
    paused().block_on(async {
        let mut limited = timeout(Duration::from_secs(1), ready(5));
        *limited.get_mut() = ready(6);
        assert_eq!(limited.get_ref().clone().await, 6);
        assert_eq!(limited.into_inner().await, 6);
    });
}

#[test]
fn accepts_into_future() {
    struct Later;
    impl IntoFuture for Later {
        type Output = u8;
        type IntoFuture = std::future::Ready<u8>;
        fn into_future(self) -> Self::IntoFuture {
            ready(9)
        }
    }
    paused().block_on(async {
        assert_eq!(timeout(Duration::from_secs(1), Later).await, Ok(9));
    });
}
