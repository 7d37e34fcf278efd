//! Tasks hold locks of each kind for a long time while others wait for them; all continue.

use std::sync::Arc;
use std::time::Duration;

use pointsman::sync::{Mutex, RwLock, Semaphore};
use pointsman::task;
use pointsman::time::sleep;

#[pointsman::main(flavor = "current_thread", start_paused = true)]
pub(crate) async fn main() {
    let locks = Arc::new((Mutex::new(0), RwLock::new(0), Semaphore::new(3)));
    let tasks = [(); 6].map(|()| {
        let locks = locks.clone();
        task::spawn(async move {
            let (mutex, lock, semaphore) = &*locks;
            let mut value = mutex.lock().await;
            sleep(Duration::from_secs(60)).await;
            *lock.write().await += 1;
            *value += *lock.read().await;
            drop(value);
            let _permits = semaphore.acquire_many(2).await.unwrap();
            let _reader = lock.read().await;
            sleep(Duration::from_secs(90)).await;
        })
    });
    for task in tasks {
        super::is_healthy().await;
        task.await.unwrap();
    }
    assert_eq!(*locks.0.lock().await, 1 + 2 + 3 + 4 + 5 + 6);
}
