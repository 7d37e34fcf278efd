//! Polls that are long, but not too long, one after the other.

use std::thread;
use std::time::Duration;

use pointsman::task::{self, yield_now};

async fn computes() {
    for _ in 0..15 {
        thread::sleep(Duration::from_millis(100));
        yield_now().await;
    }
}

#[pointsman::main(worker_threads = 2)]
pub(crate) async fn main() {
    let tasks = [(); 2].map(|()| task::spawn(computes()));
    for task in tasks {
        task.await.unwrap();
    }
    super::is_healthy().await;
}
