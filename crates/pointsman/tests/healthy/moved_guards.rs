//! A task acquires a permit, passes it to a task that it spawns, and acquires the next one, which that task releases.

use std::sync::Arc;
use std::time::Duration;

use pointsman::sync::{Mutex, RwLock, Semaphore};
use pointsman::task;
use pointsman::time::sleep;

#[pointsman::main(flavor = "current_thread", start_paused = true)]
pub(crate) async fn main() {
    let (semaphore, mutex) = (Arc::new(Semaphore::new(1)), Arc::new(Mutex::new(())));
    let lock = Arc::new(RwLock::new(()));
    let accepts = task::spawn(async move {
        for _ in 0..5 {
            let permit = semaphore.clone().acquire_owned().await;
            let guard = mutex.clone().lock_owned().await;
            let writer = lock.clone().write_owned().await;
            task::spawn(async move {
                sleep(Duration::from_secs(1)).await;
                drop(permit);
                sleep(Duration::from_secs(1)).await;
                drop(guard);
                sleep(Duration::from_secs(1)).await;
                drop(writer);
            });
        }
    });
    while !accepts.is_finished() {
        super::is_healthy().await;
        sleep(Duration::from_millis(300)).await;
    }
}
