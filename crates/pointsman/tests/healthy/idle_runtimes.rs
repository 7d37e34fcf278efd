//! Runtimes that have nothing to do, with tasks that wait.

use std::thread;
use std::time::Duration;

use pointsman::runtime::Builder;
use pointsman::sync::mpsc;
use pointsman::time::sleep;

pub(crate) fn main() {
    let runtimes = [
        Builder::new_multi_thread().enable_all().build().unwrap(),
        Builder::new_current_thread().enable_all().build().unwrap(),
    ];
    let senders = runtimes.each_ref().map(|runtime| {
        let (sender, mut receiver) = mpsc::channel::<()>(1);
        runtime.spawn(async move { receiver.recv().await });
        runtime.spawn(async { sleep(Duration::from_secs(3600)).await });
        runtime.block_on(super::is_healthy());
        sender
    });
    thread::sleep(Duration::from_millis(2_500));
    // Work for the second one, which no thread runs for a moment.
    drop(senders);
    thread::sleep(Duration::from_millis(400));
    for runtime in &runtimes {
        runtime.block_on(super::is_healthy());
    }
}
