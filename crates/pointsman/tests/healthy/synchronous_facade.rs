//! A library with synchronous methods, each of which is a `block_on` of one current-thread runtime. Between the calls no
//! thread runs its tasks.

use std::thread;
use std::time::Duration;

use pointsman::runtime::{Builder, Runtime};
use pointsman::sync::mpsc;
use pointsman::task::yield_now;
use pointsman::time::interval;

struct Client {
    runtime: Runtime,
    requests: mpsc::Sender<u32>,
}

impl Client {
    fn connect() -> Self {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        let (requests, mut received) = mpsc::channel(8);
        runtime.block_on(async {
            // Sends a message from time to time, so that the connection is not closed.
            pointsman::spawn(async {
                let mut ticks = interval(Duration::from_millis(100));
                loop {
                    ticks.tick().await;
                }
            });
            pointsman::spawn(async move { while received.recv().await.is_some() {} });
            yield_now().await;
        });
        Self { runtime, requests }
    }

    /// Leaves the task that receives in the queue.
    fn send(&self, number: u32) {
        self.runtime.block_on(self.requests.send(number)).unwrap();
    }
}

pub(crate) fn main() {
    let client = Client::connect();
    client.send(1);
    thread::sleep(Duration::from_millis(2_500));
    // From another thread, which expects no answer.
    thread::scope(|scope| {
        scope.spawn(|| client.requests.try_send(2).unwrap());
    });
    thread::sleep(Duration::from_millis(2_500));
    client.runtime.block_on(super::is_healthy());
}
