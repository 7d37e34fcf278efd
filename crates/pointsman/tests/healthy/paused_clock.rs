//! A paused clock: timers that are not due remain so for as long as the test runs.

use std::thread;
use std::time::Duration;

use pointsman::runtime::Builder;
use pointsman::time::{advance, sleep};

pub(crate) fn main() {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let timer = runtime.spawn(async { sleep(Duration::from_millis(10)).await });
    runtime.block_on(super::is_healthy());
    // No time passes for the runtime.
    thread::sleep(Duration::from_millis(1_500));
    assert!(!timer.is_finished());
    runtime.block_on(async {
        advance(Duration::from_secs(3600)).await;
        timer.await.unwrap();
        sleep(Duration::from_secs(3600)).await;
        super::is_healthy().await;
    });
}
