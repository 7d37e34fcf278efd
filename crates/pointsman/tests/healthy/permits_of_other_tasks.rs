//! The permits that tasks wait for are released, or added, by tasks that did not acquire them.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use pointsman::sync::Semaphore;
use pointsman::task;
use pointsman::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

static CONNECTIONS: Semaphore = Semaphore::const_new(3);
static WORKERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(3)));

#[pointsman::main(flavor = "current_thread", start_paused = true)]
pub(crate) async fn main() {
    let accepts = task::spawn(async {
        for _ in 0..10 {
            let connection = CONNECTIONS.acquire().await;
            let worker = WORKERS.clone().acquire_owned().await;
            task::spawn(async move {
                sleep(SECOND).await;
                drop((connection, worker));
            });
        }
    });
    while !accepts.is_finished() {
        super::is_healthy().await;
        sleep(SECOND / 3).await;
    }

    // A request for more permits than there are, and one for those that are added from time to time.
    let events = Arc::new(Semaphore::new(2));
    let of_task = events.clone();
    let waits = task::spawn(async move {
        let _held = of_task.acquire().await;
        drop(of_task.acquire_many(4).await);
        let _all = of_task.acquire_many(4).await;
        drop(of_task.acquire_many(4).await);
    });
    while !waits.is_finished() {
        super::is_healthy().await;
        sleep(SECOND).await;
        events.add_permits(1);
    }
}
