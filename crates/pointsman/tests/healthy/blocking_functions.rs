//! A function keeps a thread of the blocking pool busy for longer than a poll may last, while another thread runs the
//! others. Many short functions wait in a queue that makes progress.

use std::thread;
use std::time::Duration;

use pointsman::runtime::Builder;
use pointsman::task::{self, spawn_blocking};

pub(crate) fn main() {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).max_blocking_threads(2);
    builder.build().unwrap().block_on(async {
        let long = spawn_blocking(|| thread::sleep(Duration::from_millis(1_500)));
        let in_place = task::spawn(async {
            task::block_in_place(|| thread::sleep(Duration::from_millis(1_500)));
        });
        let short = [(); 30].map(|()| spawn_blocking(|| thread::sleep(Duration::from_millis(50))));
        super::is_healthy().await;
        for function in short {
            function.await.unwrap();
        }
        super::is_healthy().await;
        long.await.unwrap();
        in_place.await.unwrap();
    });
}
