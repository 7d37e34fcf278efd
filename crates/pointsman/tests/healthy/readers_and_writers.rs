//! Many readers and some writers share a lock and make progress. A reader that keeps its lock guard is not blocked, and a
//! guard of `read_owned` is dropped by another task than the one that acquired it.

use std::sync::Arc;
use std::time::Duration;

use pointsman::sync::RwLock;
use pointsman::task::{self, JoinSet};
use pointsman::time::sleep;

async fn read(lock: Arc<RwLock<u32>>, number: u64) {
    for _ in 0..5 {
        let reader = lock.read().await;
        sleep(Duration::from_millis(number)).await;
        drop(reader);
        let owned = lock.clone().read_owned().await;
        task::spawn(async move {
            sleep(Duration::from_millis(number)).await;
            drop(owned);
        });
    }
}

async fn write(lock: Arc<RwLock<u32>>) {
    for _ in 0..20 {
        *lock.write().await += 1;
        let reader = lock.write().await.downgrade();
        sleep(Duration::from_millis(1)).await;
        drop(reader);
    }
}

#[pointsman::main(flavor = "current_thread", start_paused = true)]
pub(crate) async fn main() {
    let lock = Arc::new(RwLock::new(0));
    let mut tasks = JoinSet::new();
    for number in 0..20 {
        tasks.spawn(read(lock.clone(), number));
    }
    for _ in 0..2 {
        tasks.spawn(write(lock.clone()));
    }
    while tasks.try_join_next().is_some() || !tasks.is_empty() {
        super::is_healthy().await;
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(*lock.read().await, 40);
}
