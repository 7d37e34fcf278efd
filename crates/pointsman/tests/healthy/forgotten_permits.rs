//! A semaphore counts events: a permit that was acquired is forgotten, and another task adds the next.

use std::sync::Arc;
use std::time::Duration;

use pointsman::sync::Semaphore;
use pointsman::task;
use pointsman::time::sleep;

#[pointsman::main(flavor = "current_thread", start_paused = true)]
pub(crate) async fn main() {
    let events = Arc::new(Semaphore::new(1));
    let of_task = events.clone();
    let counts = task::spawn(async move {
        for _ in 0..5 {
            of_task.acquire().await.unwrap().forget();
        }
    });
    while !counts.is_finished() {
        super::is_healthy().await;
        sleep(Duration::from_secs(1)).await;
        events.add_permits(1);
    }
}
