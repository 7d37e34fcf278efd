//! The future of `block_on` starts many blocking functions as tasks, each shorter than the threshold. The thread runs them
//! in turn, and looks for timers only after all of them.

use std::thread;
use std::time::Duration;

use pointsman::time::sleep;

#[pointsman::main(flavor = "current_thread")]
pub(crate) async fn main() {
    // The runtime learns from these that polls are short, so it runs many before it looks for timers again.
    for _ in 0..1_000 {
        pointsman::spawn(async {}).await.unwrap();
    }
    let timeout = pointsman::spawn(sleep(Duration::from_millis(1)));
    for _ in 0..60 {
        pointsman::spawn(async { thread::sleep(Duration::from_millis(50)) });
    }
    timeout.await.unwrap();
}
