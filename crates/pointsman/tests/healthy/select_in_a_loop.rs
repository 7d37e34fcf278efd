//! `select!` in a loop polls a request for a lock again and again, by reference, until it is granted.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pointsman::sync::Mutex;
use pointsman::task;
use pointsman::time::{interval, sleep};

async fn counts_while_it_waits(mutex: Arc<Mutex<()>>) -> u32 {
    let mut lock = pin!(mutex.lock());
    let mut ticks = interval(Duration::from_secs(1));
    let mut count = 0;
    loop {
        pointsman::select! {
            _ = &mut lock => return count,
            _ = ticks.tick() => count += 1,
        }
    }
}

#[pointsman::main(flavor = "current_thread", start_paused = true)]
pub(crate) async fn main() {
    let mutex = Arc::new(Mutex::new(()));
    let guard = mutex.clone().lock_owned().await;
    let tasks = [(); 3].map(|()| task::spawn(counts_while_it_waits(mutex.clone())));
    for _ in 0..5 {
        super::is_healthy().await;
        sleep(Duration::from_secs(1)).await;
    }
    drop(guard);
    super::is_healthy().await;
    for task in tasks {
        assert!(task.await.unwrap() >= 5);
    }
}
